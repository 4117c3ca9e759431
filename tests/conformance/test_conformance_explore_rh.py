"""The explorer over RH and path change: the shipped functions hold, planted faults and slips are found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scalefab.cli.app import run_app
from scalefab.conformance.explore import Outcome, explore
from scalefab.conformance.explore_path import PathModel, PathSetting
from scalefab.conformance.explore_rh import RhFunctions, RhModel, RhSetting
from scalefab.conformance.searches import Explored, Plant, models, search
from scalefab.errors import ExitCode, InputError
from scalefab.protocol import path_change, rh_receiver
from scalefab.protocol import reliability as rh

SMALL = RhSetting(faults=1, frames=5)


@pytest.mark.parametrize("setting", [SMALL, RhSetting(2, 1, 3, frames=6), RhSetting(3, 3, 2, frames=4)])
def test_rh_holds_in_small_spaces(setting: RhSetting) -> None:
    model = RhModel(setting)
    found = explore(model)
    assert (found.outcome, found.reason) == (Outcome.HOLDS, "")
    assert found.states > 2000
    psns = {fields["una_psn"] for fields in model.a.values}
    assert model.mask in psns and 0 in psns  # the space wraps
    assert {fields["resending"] for fields in model.a.values} == {0, 1}


@pytest.mark.parametrize(
    "setting",
    [
        PathSetting(faults=1, operations=2),
        PathSetting(faults=0, changes=3),
        PathSetting(width=2, window=1, faults=2, operations=2),
    ],
)
def test_path_change_holds_in_small_spaces(setting: PathSetting) -> None:
    model = PathModel(setting)
    found = explore(model)
    assert (found.outcome, found.reason) == (Outcome.HOLDS, "")
    assert {fields["state"] for fields in model.a.values} == {int(state) for state in rh.Space}
    assert {fields["rx_state"] for fields in model.b.values} == {rh.SPACE_OPEN, rh.SPACE_CLOSED}


def test_without_changes_of_paths_nothing_is_asked() -> None:
    model = PathModel(PathSetting(changes=0, operations=2, faults=1))
    assert explore(model).outcome is Outcome.HOLDS
    assert {fields["state"] for fields in model.a.values} == {rh.SPACE_OPEN}


def _slip(name: str) -> RhFunctions:
    def runs_duplicates(s: Any, r: Any, psn: int, bits: int, now_ps: int) -> int:
        verdict = int(rh_receiver.on_data(s, r, psn, bits, now_ps))
        return rh_receiver.ACCEPT if verdict == rh_receiver.DUPLICATE else verdict

    def skips_gaps(s: Any, r: Any, psn: int, bits: int, now_ps: int) -> int:
        if (psn - int(s.expected)) % (1 << bits) == 1:
            s.expected = psn
        return int(rh_receiver.on_data(s, r, psn, bits, now_ps))

    def deaf(s: Any, r: Any, psn: int, bits: int, now_ps: int) -> int:
        verdict = int(rh_receiver.on_data(s, r, psn, bits, now_ps))
        return rh_receiver.GAP if verdict == rh_receiver.GAP_NACK else verdict

    return RhFunctions(on_data=locals()[name])


@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [
        ("runs_duplicates", Outcome.BROKEN, "frame 0 is executed twice"),
        ("skips_gaps", Outcome.BROKEN, "executed before frame"),
        ("deaf", Outcome.HOLDS, ""),  # no NACK at all: slow, but the timer makes it right
    ],
)
def test_slips_in_a_transition_are_found(name: str, outcome: Outcome, reason: str) -> None:
    found = explore(RhModel(SMALL, _slip(name)))
    assert found.outcome is outcome and reason in found.reason
    assert bool(found.trace) == (outcome is not Outcome.HOLDS)


def test_a_closed_space_that_still_accepts_is_found() -> None:
    """What lies behind CLOSED.psn is sent elsewhere, and comes a second time over the path that was only slow."""

    def never_closes(s: Any, q: Any, nonce: int, nonce_bits: int) -> int:
        what = int(path_change.on_close(s, q, nonce, nonce_bits))
        s.rx_state = rh.SPACE_OPEN
        return what

    found = explore(PathModel(PathSetting(faults=0), RhFunctions(on_close=never_closes)))
    assert found.outcome is Outcome.BROKEN and "executed twice" in found.reason


@pytest.mark.parametrize(
    ("what", "plant", "outcome", "reason", "steps"),
    [
        (Explored.RH, Plant.NACK_STORM, Outcome.BROKEN, "2 NACKs tell of one gap, after 1 faults", 6),
        (Explored.RH, Plant.NO_DUPLICATE_ACK, Outcome.BROKEN, "path error, although the path is good", 10),
        (Explored.PATH_CHANGE, Plant.BLIND_REPLAY, Outcome.BROKEN, "operation 0 is executed twice", 8),
    ],
)
def test_planted_faults_are_found_with_a_shortest_trace(
    what: Explored, plant: Plant, outcome: Outcome, reason: str, steps: int
) -> None:
    rows = list(search(what, 3, 3, 2, plant))
    assert len(rows) == 1
    found = rows[0].finding
    assert (found.outcome, found.reason, len(found.trace)) == (outcome, reason, steps)


def test_a_stale_nonce_that_is_acted_on_is_found() -> None:
    (_, model), _ = models(Explored.PATH_CHANGE, 3, 1, 1, Plant.STALE_NONCE)
    found = explore(model)
    assert (found.outcome, found.reason) == (Outcome.BROKEN, "path error of path 0, which is up")
    late = next(line for line in found.trace if "will arrive once more" in line)
    assert late.startswith("CLOSE of path 0 with nonce 1 arrives")


def test_nonces_compared_over_the_pair_ask_for_ever() -> None:
    found = explore(PathModel(PathSetting(window=1, faults=0, changes=3, operations=2, nonce_of_pair=True)))
    assert found.outcome is Outcome.ENDLESS
    turn = found.trace[found.cycle_from :]
    assert len(turn) == 2 and any("B ignores it" in line for line in turn) and any("again" in line for line in turn)


def test_functions_explored_are_the_shipped_ones() -> None:
    assert RhFunctions().on_data is rh_receiver.on_data
    assert RhFunctions().on_close is path_change.on_close


def test_plants_belong_to_their_protocols() -> None:
    with pytest.raises(InputError, match="cannot be planted in rh; expected one of no-duplicate-ack, nack-storm"):
        models(Explored.RH, 3, 3, 2, Plant.BLIND_REPLAY)
    with pytest.raises(InputError, match="blind-replay, stale-nonce, nonce-of-pair"):
        models(Explored.PATH_CHANGE, 3, 3, 2, Plant.DOUBLE_CHARGE)


def test_cli(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explore", "path-change", "--window", "1", "--faults", "0", "--json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert (data["protocol"], len(data["rows"])) == ("path-change", 2)
    assert all(row["passed"] and row["flushes"] == 0 for row in data["rows"])
    assert run_app(["explore", "rh", "--plant", "nack-storm"]) == ExitCode.FAILED
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "    6  B drops (gap) and NACKs frame 2 with PSN 0"


@pytest.mark.long
@pytest.mark.parametrize(("what", "faults"), [(Explored.RH, 3), (Explored.PATH_CHANGE, 2)])
def test_whole_spaces_hold(what: Explored, faults: int) -> None:
    for row in search(what, 3, 3, faults):
        assert row.finding.outcome is Outcome.HOLDS, row
