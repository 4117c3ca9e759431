"""How compiled functions become machine code: each function once, linked into each entry, and optimised there only.

Numba optimises every function, makes machine code of it, and links all that it calls into it first, so what lies deep is
optimised as often as there are functions above it: 45 s for the simulator's loop and the 250 functions that it reaches. Here a
function that only others call stays as it was lowered, and an entry links all of them: 18 s, of which LLVM takes 4.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage, parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_extra
from numba.core.untyped_passes import RewriteSemanticConstants

from .fixed import FixSettings


class Part(JITCodeLibrary):
    """A function that compiled functions call: no machine code of its own."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Take no more; what it calls is linked into the entry beside it."""
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        raise RuntimeError(f"{self.name} can be called by functions of scalefab.compiled only")


class Entry(JITCodeLibrary):
    """A function that Python calls, with the parts that it reaches."""

    def finalize(self) -> None:
        """Link the parts, optimise all together, make machine code."""
        reached = self._reached()
        names: list[str] = []
        for library in reached:
            if isinstance(library, Part):
                module = library._final_module
                names += [f.name for f in module.functions if not f.is_declaration and f.linkage == Linkage.external]
                self._final_module.link_in(module, preserve=True)
        for name in names:  # dropped when all calls are inlined; "internal" made LLVM inline what runs rarely: 7 % slower
            self._final_module.get_function(name).linkage = "linkonce_odr"
        self._linking_libraries = [library for library in reached if not isinstance(library, Part)]
        super().finalize()

    def serialize_using_object_code(self) -> tuple[str, str, tuple[Any, bytes]]:
        """Return what is kept on disk: the machine code, and names for Numba, which would keep all of LLVM's code (50 MB)."""
        self._ensure_finalized()
        names = [f.name for f in self._final_module.functions if not f.is_declaration]
        stubs = "\n".join(f'define void @"{name}"() {{ unreachable }}' for name in names)
        return self.name, "object", (self._get_compiled_object(), parse_assembly(stubs).as_bitcode())

    def _reached(self) -> list[Any]:
        """Return all libraries that it calls, those that are called first."""
        order: list[Any] = []
        seen = set()

        def reach(library: Any) -> None:
            for other in library._linking_libraries:
                if other not in seen:
                    seen.add(other)
                    reach(other)
                    order.append(other)

        reach(self)
        return order


class Pipeline(CompilerBase):
    """Numba's own passes into a library of ours."""

    def define_pipelines(self) -> Any:
        """Return the passes."""
        if self.state.library is None:
            self.state.library = Entry(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(FixSettings, RewriteSemanticConstants)  # dead branches are pruned next
        passes.finalize()
        return [passes]


def compile_part(dispatcher: Any, args: Any) -> Any:
    """Compile the function of a dispatcher for calls by compiled functions; return Numba's compile result.

    Parameters
    ----------
    dispatcher
        Of `numba.njit`.
    args
        Tuple of Numba types.
    """
    flags = Flags()
    dispatcher.targetdescr.options.parse_as_flags(flags, dispatcher.targetoptions)
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    typing, target = dispatcher.targetdescr.typing_context, dispatcher.targetdescr.target_context
    part = Part(target.codegen(), dispatcher.py_func.__qualname__)
    result = compile_extra(typing, target, dispatcher.py_func, args, None, flags, {}, library=part, pipeline_class=Pipeline)
    target.insert_user_function(result.fndesc, result.fndesc, [part])
    return result
