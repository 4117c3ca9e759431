"""Compile all kernels of a run once, in a process of its own: ``python -m scalefab.simulator.warm``.

LLVM takes up to 500 MB for the simulator's loop. In a child they are given back when it ends, so the peak memory of a run is the
run's; and Ctrl-C is heard at once, which compiling in the process itself would not allow.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from ..compiled import cache_folder, is_cached, jit_enabled
from .guess import Variant
from .variant import entry_of, is_ready, pack

_SCENARIO = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 2}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload: [{point_to_point: {bytes: 64B}}]
"""

BOUNDS = "bounds"


def needs_compiling(variant: Variant) -> bool:
    """Whether a form of the simulator's kernel is neither in this process nor on disk for this version."""
    return jit_enabled() and not is_ready(variant)


def compile_apart(variant: Variant) -> bool:
    """Compile in child processes and keep the result on disk; return whether that worked (else: compile where it is needed).

    It does not where no cache folder can be written, or where the package was found in a way that a child does not inherit. The
    kernels of bounds, 8 s, compile beside the simulator's.
    """
    if cache_folder() is None or not sys.executable:
        return False
    from ..workload.chains import earliest

    command = [sys.executable, "-m", "scalefab.simulator.warm"]
    parts = [variant.value, *([] if is_cached(earliest) else [BOUNDS])]
    children = [subprocess.Popen([*command, part], stdout=subprocess.DEVNULL) for part in parts]
    try:
        codes = [child.wait() for child in children]
    except BaseException:
        for child in children:
            child.kill()
        raise
    return not any(codes) and is_ready(variant)


def main(arguments: Sequence[str]) -> int:
    """Compile the kernels that are named, all when none is, and store them: `Variant`'s values, and "bounds"."""
    from ..scenario import parse_scenario
    from ..workload.bounds import bound
    from .setup import make_state

    wanted = set(arguments) or {BOUNDS, *(variant.value for variant in Variant)}
    scenario = parse_scenario(_SCENARIO, "warm.yaml")
    if BOUNDS in wanted:
        bound(scenario.graph, scenario.fabric, pack=scenario.options.pack)
    for variant in Variant:
        if variant.value in wanted:
            state = make_state(scenario.graph, scenario.fabric, scenario.options, 1)
            entry_of(variant)(pack(state, variant), 0, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
