"""FENCE, release, acquire, put-with-signal in the simulator: what they wait for, what they cost, across failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import bare, run_bare

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.profile import Kind
from scalefab.report.frames import FrameMaker
from scalefab.simulator.result import Ending, Result, Status
from scalefab.simulator.run import simulate

VERIFY = "run.verify=memory"


def program(*threads: str) -> str:
    return "program: {threads: [" + ", ".join(f"'{thread}'" for thread in threads) + "]}"


def rows(result: Result, kind: Kind) -> np.ndarray:
    return np.flatnonzero(result.graph.kind == kind)


def test_a_fence_with_nothing_under_way_takes_one_round_trip_without_memory() -> None:
    slow_memory = ("fabric.gpus.memory.latency=150ns",)
    fence = run_bare(program("0: store 1:0x0 1; wait 10us; fence 1"), *slow_memory)
    load = run_bare("point_to_point: {operation: load, bytes: 8B}", *slow_memory)
    i = rows(fence, Kind.FENCE)[0]
    took_ps = fence.operations.done_ps[i] - fence.operations.ready_ps[i]
    ordered_sets_ps = 2 * 80  # 8 B of line time each way may go first: the store before it is acknowledged and its credits return
    assert 0 <= took_ps - (load.completion_ps - 150_000) <= ordered_sets_ps  # both ways frames of 64 B


@pytest.mark.parametrize("spray", ["round_robin", "least_queued", "hash", "single"])
def test_a_fence_ends_when_all_before_it_is_executed_on_every_path_and_vc(spray: str) -> None:
    text = program(
        "0: put.posted 1:0x100000 256KiB; store.posted 1:0x0 bytes=64B; store.posted 1:0x7000 1; fence; store 1:0x9000 2"
    )
    result = run_bare(text, VERIFY, spray=spray, stacks=4)
    times, fence = result.operations, rows(result, Kind.FENCE)[0]
    assert result.memory is not None and not result.memory.failures
    assert (times.executed_ps[:fence] <= times.done_ps[fence]).all()
    assert times.ready_ps[fence + 1] == times.done_ps[fence]
    one_way_ps = 300_000  # two links of 50 ns and a switch of 200 ns
    assert times.executed_ps[:fence].max() + one_way_ps < times.done_ps[fence] < times.executed_ps[:fence].max() + 2_000_000


def test_a_fence_of_one_gpu_does_not_wait_for_another() -> None:
    result = run_bare(program("0: put 2:0x0 4MiB; store.posted 1:0x0 1; fence 1; store 1:0x1000 1"), VERIFY)
    put, store = rows(result, Kind.PUT)[0], rows(result, Kind.STORE)[-1]
    assert result.operations.done_ps[store] < result.operations.executed_ps[put]
    system = run_bare(program("0: put 2:0x0 4MiB; store.posted 1:0x0 1; fence; store 1:0x1000 1"), VERIFY)
    store = rows(system, Kind.STORE)[-1]
    assert system.operations.ready_ps[store] >= system.operations.done_ps[rows(system, Kind.PUT)[0]]
    assert len(rows(system, Kind.FENCE)) == 2


def test_a_fence_waits_for_responses_of_what_was_issued_before_not_after() -> None:
    text = program("0: get 1:0x0 1MiB; fence 1; store 1:0x9000 1", "0: wait 2us; get 1:0x200000 8MiB")
    result = run_bare(text)
    first, late = rows(result, Kind.GET)
    fence = rows(result, Kind.FENCE)[0]
    assert result.operations.done_ps[first] <= result.operations.done_ps[fence] < result.operations.done_ps[late]


def test_release_and_acquire_are_a_fence_before_and_a_wait_behind() -> None:
    result = run_bare(
        program("0: store.posted 1:0x0 1; store.release.posted 2:0x0 1", "3: load.acquire 1:0x0; load 2:0x0"), VERIFY
    )
    stores, loads, fences = (rows(result, kind) for kind in (Kind.STORE, Kind.LOAD, Kind.FENCE))
    times = result.operations
    assert [int(result.graph.dst[i]) for i in fences] == [1]
    assert times.ready_ps[stores[1]] == times.done_ps[fences[0]]
    assert times.ready_ps[loads[1]] == times.done_ps[loads[0]]
    assert result.graph.order[stores[1]] == 2 and result.graph.order[loads[0]] == 1


def test_requests_that_wait_for_room_hold_a_fence_up_and_later_ones_do_not() -> None:
    stream = "load 1:0x0 bytes=96KiB"  # more responses than a queue of 1 KiB has room for
    text = program(f"0: {stream}; store.posted 1:0x900000 1; fence 1; store 1:0x901000 1", f"2: {stream}", f"3: {stream}")
    result = run_bare(text, VERIFY, "fabric.gpus.response_queue=1KiB", stacks=2)
    assert result.status is Status.DONE and result.memory is not None and not result.memory.failures
    fence = rows(result, Kind.FENCE)[0]
    before = np.flatnonzero((result.graph.src == 0) & result.graph.moving & (np.arange(len(result.graph)) < fence))
    assert (result.operations.executed_ps[before] <= result.operations.done_ps[fence]).all()


def test_the_signal_of_a_put_is_on_the_wire_and_in_memory() -> None:
    text = "permutation: {operation: put_signal, bytes: 5000B, repeat: 3, posted: on}"
    scenario = bare(text, VERIFY, stacks=2)
    result = simulate(replace(scenario, options=replace(scenario.options, capture_frames=64)))
    assert result.memory is not None and not result.memory.failures and result.memory.addresses == 4
    assert result.memory.cells is not None and set(result.memory.cells.value.tolist()) == {3}
    maker = FrameMaker(result.graph, result.fabric, result.trace, scenario.options.spray)
    for row in range(len(result.trace.frames)):
        maker.encoded(row)  # as many bytes as the simulator counted
    last = [t.th for r in range(len(result.trace.frames)) for t in maker.frame(r).transactions if t.th.opcode == 23 and t.th.last]
    assert len(last) == 12 and {th.length for th in last} == {5000 % 1984}


def test_atomics_carry_their_operands_and_compare_swap_two_of_them() -> None:
    scenario = bare(program("0: compare_swap 1:0x0 3 7; swap 1:0x1000 9"))
    result = simulate(replace(scenario, options=replace(scenario.options, capture_frames=8)))
    maker = FrameMaker(result.graph, result.fabric, result.trace, scenario.options.spray)
    first = maker.frame(0).transactions
    assert [(one.th.kind, [int.from_bytes(part, "little") for part in one.parts]) for one in first] == [
        (0x71, [3, 7]),
        (0x61, [9]),
    ]
    assert len(maker.encoded(0)) == 24 + (16 + 16) + (16 + 8) + 4 + 4


def test_frames_with_fences_have_the_bytes_that_the_simulator_counts() -> None:
    scenario = bare(program("0: store.posted 1:0x0 1; put.posted 1:0x10000 8KiB; fence; store 1:0x2000 2"), stacks=2)
    result = simulate(replace(scenario, options=replace(scenario.options, capture_frames=64)))
    maker = FrameMaker(result.graph, result.fabric, result.trace, scenario.options.spray)
    opcodes = set()
    for row in range(len(result.trace.frames)):
        maker.encoded(row)
        opcodes |= {t.th.opcode for t in maker.frame(row).transactions}
    assert {9, 10} <= opcodes


@pytest.mark.parametrize("at_ps", range(200_000, 3_200_000, 300_000))
@pytest.mark.parametrize("sen", ["on", "off"])
def test_a_path_that_dies_before_or_while_a_fence_waits_changes_nothing_of_what_it_means(at_ps: int, sen: str) -> None:
    text = program("0: put.posted 1:0x100000 128KiB; store.posted 1:0x3000 1; fence; store 1:0x9000 2; fence; store 1:0xa000 3")
    scenario = bare(text, VERIFY, f"fabric.sen={sen}", stacks=4)
    faults = (Fault(at_ps, 1, FaultKind.LINK_DOWN), Fault(at_ps + 400_000, 6, FaultKind.LINK_DOWN))
    result = simulate(replace(scenario, faults=faults))
    assert result.status is Status.DONE and result.memory is not None and not result.memory.failures
    times = result.operations
    for fence in rows(result, Kind.FENCE):
        before = np.flatnonzero(result.graph.moving[:fence])
        assert (times.executed_ps[before] <= times.done_ps[fence]).all()
        assert times.ready_ps[fence + 1] == times.done_ps[fence]


def test_a_fence_to_a_gpu_that_is_cut_off_ends_with_status_6() -> None:
    scenario = bare(program("0: put.posted 1:0x100000 1MiB; fence; store 1:0x9000 2", "2: store 3:0x0 1"), stacks=1)
    result = simulate(replace(scenario, faults=(Fault(5_000_000, 1, FaultKind.LINK_DOWN),)))
    ended = result.operations.ending
    assert ended[rows(result, Kind.FENCE)[0]] == Ending.TIMEOUT
    assert ended[rows(result, Kind.STORE)[0]] == Ending.NOT_STARTED
    assert result.operations.done_ps[rows(result, Kind.STORE)[1]] > 0


def test_fences_tie_planes_together_and_flows_know_none() -> None:
    text = program("0: store.posted 1:0x0 1; fence; store 1:0x2000 2")
    result = simulate(bare(text, "fabric.gpus.memory.bandwidth=100000TB/s", stacks=2), threads=2)
    assert any("FENCEs" in note for note in result.notes)
    flow = simulate(bare(text, "run.fidelity=flow"))
    assert any("FENCE" in note for note in flow.notes)
