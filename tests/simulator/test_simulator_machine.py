"""What a machine cannot hold is refused, before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from simulated import bare

from scalefab.errors import ExitCode, InfeasibleError
from scalefab.simulator import machine
from scalefab.simulator.estimate import estimate
from scalefab.simulator.run import simulate


def test_the_machine_has_what_its_operating_system_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for text, expected in (("max\n", installed), ("1048576\n", 1 << 20), (f"{10 * installed}\n", installed)):
        (tmp_path / "limit").write_text(text)
        monkeypatch.setattr(machine, "_GROUP_LIMIT", tmp_path / "limit")
        assert machine.memory_bytes() == expected
    monkeypatch.setattr(machine, "_GROUP_LIMIT", tmp_path / "none")
    assert machine.memory_bytes() == installed


@pytest.mark.parametrize("do", [simulate, estimate])
def test_links_too_long_for_the_machine_are_refused(monkeypatch: pytest.MonkeyPatch, do: object) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: 1 << 28)
    scenario = bare("all_to_all: {bytes_per_pair: 64KiB}", "fabric.cables.delay=100ms", gpus=8)
    with pytest.raises(InfeasibleError, match=r"on its way on 16 ports takes .* this machine has 256 MiB") as caught:
        do(scenario)  # type: ignore[operator]
    assert caught.value.exit_code is ExitCode.INFEASIBLE
    assert [problem.file for problem in caught.value.problems] == [scenario.path]
