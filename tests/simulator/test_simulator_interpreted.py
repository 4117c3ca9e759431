"""The same functions without compilation give the same picoseconds: a run in a process with ``NUMBA_DISABLE_JIT=1``."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from simulated import bare

from scalefab.simulator.run import simulate

CASES = {
    "puts": "all_to_all: {bytes_per_pair: 20000B, posted: false}",
    "loads": "permutation: {operation: load, bytes: 4KiB, transaction: 256B}",
    "stores": "incast: {operation: store, bytes: 4KiB, transaction: 64B}",
    "reads": "permutation: {operation: get, bytes: 30KiB, shift: 2}",
}

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from simulated import bare
from scalefab.simulator.run import simulate
result = simulate(bare({workload!r}, gpus=4, stacks=2))
print(result.completion_ps, result.events, result.frame_ps)
print(int(result.operations.done_ps.sum()), int(result.ports.wire_bytes.sum()))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="compares with compiled code")
@pytest.mark.parametrize("name", CASES)
def test_interpreted_equals_compiled(name: str) -> None:
    result = simulate(bare(CASES[name], gpus=4, stacks=2))
    script = SCRIPT.format(folder=os.path.dirname(__file__), workload=CASES[name])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    expected = (
        result.completion_ps,
        result.events,
        result.frame_ps,
        int(np.sum(result.operations.done_ps)),
        int(result.ports.wire_bytes.sum()),
    )
    assert tuple(int(word) for word in done.stdout.split()) == expected
