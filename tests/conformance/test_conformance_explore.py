"""The explorer: it finds what is wrong with a toy and with planted faults, and nothing wrong with the shipped functions."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from scalefab.cli.app import run_app
from scalefab.conformance.explore import Outcome, State, Step, explore
from scalefab.conformance.explore_cbfc import CbfcModel, CreditSetting
from scalefab.conformance.explore_llr import Functions, LlrModel, Setting
from scalefab.conformance.searches import Explored, Plant, models, search
from scalefab.errors import ExitCode, InputError
from scalefab.protocol import cbfc, llr

SMALL = Setting(faults=1, frames=4)
SMALL_CREDITS = CreditSetting(faults=1, frames=3)


class Toy:
    """Counts 0 .. ``end``; some steps are faults, some go back, one state may be bad."""

    def __init__(self, steps: dict[int, list[tuple[int, bool]]], end: int, bad: int = -1) -> None:
        self._steps, self._end, self._bad = steps, end, bad

    def initial(self) -> State:
        return (0,)

    def steps(self, state: State) -> list[Step]:
        return [Step((to,), fault, (state[0], to), "") for to, fault in self._steps.get(state[0], [])]

    def broken(self, state: State) -> str:
        return "bad" if state[0] == self._bad else ""

    def done(self, state: State) -> bool:
        return bool(state[0] == self._end)

    def say(self, words: tuple[Any, ...]) -> str:
        return f"{words[0]} to {words[1]}"


DIAMOND = {0: [(1, False), (2, True)], 1: [(3, False)], 2: [(3, False)], 3: [(4, False)]}


def test_a_toy_that_holds() -> None:
    found = explore(Toy(DIAMOND, 4))
    assert (found.outcome, found.states, found.transitions, found.depth, found.trace) == (Outcome.HOLDS, 5, 5, 3, ())


def test_a_bad_state_has_a_shortest_trace() -> None:
    longer = {**DIAMOND, 4: [(5, False)], 1: [(3, False), (2, False)], 2: [(3, False), (5, True)]}
    found = explore(Toy(longer, 9, bad=5))
    assert (found.outcome, found.reason, found.trace) == (Outcome.BROKEN, "bad", ("0 to 2", "2 to 5"))


def test_a_dead_end_that_is_not_done_is_stuck() -> None:
    found = explore(Toy({**DIAMOND, 2: [(6, True), (3, True)]}, 4))
    assert (found.outcome, found.trace) == (Outcome.STUCK, ("0 to 2",))  # only a fault leads on from 2


def test_a_cycle_without_faults_is_endless_and_one_with_a_fault_is_not() -> None:
    found = explore(Toy({**DIAMOND, 2: [(3, False), (7, False)], 7: [(8, False)], 8: [(2, False)]}, 4))
    assert (found.outcome, found.cycle_from) == (Outcome.ENDLESS, 1)
    assert found.trace[found.cycle_from :] == ("2 to 7", "7 to 8", "8 to 2")
    found = explore(Toy({**DIAMOND, 3: [(4, False), (0, True)]}, 4))
    assert found.outcome is Outcome.HOLDS


@pytest.mark.parametrize("replays", [0, 1, 3, llr.NO_REPLAY_LIMIT])
def test_llr_holds_in_small_spaces(replays: int) -> None:
    model = LlrModel(replace(SMALL, replays=replays))
    found = explore(model)
    assert (found.outcome, found.reason) == (Outcome.HOLDS, "")
    assert found.states > 800
    assert (model.flushes > 0) == (replays == 0)  # one fault makes one replay


def test_llr_crosses_the_end_of_its_space_and_reaches_every_state_of_both_tables() -> None:
    model = LlrModel(Setting(faults=2, frames=3, replays=1))
    assert explore(model).outcome is Outcome.HOLDS
    assert {fields["state"] for fields in model.tx.values} == {int(state) for state in llr.TxState}
    assert {fields["state"] for fields in model.rx.values} == {int(state) for state in llr.RxState}
    assert {7, 0} <= {fields["una_seq"] for fields in model.tx.values}


@pytest.mark.parametrize("eligible", [True, False])
def test_cbfc_holds_in_small_spaces(eligible: bool) -> None:
    model = CbfcModel(replace(SMALL_CREDITS, eligible=eligible))
    found = explore(model)
    assert (found.outcome, found.reason) == (Outcome.HOLDS, "")
    consumed = {fields["consumed"] for fields in model.out.values}
    assert max(consumed) == model.counter_mask and min(consumed) < 4  # the counters wrap


def _swapped(name: str) -> Functions:
    """Break one transition, in ways that a slip of the pen would."""

    def accepts_bad(r: Any, seq: int, quality: int, bits: int) -> int:
        return int(llr.on_frame(r, seq, llr.GOOD, bits))

    def accepts_duplicates(r: Any, seq: int, quality: int, bits: int) -> int:
        behind = (int(r.expected) - seq) % (1 << bits) == 1
        return int(llr.on_frame(r, seq, quality, bits)) or (llr.ACCEPT if behind and quality == llr.GOOD else llr.DROP)

    def no_nack(r: Any, seq: int, quality: int, bits: int) -> int:
        verdict = llr.on_frame(r, seq, quality, bits)
        if r.state == llr.RX_SEND_NACK:
            r.state = llr.RX_NACK_SENT
        return int(verdict)

    def skips(r: Any, seq: int, quality: int, bits: int) -> int:
        if r.state == llr.RX_SEND_ACKS and (seq - int(r.expected)) % (1 << bits) == 1:
            r.expected = seq
        return int(llr.on_frame(r, seq, quality, bits))

    def never_again(r: Any, seq: int, quality: int, bits: int) -> int:
        verdict = llr.on_frame(r, seq, quality, bits)
        if r.state == llr.RX_SEND_NACK:
            r.state = llr.RX_OFF
        return int(verdict)

    return Functions(on_frame=locals()[name])


@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [
        ("accepts_duplicates", Outcome.BROKEN, "frame 0 is delivered twice"),
        ("skips", Outcome.BROKEN, "freed and was never delivered"),
        ("never_again", Outcome.BROKEN, "FLUSH after"),
        ("no_nack", Outcome.HOLDS, ""),  # slow, but the sender's timer makes it right
        ("accepts_bad", Outcome.BROKEN, "a corrupted frame is passed on as a good one"),
    ],
)
def test_slips_in_a_transition_are_found(name: str, outcome: Outcome, reason: str) -> None:
    found = explore(LlrModel(SMALL, _swapped(name)))
    assert found.outcome is outcome
    assert reason in found.reason
    assert bool(found.trace) == (outcome is not Outcome.HOLDS)


def test_without_a_limit_of_replays_an_unacknowledged_duplicate_goes_round_for_ever() -> None:
    model = models(Explored.LLR, 3, 3, 1, Plant.NO_DUPLICATE_ACK)[0][1]
    endless = LlrModel(replace(SMALL, replays=llr.NO_REPLAY_LIMIT), model.functions)
    found = explore(endless)
    assert found.outcome is Outcome.ENDLESS
    assert found.trace[found.cycle_from :] == (
        "A's replay timer fires",
        "A resends frame 0 with sequence number 6",
        "B drops frame 0 with sequence number 6",
    )


def test_credits_that_never_come_back_are_found() -> None:
    """A receiver that ignores CC_UPDATE: a lost ineligible packet takes its credits along."""
    model = CbfcModel(replace(SMALL_CREDITS, eligible=False, cc_updates=0), Functions(cc_vcs=lambda *_: 0))
    found = explore(model)
    assert found.outcome is Outcome.STUCK
    assert any("is lost" in line for line in found.trace)


@pytest.mark.parametrize(
    ("what", "plant", "reason", "last"),
    [
        (Explored.LLR, Plant.NO_DUPLICATE_ACK, "FLUSH after", "A's replay timer fires"),
        (Explored.LLR, Plant.OVERTAKEN_INIT, "una <= expected <= next", "ACK 6 arrives"),
        (Explored.CBFC, Plant.DOUBLE_CHARGE, "2 are charged", "A resends frame 0 with sequence number 6"),
        (Explored.CBFC, Plant.INELIGIBLE_CC_UPDATE, "some came back twice", "CF_UPDATE 7 arrives"),
    ],
)
def test_planted_faults_are_found_with_a_shortest_trace(what: Explored, plant: Plant, reason: str, last: str) -> None:
    rows = list(search(what, 3, 3, 2, plant))
    assert len(rows) == 1
    found = rows[0].finding
    assert found.outcome is Outcome.BROKEN
    assert reason in found.reason
    assert found.trace[-1].startswith(last)
    assert len(found.trace) == found.depth


def test_functions_explored_are_the_shipped_ones() -> None:
    assert Functions().on_frame is llr.on_frame
    assert Functions().cc_vcs is cbfc.cc_vcs


def test_every_setting_that_cannot_be_is_told() -> None:
    with pytest.raises(InputError) as caught:
        models(Explored.LLR, 3, 4, 9, "no-duplicate-akc")
    text = str(caught.value)
    assert caught.value.problems[0].key == "--window"
    assert len(caught.value.problems) == 3
    assert "did you mean 'no-duplicate-ack'?" in text
    with pytest.raises(InputError, match="cannot be planted in cbfc; expected one of double-charge, ineligible-cc-update"):
        models(Explored.CBFC, 3, 3, 2, "overtaken-init")
    with pytest.raises(InputError, match="9 bits cannot be explored"):
        models(Explored.LLR, 9, 3, 2)


def test_cli_says_what_was_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explore", "llr", "--width", "2", "--window", "1", "--faults", "1"]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert len(lines) == 2
    assert all("once faults stop" in line for line in lines)
    assert "of them into FLUSH" in lines[1]


def test_cli_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explore", "cbfc", "--width", "2", "--window", "1", "--faults", "0", "--json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert (data["command"], data["protocol"], data["width_bits"], len(data["rows"])) == ("explore", "cbfc", 2, 3)
    assert all(row["passed"] and row["verdict"] == "holds" and row["states"] > 10 for row in data["rows"])


def test_cli_exits_1_with_the_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explore", "cbfc", "--plant", "double-charge"]) == ExitCode.FAILED
    lines = capsys.readouterr().out.splitlines()
    assert "broken: packets of 1 credits were sent, 2 are charged" in lines[0]
    assert lines[-1] == "    3  A resends frame 0 with sequence number 6"
    assert run_app(["explore", "ll"]) == ExitCode.INPUT
    assert "'ll' cannot be explored; expected one of llr, cbfc" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize(("what", "faults"), [(Explored.LLR, 4), (Explored.CBFC, 2)])
def test_whole_spaces_hold(what: Explored, faults: int) -> None:
    for row in search(what, 3, 3, faults):
        assert row.finding.outcome is Outcome.HOLDS, row
