"""64 GPUs with everything failing at once: every segment executed once, values and what atomics fetched as without faults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scalefab.scenario import parse_scenario, read_scenario
from scalefab.simulator.result import Status
from scalefab.simulator.run import simulate

FILE = Path(__file__).parents[2] / "examples" / "ethlink64-failures.yaml"


@pytest.mark.parametrize("down", ["2us", "30us"])
@pytest.mark.parametrize("sen", ["on", "off"])
def test_values_are_those_of_the_run_without_faults(sen: str, down: str) -> None:
    scenario = read_scenario(FILE, (f"fabric.sen={sen}", f"faults.0.flap.down={down}"))
    lines = [line for line in scenario.text.splitlines() if not line.strip().startswith(("ber:", "burst:"))]
    perfect = parse_scenario("\n".join(lines), "clean.yaml", ())
    found, clean = simulate(scenario), simulate(replace(perfect, faults=()))
    assert found.status is clean.status is Status.DONE
    assert int(found.ports.replayed_frames.sum()) > 0 and int(clean.ports.replayed_frames.sum()) == 0
    memory = found.memory
    assert memory is not None and memory == clean.memory and not memory.failures
    assert memory.executed == memory.segments and memory.cells is not None
    assert set(memory.cells.value.tolist()) == {63}
    assert np.bincount(memory.cells.fetched).tolist() == [512] * 63  # each counter gave 0 .. 62 to one add each
