"""Compiled code takes indices as they are (`compiled.arrays`): none may be below 0, which Python would count from the end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import scalefab.simulator.run as run
from simulated import bare
from test_simulator_tiers import tiered


def check(index, shape):
    for one, extent in zip(index if isinstance(index, tuple) else (index,), shape):
        if isinstance(one, (int, np.integer)) and not 0 <= one < extent:
            raise IndexError(f"{{one}} of {{extent}}")


class Plain(np.ndarray):
    def __getitem__(self, index):
        check(index, self.shape)
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        check(index, self.shape)
        super().__setitem__(index, value)


class Records(np.recarray):
    def __getitem__(self, index):
        check(index, self.shape)
        return super().__getitem__(index)


def guarded(state):
    views = {{
        name: getattr(state, name).view(Records if isinstance(getattr(state, name), np.recarray) else Plain)
        for name in state._fields
    }}
    return state._replace(**views)


run.bundle = guarded
for kind in (Plain, Records):
    try:
        np.zeros(3, [("a", int)]).view(kind)[-1]
        sys.exit("the guard does not see -1")
    except IndexError:
        pass
result = run.simulate({scenario})
print(result.status.name)
"""

CASES = {
    "plain": "bare('all_to_all: {bytes_per_pair: 20000B, posted: false}', gpus=4, stacks=2)",
    "reads": "bare('permutation: {operation: get, bytes: 30KiB, shift: 2}', gpus=4)",
    "atomics": "bare('all_to_all: {bytes_per_pair: 8KiB, atomics: 2}', 'run.verify=memory', gpus=4, stacks=2)",
    "errors": "bare('all_to_all: {bytes_per_pair: 60KiB}', 'fabric.ber=1e-6', 'fabric.burst=0.2', gpus=4, stacks=2)",
    "pauses": "bare('incast: {bytes: 60KiB}', 'fabric.flow_control=pfc', gpus=4)",
    "flap": "bare('all_to_all: {bytes_per_pair: 60KiB}', 'faults=[{link: gpu1.port0, flap: {period: 9us, down: 3us, count: 2}}]',"
    " 'run.verify=memory', gpus=4, stacks=2)",
    "dead switch": "bare('all_to_all: {bytes_per_pair: 60KiB}', 'faults=[{node: switch1, at: 3us, down: on}]', gpus=4, stacks=2)",
    "slow": "bare('all_to_all: {bytes_per_pair: 60KiB}', 'faults=[{link: gpu1.port0 -> switch, at: 1us, rate: 200Gb/s}]',"
    " 'fabric.sen_congestion=on', gpus=4, stacks=2)",
}


@pytest.mark.parametrize("name", CASES)
def test_no_index_is_counted_from_the_end(name: str) -> None:
    script = SCRIPT.format(folder=os.path.dirname(__file__), scenario=CASES[name])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "DONE\n"
