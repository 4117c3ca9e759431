"""Compile all kernels of a run once, in a process of its own: ``python -m scalefab.simulator.warm``.

LLVM takes some 500 MB for the simulator's loop. In a child they are given back when it ends, so the peak memory of a run is the
run's; and Ctrl-C is heard at once, which compiling in the process itself would not allow.
"""

from __future__ import annotations

import subprocess
import sys

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
    """Compile in a child process and keep the result on disk; return whether that worked (else: compile where it is needed).

    It does not where no cache folder can be written, or where the package was found in a way that a child does not inherit.
    """
    if cache_folder() is None or not sys.executable:
        return False
    done = subprocess.run([sys.executable, "-m", "scalefab.simulator.warm"], stdout=subprocess.DEVNULL, check=False)
    return done.returncode == 0 and is_cached(run_kernel)


def main() -> int:
    """Compile the kernels of bounds and simulator and store them."""
    from ..scenario import parse_scenario
    from ..workload.bounds import bound
    from .setup import make_state

    scenario = parse_scenario(_SCENARIO, "warm.yaml")
    bound(scenario.graph, scenario.fabric, pack=scenario.options.pack)
    state = make_state(scenario.graph, scenario.fabric, scenario.options, 1)
    run_kernel(bundle(state), 0, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
