"""The simulator against closed forms: link rate, latency, credits over the bandwidth-delay product, fair shares, alpha-beta."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulated import bare, run_bare

from scalefab.protocol.operations import Kind
from scalefab.scenario import parse_scenario, read_scenario
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate
from scalefab.workload.builder import GraphBuilder

EXAMPLES = Path(__file__).parents[2] / "examples"


def sound(result: Result) -> Result:
    """What must hold of every fault-free run."""
    assert result.status is Status.DONE
    assert result.frames == result.frames_sent and result.lost_frames == 0
    assert int(result.stage_ps.sum()) == result.frame_ps
    assert (result.stage_ps >= 0).all()
    assert (result.operations.done_ps >= result.operations.executed_ps).all()
    assert (result.operations.executed_ps >= result.operations.ready_ps).all()
    assert result.bound_ps <= result.completion_ps
    assert int(result.latency_counts.sum()) == result.frames
    assert int(result.link_load.sum()) == int(result.ports.wire_bytes.sum())
    assert result.operations_done == len(result.graph)
    return result


@pytest.mark.parametrize(("rate_gbps", "expected_ps"), [(800, 1_107_040), (400, 1_107_040 + 720 + 1_120)])
def test_idle_load_round_trip_is_section_7(rate_gbps: int, expected_ps: int) -> None:
    # 800G: 2 x 477.600 + 150.000 + 0.720 (64 B) + 1.120 (104 B); at 400G both serialisations double and each link's FEC
    # (depth 2: 12.8 + 38 ns, the same 50.8 ns) adds nothing.
    scenario = read_scenario(EXAMPLES / "load-latency.yaml", [f"fabric.gpus.port_rate={rate_gbps}Gb/s"])
    result = sound(simulate(scenario))
    assert result.completion_ps == expected_ps == result.bound_ps


def test_link_rate_of_one_long_put() -> None:
    result = sound(run_bare("point_to_point: {operation: put, bytes: 62MiB, posted: true}", gpus=2))
    packets = -(-62 * 2**20 // 1984)
    wire = 62 * 2**20 + packets * 68 + 6  # the last packet's data is 1,242 B, padded to 8
    assert wire * 10 <= result.completion_ps <= wire * 10 * 1.0016 + 300_000  # CF_UPDATEs of the other direction: none here
    assert result.data_bytes == 62 * 2**20


@pytest.mark.parametrize(("frame_max", "bound_ps"), [(4160, 671_569_920), (2048, 683_265_240)])
def test_w1_lies_between_its_bound_and_three_percent_above(frame_max: int, bound_ps: int) -> None:
    result = sound(run_bare("all_to_all: {bytes_per_pair: 1MiB}", gpus=64, frame_max=frame_max))
    assert result.bound_ps == bound_ps
    assert bound_ps <= result.completion_ps <= bound_ps * 103 // 100
    assert result.frames == 64 * 63 * -(-(1 << 20) // (4096 if frame_max == 4160 else 1984))
    assert result.data_bytes == 64 * 63 << 20
    assert result.events / (result.frames + result.ack_frames) < 3.1
    assert 0.05 < result.ack_frames / result.frames < 0.08  # the profile measured 0.06


def test_ring_all_reduce_is_alpha_beta() -> None:
    # 2 (n - 1) steps of size / n: each serialises its chunk and adds one step latency of 50 + 200 + 50 ns.
    result = sound(run_bare("all_reduce: {size: 8MiB, algorithm: ring}", gpus=8))
    chunk = (8 << 20) // 8
    packets = -(-chunk // 1984)
    serialise_ps = (chunk + packets * 68) * 10
    closed_form_ps = 14 * (serialise_ps + 300_000)
    assert closed_form_ps * 0.999 <= result.completion_ps <= closed_form_ps * 1.02


def test_incast_shares_fairly() -> None:
    result = sound(run_bare("incast: {bytes: 512KiB, dst: 0}", gpus=64))
    done = result.operations.done_ps
    assert (done.max() - done.min()) / done.max() <= 0.02
    wire_ps = 63 * (265 * 68 + (1 << 19)) * 10
    assert wire_ps <= result.completion_ps <= wire_ps * 1.01


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(2, 400), st.integers(5, 2_500))
def test_throughput_is_credits_over_the_round_trip(frames_of_buffer: int, delay_ns: int) -> None:
    """min(1, credits / BDP): a buffer of k frames passes k frames a credit round trip, CF_UPDATE spacing included.

    The round trip of a credit: the frame's first hop, the switch's look-up, its time on the second line, and the way back;
    the CF_UPDATE may wait up to its spacing (64 ns) and for the frame on the reverse line (idle here).
    """
    credits = 32  # of a full frame: 2032 + 16 B -> 2048 / 64
    overrides = [f"fabric.switches.buffer={frames_of_buffer * credits * 64}B", f"fabric.cables.delay={delay_ns}ns"]
    overrides.append("fabric.gpus.buffer=1MiB")  # so that the second hop never is the short one
    result = sound(run_bare("point_to_point: {operation: put, bytes: 4MiB, posted: true}", *overrides, gpus=2))
    frame_ps = 2052 * 10
    count = -(-(4 << 20) // 1984)
    cut_through_ps = max(200_000, 2040 * 10)
    shortest_ps = delay_ns * 1000 + cut_through_ps + frame_ps + delay_ns * 1000 + 80
    longest_ps = shortest_ps + 64_000 + frame_ps
    one_way_ps = 2 * delay_ns * 1000 + cut_through_ps + frame_ps
    rounds = count / frames_of_buffer
    fastest_ps = max(count * frame_ps, (rounds - 1) * shortest_ps)
    slowest_ps = math.ceil(rounds) * max(frames_of_buffer * frame_ps, longest_ps) * 1.005 + one_way_ps + longest_ps
    assert fastest_ps <= result.completion_ps <= slowest_ps


def test_an_output_is_shared_by_bytes_whatever_the_frame_sizes() -> None:
    """Three senders to one: full frames, frames of 256 B data and of 32 B data; each gets a third of the line in wire bytes."""
    scenario = bare("incast: {bytes: 1MiB, dst: 0}", "run.until=100us", gpus=4, pack="off")
    builder = GraphBuilder(1984, 4)
    group = builder.group("mixed", "mixed", 1, 4)
    for src, message in ((1, 0), (2, 256), (3, 32)):
        builder.operations(Kind.PUT, [src], [0], [8 << 20], group=group, chunk=message)
    all_of_them = dataclasses.replace(scenario.options, sample_frames=1_000_000)
    result = simulate(dataclasses.replace(scenario, graph=builder.build(), options=all_of_them))
    sample = result.trace.sample if result.trace else np.zeros(0)
    settled = sample[sample["executed_ps"] > 20_000_000]  # after the first microseconds every buffer is full
    wire = [int((settled["size_bytes"][settled["src"] == src] + 20).sum()) for src in (1, 2, 3)]
    assert max(wire) / min(wire) < 1.02
    assert sum(wire) * 10 == pytest.approx(80_000_000, rel=0.01)


def test_a_memory_slower_than_the_ports_limits_and_loses_nothing() -> None:
    override = "fabric.gpus.memory.bandwidth=20GB/s"
    result = sound(run_bare("incast: {bytes: 1MiB, dst: 0}", override, gpus=4))
    memory_ps = 3 * (1 << 20) * 50
    assert memory_ps <= result.completion_ps <= memory_ps * 1.01
    # The last frame is visible one latency after memory takes it: its own 1984 B are not waited for.
    assert result.bound_cut == "target memory"
    assert memory_ps - 1984 * 50 * 3 <= result.bound_ps


def test_a_get_reads_the_targets_memory() -> None:
    """Eight readers of one slow memory: as slow as with loads, whatever the ports could carry."""
    times = {}
    for operation in ("get", "load"):
        scenario = bare("incast: {bytes: 1MiB, dst: 0}", "fabric.gpus.memory.bandwidth=20GB/s", gpus=9)
        builder = GraphBuilder(1984, 9)
        group = builder.group("x", "x", 1, 9)
        kind = Kind.GET if operation == "get" else Kind.LOAD
        builder.operations(
            kind,
            range(1, 9),
            0,
            1 << 20,
            group=group,
            chunk=0 if operation == "get" else 256,
            posted=0,
            address=np.arange(8) << 24,
        )
        times[operation] = sound(simulate(dataclasses.replace(scenario, graph=builder.build()))).completion_ps
    memory_ps = 8 * (1 << 20) * 50
    assert memory_ps <= times["load"] <= memory_ps * 1.01
    assert memory_ps <= times["get"] <= memory_ps * 1.15  # the readers' memories write the last message after it was read


@pytest.mark.parametrize(
    ("workload", "memory_ps"), [("put, bytes: 1984B", 1_984_000), ("load, bytes: 63KiB, transaction: 512B", 64_512_000)]
)
def test_a_frame_takes_memory_its_own_bytes_too(workload: str, memory_ps: int) -> None:
    override = "fabric.gpus.memory.bandwidth=1GB/s"
    result = sound(run_bare(f"point_to_point: {{operation: {workload}}}", override, gpus=2))
    assert result.completion_ps >= memory_ps


@pytest.mark.parametrize("chunk", [2048, 7168, 7392, 14336])
def test_round_robin_does_not_fall_into_step_with_messages(chunk: int) -> None:
    """Short last packets of messages must not all meet on the same paths (once: 1.75 times the bound)."""
    scenario = bare("point_to_point: {bytes: 2MiB, posted: true}", gpus=2, stacks=8)
    builder = GraphBuilder(1984, 2)
    group = builder.group("x", "x", 1, 2)
    builder.operations(Kind.PUT, [0], [1], [1024 * chunk], group=group, chunk=chunk)
    result = sound(simulate(dataclasses.replace(scenario, graph=builder.build())))
    assert result.completion_ps <= result.bound_ps * 1.04 + 500_000


@pytest.mark.parametrize("spray", ["hash", "round_robin", "least_queued", "single"])
def test_small_messages_share_frames_on_every_policy(spray: str) -> None:
    scenario = bare("point_to_point: {bytes: 2MiB, posted: true}", gpus=2, stacks=8, spray=spray)
    builder = GraphBuilder(1984, 2)
    group = builder.group("x", "x", 1, 2)
    builder.operations(Kind.PUT, [0], [1], [1 << 20], group=group, chunk=256)
    result = sound(simulate(dataclasses.replace(scenario, graph=builder.build())))
    assert result.frames <= 4096 // 7 + 9  # seven of 256 B in a 2048 B frame, a last one on each path


def test_many_small_operations_of_a_pair_use_all_paths() -> None:
    scenario = bare("point_to_point: {bytes: 2MiB, posted: true}", gpus=2, stacks=8)
    builder = GraphBuilder(1984, 2)
    group = builder.group("x", "x", 1, 2)
    builder.operations(Kind.PUT, [0] * 4000, 1, 1024, group=group)  # all in one page
    sent = sound(simulate(dataclasses.replace(scenario, graph=builder.build()))).ports.data_bytes[:8]
    assert sent.max() - sent.min() <= 1024


def test_work_beyond_the_time_limit_is_not_done() -> None:
    result = simulate(bare("point_to_point: {bytes: 64KiB, posted: true}", "run.until=1us", gpus=2))
    assert result.status is Status.PARTIAL and result.operations_done == 0 and result.completion_ps == 0


def test_a_start_far_away_is_reached_in_one_jump() -> None:
    text = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 2}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload:
  - {start: 500s, point_to_point: {operation: put, bytes: 64KiB}}
"""
    result = sound(simulate(parse_scenario(text, "x.yaml")))
    assert result.completion_ps > 500 * 10**12
    assert result.events < 1_000


@pytest.mark.parametrize("operation", ["load", "store", "reduce", "atomic", "put", "get", "send"])
@pytest.mark.parametrize("spray", ["hash", "round_robin", "least_queued", "single"])
def test_every_operation_moves_its_bytes_on_every_policy(operation: str, spray: str) -> None:
    size = "8B" if operation == "atomic" else "36KiB"
    result = sound(
        run_bare(f"point_to_point: {{operation: {operation}, bytes: {size}, repeat: 3}}", gpus=3, stacks=4, planes=4, spray=spray)
    )
    assert result.data_bytes == (24 if operation == "atomic" else 3 * 36 * 1024)


@pytest.mark.parametrize("spray", ["round_robin", "least_queued"])
def test_spraying_uses_all_planes_at_once(spray: str) -> None:
    one = sound(run_bare("point_to_point: {operation: put, bytes: 8MiB, posted: true}", gpus=2, spray=spray))
    four = sound(run_bare("point_to_point: {operation: put, bytes: 8MiB, posted: true}", gpus=2, stacks=4, spray=spray))
    assert one.completion_ps / four.completion_ps > 3.95


def test_two_ports_on_one_plane_are_two_paths() -> None:
    result = sound(run_bare("all_to_all: {bytes_per_pair: 256KiB}", "fabric.switches.ports=16", gpus=8, stacks=2, planes=1))
    assert result.completion_ps <= result.bound_ps * 1.05


@pytest.mark.parametrize("rate", ["100Gb/s", "200Gb/s", "400Gb/s", "800Gb/s"])
def test_time_scales_with_the_rate(rate: str) -> None:
    result = sound(run_bare("all_to_all: {bytes_per_pair: 64KiB}", gpus=8, rate=rate))
    assert result.completion_ps <= result.bound_ps * 1.01 + 300_000


def test_stores_pack_and_unpacked_stores_do_not() -> None:
    # 25 STORE of 64 B share a 2048 B frame; with `pack: off` each has its own.
    text = "point_to_point: {operation: store, bytes: 6400B, transaction: 64B, posted: true}"
    assert sound(run_bare(text, gpus=2)).frames == 4
    assert sound(run_bare(text, gpus=2, pack="off")).frames == 100


def test_answers_come_one_for_each_store() -> None:
    text = "point_to_point: {operation: store, bytes: 51200B, transaction: 512B}"
    result = sound(run_bare(text, gpus=2, pack="off"))
    assert result.frames == 200  # each way


def test_full_windows_wait_and_go_on() -> None:
    # Two frames of window: stop and wait on the ACK, which comes alone after ack_delay; time is rounds of that.
    workload = "point_to_point: {operation: put, bytes: 198400B, posted: true}"
    result = sound(run_bare(workload, "run.window=2", "run.ack_every=16", "run.ack_delay=2us", gpus=2))
    rounds = 100 // 2
    assert rounds * 2_000_000 * 0.97 <= result.completion_ps <= rounds * 3_000_000
    assert int(result.ports.window_wait_ps.sum()) > result.completion_ps * 0.9


def test_same_scenario_same_picosecond_and_seeds_matter_only_to_routing() -> None:
    workload = "moe: {model: %s, tokens_per_gpu: 32, routing: zipf}" % (EXAMPLES / "models" / "mixtral-8x7b.json")
    first, again = (sound(run_bare(workload, gpus=8, stacks=2)) for _ in range(2))
    assert first.completion_ps == again.completion_ps
    for name in ("ready_ps", "first_ps", "executed_ps", "done_ps"):
        np.testing.assert_array_equal(getattr(first.operations, name), getattr(again.operations, name))
    other = sound(run_bare(workload, "run.seed=7", gpus=8, stacks=2))
    assert other.completion_ps != first.completion_ps


def test_until_gives_a_partial_result() -> None:
    result = simulate(bare("all_to_all: {bytes_per_pair: 1MiB}", "run.until=20us", gpus=8))
    assert result.status is Status.PARTIAL
    assert 0 < result.frames < result.frames_sent
    assert result.now_ps <= 20_000_000
    assert int(result.stage_ps.sum()) == result.frame_ps
    assert any("until" in note for note in result.notes)


def test_interrupt_gives_a_partial_result() -> None:
    def interrupt(progress: object) -> None:
        if progress.phase == "run":
            raise KeyboardInterrupt

    result = simulate(bare("all_to_all: {bytes_per_pair: 8MiB}", gpus=16), progress=interrupt)
    assert result.status is Status.PARTIAL
    assert result.frames > 0
    assert int(result.stage_ps.sum()) == result.frame_ps


def test_start_times_are_kept() -> None:
    text = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 4}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload:
  - {name: a, after: [], point_to_point: {operation: put, bytes: 64KiB}}
  - {name: b, after: [], start: 30us, point_to_point: {operation: put, bytes: 64KiB, src: 2, dst: 3}}
"""
    result = sound(simulate(parse_scenario(text, "x.yaml")))
    group_b = result.graph.group == 1
    assert (result.operations.first_ps[group_b & (result.graph.kind < 8)] >= 30_000_000).all()
