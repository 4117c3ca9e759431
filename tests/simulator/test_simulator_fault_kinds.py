"""Every kind of fault does what it says in a small all-to-all, and the link makes up for it; credits and FLUSH by themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from simulated import bare

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.fabric.linkspec import AfterFlush, CbfcSpec, LinkSpec, LlrSpec
from scalefab.protocol import cbfc, llr
from scalefab.protocol.faults import threshold_of
from scalefab.protocol.fec_loss import LineErrors
from scalefab.scenario.scenario import Scenario
from scalefab.simulator import run as driver
from scalefab.simulator import states as builder
from scalefab.simulator.result import Result, Status
from scalefab.simulator.setup import make_state

US = 10**6
G = 10**9
K = FaultKind
Seen = Callable[[Result, Result, Any], bool]


def peer(r: Result) -> int:
    return int(r.fabric.port_peer[0])


CASES: dict[str, tuple[tuple[Fault, ...], Seen]] = {
    # the outage is shorter than data age and PCS limit
    "link": (
        (Fault(2 * US, 0, K.LINK_DOWN), Fault(5 * US, 0, K.LINK_UP)),
        lambda r, clean, s: r.completion_ps > clean.completion_ps,
    ),
    "rate": ((Fault(0, 0, K.RATE, 100 * G),), lambda r, clean, s: r.completion_ps > 2 * clean.completion_ps),
    "lose": ((Fault(0, 0, K.LOSE_FRAME, 9),), lambda r, clean, s: r.ports.replayed_frames[0] > 0),
    "corrupt": ((Fault(0, 0, K.CORRUPT_FRAME, 9),), lambda r, clean, s: s.llr_rx[0].bad == 1),
    "poison": ((Fault(0, 0, K.POISON_FRAME, 9),), lambda r, clean, s: s.llr_rx[0].poisoned == 1 and r.rh_replays > 0),
    "skip": ((Fault(0, 0, K.SKIP_SEQUENCE, 9),), lambda r, clean, s: s.llr_rx[0].missing > 0),
    "loss": ((Fault(0, 0, K.LOSS_RATE, threshold_of(0.05)),), lambda r, clean, s: r.ports.replayed_frames[0] > 0),
    "errors": ((Fault(0, 0, K.LINE_ERRORS, line=LineErrors(1e-3)),), lambda r, clean, s: r.ports.replayed_frames[0] > 0),
    "sets": (
        (Fault(0, 0, K.LOSE_SETS, threshold_of(0.2)),),
        lambda r, clean, s: s.port[peer(r)].acks_in < r.ports.llr_acks[0],
    ),
    "late": (
        (Fault(0, 0, K.DELAY_SETS, 2_500_000), Fault(20 * US, 0, K.DELAY_SETS, 0)),
        lambda r, clean, s: r.completion_ps > clean.completion_ps,
    ),
    "pause": (
        (Fault(0, 0, K.ACK_PAUSE), Fault(8 * US, 0, K.ACK_RESUME)),
        lambda r, clean, s: s.llr_tx[peer(r)].tx_replay >= 1 and r.ports.llr_acks[0] < clean.ports.llr_acks[0],
    ),
    "freeze": (
        (Fault(US, 0, K.ACK_FREEZE, -1), Fault(9 * US, 0, K.ACK_RESUME)),
        lambda r, clean, s: s.llr_tx[peer(r)].tx_replay >= 1,
    ),
    "port drain": (  # the only plane: nothing can leave the path, and nothing is lost when the drain is called off
        (Fault(US, 0, K.PORT_DRAIN, 1), Fault(3 * US, 0, K.PORT_DRAIN, 0)),
        lambda r, clean, s: r.completion_ps > clean.completion_ps,
    ),
    "cc": ((Fault(0, 0, K.CC_STOP),), lambda r, clean, s: s.link[0].cc_updates == 0 < s.link[1].cc_updates),
    "cc again": (
        (Fault(0, 0, K.CC_STOP), Fault(4 * US, 0, K.CC_RESUME)),
        lambda r, clean, s: 0 < s.link[0].cc_updates < s.link[1].cc_updates,
    ),
    "drain": (
        (Fault(0, 0, K.DRAIN, 50 * G), Fault(30 * US, 0, K.DRAIN, -1)),
        lambda r, clean, s: r.completion_ps > clean.completion_ps,
    ),
}


def kept(monkeypatch: pytest.MonkeyPatch, scenario: Scenario) -> tuple[Result, Any]:
    """Run, and return the kernel's arrays as well."""
    states: list[Any] = []

    def keep(*arguments: Any) -> Any:
        states.append(make_state(*arguments))
        return states[-1]

    with monkeypatch.context() as patch:
        patch.setattr(builder, "make_state", keep)
        result = driver.simulate(scenario)
    return result, states[-1]  # a run that RH wants copies for is made anew


def domain(link: LinkSpec) -> Scenario:
    scenario = bare("all_to_all: {bytes_per_pair: 192KiB}", gpus=4)
    return replace(scenario, fabric=replace(scenario.fabric, spec=replace(scenario.fabric.spec, link=link)))


def check_delivery(result: Result, clean: Result) -> None:
    """All delivered once, bytes by link add up, lost time adds up, no bound beaten."""
    assert result.status is Status.DONE and result.lost_frames == 0
    assert result.data_bytes == clean.data_bytes
    assert int(result.link_load.sum()) == int(result.ports.wire_bytes.sum())
    assert int(result.stage_ps.sum()) == result.frame_ps
    assert result.completion_ps >= result.bound_ps


def test_every_kind_has_a_case() -> None:
    assert {fault.kind for table, _ in CASES.values() for fault in table} == set(FaultKind)


@pytest.mark.parametrize("name", CASES)
def test_a_fault_does_what_it_says_and_all_is_delivered(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    table, seen = CASES[name]
    scenario = domain(LinkSpec(cbfc=CbfcSpec(cc_interval_ps=2 * US)))
    clean = driver.simulate(scenario)
    result, state = kept(monkeypatch, replace(scenario, faults=table))
    assert seen(result, clean, state)
    check_delivery(result, clean)
    assert int(state.llr_tx.flushes.sum()) == 0
    if name != "poison":  # LLR passes a poisoned frame on: only RH brings its data again
        assert result.rh_replays == 0


def missing(state: Any, port: int, there: int) -> int:
    """Return the credits that a sender charged and its receiver never saw, all VCs."""
    return sum(
        (int(state.sender[port, v].consumed) - int(state.receiver[there, v].consumed)) % (1 << cbfc.COUNTER_BITS)
        for v in range(state.receiver.shape[1])
    )


@pytest.mark.parametrize("interval_ps", [0, 2 * US])
def test_cc_update_brings_back_credits_of_lost_ineligible_frames(monkeypatch: pytest.MonkeyPatch, interval_ps: int) -> None:
    """VC 2 (bulk) without LLR loses frames with their credits; RH sends the data again, CC_UPDATE tells the receiver."""
    scenario = domain(LinkSpec(llr=LlrSpec(eligible_vcs=0b1011), cbfc=CbfcSpec(cc_interval_ps=interval_ps)))
    table = (Fault(0, 0, K.LOSS_RATE, threshold_of(0.05)), Fault(12 * US, 0, K.LOSS_RATE, 0))
    result, state = kept(monkeypatch, replace(scenario, faults=table))
    check_delivery(result, driver.simulate(scenario))
    assert result.rh_replays > 0 and int(state.link[0].line_lost) > 0
    lost = missing(state, 0, peer(result))
    assert lost == 0 if interval_ps else lost >= int(state.link[0].line_lost)


@pytest.mark.parametrize("first_seq", [0, (1 << llr.SEQUENCE_BITS) - 3])
def test_a_link_that_flushes_begins_anew(monkeypatch: pytest.MonkeyPatch, first_seq: int) -> None:
    """No ACK for so long that LLR gives up: INIT again by itself, and RH sends what FLUSH dropped."""
    scenario = domain(LinkSpec(llr=LlrSpec(after_flush=AfterFlush.RE_INIT, first_seq=first_seq)))
    table = (Fault(US, 0, K.ACK_PAUSE), Fault(40 * US, 0, K.ACK_RESUME))
    result, state = kept(monkeypatch, replace(scenario, faults=table))
    sender = state.llr_tx[peer(result)]
    assert int(sender.flushes) >= 1 and int(sender.state) == llr.TX_ADVANCE
    check_delivery(result, driver.simulate(scenario))
