"""The wait-for graph: smallest cycle against brute force, roots, and standstills without a cycle."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import bare

from scalefab.fabric.build import build_fabric
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Stage, Status
from scalefab.simulator.run import simulate
from scalefab.simulator.waits import EDGES_MAX, Wait, WaitReason, make_waits, smallest_cycle

Pairs = list[tuple[int, int]]


def without_llr(scenario: Scenario) -> Scenario:
    """No retry, and no CC_UPDATE that gives credits of lost frames back: what a scenario file refuses together with errors."""
    spec = scenario.fabric_spec
    link = replace(spec.link, llr=replace(spec.link.llr, on=False), cbfc=replace(spec.link.cbfc, cc_interval_ps=0))
    spec = replace(spec, link=link)
    return replace(scenario, fabric_spec=spec, fabric=build_fabric(spec))


def edges_of(pairs: Pairs) -> list[Wait]:
    return [Wait(f"p{a:05}", f"p{b:05}", WaitReason.CREDIT, "") for a, b in pairs]


def shortest(pairs: Pairs, places: int) -> int:
    """Length of the shortest cycle by Floyd and Warshall, 0 = none."""
    far = 10**6
    d = [[far] * places for _ in range(places)]
    for a, b in pairs:
        d[a][b] = 1
    for k, i, j in itertools.product(range(places), repeat=3):
        d[i][j] = min(d[i][j], d[i][k] + d[k][j])
    best = min(d[i][i] for i in range(places))
    return best if best < far else 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20))
def test_the_smallest_cycle_is_that_of_brute_force(pairs: Pairs) -> None:
    cycle = smallest_cycle(edges_of(pairs))
    assert len(cycle) == shortest(pairs, 9)
    for edge, following in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True):
        assert edge.on == following.waiter and edge in edges_of(pairs)
    assert smallest_cycle(edges_of(pairs)) == cycle


def test_roots_count_all_who_wait_for_them() -> None:
    edges = edges_of([(0, 1), (1, 2), (3, 2), (4, 5)])
    waits = make_waits(edges, {"p00002": "broken", "p00005": "lost", "p00001": "waits itself", "p00009": "nobody waits"})
    assert [(root.place, root.waiters) for root in waits.roots] == [("p00002", 3), ("p00005", 1), ("p00009", 0)]
    assert waits.cycle == () and waits.summary == "all wait for p00002: broken"
    assert str(waits.roots[1]) == "p00005: lost (1 waits for it)"
    assert make_waits([], {}).summary == "no frame waits for anything"


def test_a_large_graph_is_cut_but_keeps_its_cycle() -> None:
    pairs = [(n, n + 1) for n in range(EDGES_MAX + 500)]
    waits = make_waits(edges_of([*pairs, (EDGES_MAX + 450, EDGES_MAX + 448)]), {})
    assert len(waits.edges) == EDGES_MAX and waits.left_out == 501
    assert len(waits.cycle) == 3 and waits.edges[:3] == waits.cycle


def test_a_link_that_gave_up_is_the_root() -> None:
    overrides = ("fabric.fec=none", "fabric.ber=1.2e-6", "fabric.llr.replay_count=1")
    result = simulate(bare("all_to_all: {bytes_per_pair: 256KiB}", *overrides, gpus=4))
    assert result.status is Status.NO_PROGRESS and result.waits is not None
    assert result.waits.cycle == ()
    assert "in FLUSH, given up 1 time after 1 replay" in result.waits.roots[0].text
    assert any(edge.reason is WaitReason.LINK_DOWN for edge in result.waits.edges)
    assert not any("defect" in root.text for root in result.waits.roots)


@pytest.mark.parametrize("window", [4, 1024])
def test_frames_lost_without_llr_are_sent_again_end_to_end(window: int) -> None:
    overrides = ("fabric.fec=none", "fabric.ber=1e-6", f"run.window={window}")
    result = simulate(without_llr(bare("all_to_all: {bytes_per_pair: 256KiB}", *overrides, gpus=4)))
    assert result.status is Status.DONE and result.lost_frames == 0 and result.waits is None
    assert result.rh_replays > 0 and int(result.stage_ps.sum()) == result.frame_ps
    assert result.stage_ps[Stage.RH_REPLAY] > 0


def test_credits_that_no_frame_holds_are_named() -> None:
    """Without LLR, and without CC_UPDATE to repair it, lost frames keep their credits."""
    overrides = ("fabric.fec=none", "fabric.ber=3e-6", "fabric.gpus.buffer=8KiB", "fabric.switches.buffer=8KiB")
    result = simulate(without_llr(bare("all_to_all: {bytes_per_pair: 1MiB}", *overrides, gpus=4)))
    assert result.status is Status.NO_PROGRESS and result.waits is not None
    lost = [edge for edge in result.waits.edges if edge.reason is WaitReason.LOST_CREDIT]
    assert lost and all(0 < edge.needed <= 128 for edge in lost)
    assert not any("defect" in root.text for root in result.waits.roots)


def test_a_receiver_that_takes_nothing_is_the_root() -> None:
    scenario = bare("incast: {bytes: 1MiB, dst: 0}", gpus=4)
    result = simulate(replace(scenario, faults=(Fault(0, 0, FaultKind.DRAIN, 0, -1),)))
    assert result.status is Status.NO_PROGRESS and result.waits is not None and result.waits.cycle == ()
    assert result.waits.roots[0].place == "GPU 0 receiver"
    assert any(edge.reason is WaitReason.RECEIVER for edge in result.waits.edges)
    assert not any("defect" in root.text for root in result.waits.roots)


def test_a_link_that_never_comes_back_is_named() -> None:
    scenario = bare("all_to_all: {bytes_per_pair: 256KiB}", gpus=4)
    result = simulate(replace(scenario, faults=(Fault(2_000_000, 1, FaultKind.LINK_DOWN),)))
    assert result.status is Status.DONE and result.waits is None
    assert any(note.startswith("down at the end: ") and "GPU 1" in note for note in result.notes)


def test_waits_are_read_without_a_compiler() -> None:
    code = "import scalefab.simulator.waits, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
