"""Compile all kernels of a run once, in a process of its own: ``python -m scalefab.simulator.warm``.

LLVM takes some 500 MB for the simulator's loop. In a child they are given back when it ends, so the peak memory of a run is the
run's; and Ctrl-C is heard at once, which compiling in the process itself would not allow.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from enum import Enum

from ..compiled import bundle, cache_folder, is_cached, is_compiled, jit_enabled
from .kernel import run_kernel

_SCENARIO = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 2}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload: [{point_to_point: {bytes: 64B}}]
"""


def needs_compiling() -> bool:
    """Whether the simulator's kernel is neither in this process nor on disk for this version."""
    return jit_enabled() and not is_compiled(run_kernel) and not is_cached(run_kernel)


def compile_apart() -> bool:
    """Compile in child processes and keep the result on disk; return whether that worked (else: compile where it is needed).

    It does not where no cache folder can be written, or where the package was found in a way that a child does not inherit. The
    kernels of bounds, 8 s, compile beside the simulator's, 20 s.
    """
    if cache_folder() is None or not sys.executable:
        return False
    command = [sys.executable, "-m", "scalefab.simulator.warm"]
    children = [subprocess.Popen([*command, part.value], stdout=subprocess.DEVNULL) for part in Kernels]
    try:
        codes = [child.wait() for child in children]
    except BaseException:
        for child in children:
            child.kill()
        raise
    return not any(codes) and is_cached(run_kernel)


class Kernels(Enum):
    """What a child compiles."""

    SIMULATOR = "simulator"
    BOUNDS = "bounds"


def main(arguments: Sequence[str]) -> int:
    """Compile the kernels that are named, all when none is, and store them."""
    from ..scenario import parse_scenario
    from ..workload.bounds import bound
    from .setup import make_state

    wanted = {Kernels(argument) for argument in arguments} or set(Kernels)
    scenario = parse_scenario(_SCENARIO, "warm.yaml")
    if Kernels.BOUNDS in wanted:
        bound(scenario.graph, scenario.fabric, pack=scenario.options.pack)
    if Kernels.SIMULATOR in wanted:
        state = make_state(scenario.graph, scenario.fabric, scenario.options, 1)
        run_kernel(bundle(state), 0, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
