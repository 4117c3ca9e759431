"""Flow fidelity: closed forms, max-min by hand, the packet simulator, and that its limits are told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scalefab.errors import InputError
from scalefab.report.record import flat_object
from scalefab.scenario import parse_scenario, read_scenario
from scalefab.scenario.fidelity import FLOW_LEAVES_OUT, Fidelity
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.flow.run import simulate_flow
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate
from scalefab.simulator.verdict import judge

ROOT = Path(__file__).resolve().parents[2]
PS_PER_BYTE = 10  # 800 Gb/s
FRAME = 1984 + 16 + 32 + 20  # a full packet on the line


def scenario(workload: str, gpus: int = 8, more: str = "", run: str = "") -> Scenario:
    return parse_scenario(
        f"""
scalefab: 1
fabric:
  gpus: {{preset: ethlink-gpu-1x800g, count: {gpus}, tx_latency: 0ns, rx_latency: 0ns, memory: {{latency: 0ns}}}}
  switches: {{planes: 1, ports: {gpus}, port_rate: 800Gb/s, latency: 200ns}}
  cables: {{delay: 50ns}}
{more}
workload:
{workload}
run: {{fidelity: flow{run}}}
""",
        "flow.yaml",
    )


def times_us(result: Result) -> list[float]:
    return [float(t) / 1e6 for t in result.operations.done_ps]


def test_one_put_takes_its_wire_bytes_and_its_way() -> None:
    result = simulate(scenario("  - point_to_point: {bytes: 1984000B, src: 0, dst: 1}"))
    # 1000 frames, the last gap goes nowhere; 50 + 200 + 50 ns of way
    memory_ps = result.operations.executed_ps[0] - ((1000 * FRAME - 12) * PS_PER_BYTE + 300_000)
    assert 0 <= memory_ps <= 300  # of the last packet
    assert result.fidelity is Fidelity.FLOW
    assert result.completion_ps >= result.bound_ps


def test_a_load_on_an_idle_fabric_is_exact() -> None:
    idle = read_scenario(ROOT / "examples/load-latency.yaml", ["run.fidelity=flow"])
    assert simulate(idle).completion_ps == 1_107_040


def test_rates_are_max_min_fair() -> None:
    # 0 -> 2 and 1 -> 2 share GPU 2's port; 1 -> 3 takes what is left of GPU 1's port: half as well, not a third
    one, two = 1_984_000, 2 * 1_984_000
    work = "".join(
        f"  - {{name: {name}, after: [], point_to_point: {{bytes: {size}B, src: {s}, dst: {d}, posted: on}}}}\n"
        for s, d, size, name in ((0, 2, one, "a"), (1, 2, two, "b"), (1, 3, one, "c"))
    )
    result = simulate(scenario(work))
    unit = 1000 * FRAME * PS_PER_BYTE / 1e6
    # a and c end at 2 units (rate 1/2 each); b has half of its bytes left then and the whole line
    np.testing.assert_allclose(times_us(result), [2 * unit + 0.3, 3 * unit + 0.3, 2 * unit + 0.3], rtol=1e-4)


def test_a_queue_of_one_pair_is_served_in_order() -> None:
    work = "".join(
        f"  - {{name: p{i}, after: [], point_to_point: {{bytes: 198400B, src: 0, dst: 1, posted: on}}}}\n" for i in range(3)
    )
    done = times_us(simulate(scenario(work)))
    unit = 100 * FRAME * PS_PER_BYTE / 1e6
    np.testing.assert_allclose(done, [unit + 0.3, 2 * unit + 0.3, 3 * unit + 0.3], rtol=1e-3)


@pytest.mark.parametrize(
    ("workload", "tolerance"),
    [
        ("  - all_to_all: {bytes_per_pair: 256KiB}", 0.02),
        ("  - all_reduce: {size: 4MiB, algorithm: ring, chunks: 8}", 0.03),
        ("  - incast: {bytes: 256KiB, dst: 0}", 0.02),
        ("  - all_to_all: {bytes_per_pair: 64KiB, operation: store, transaction: 512B, posted: false}", 0.05),
        ("  - permutation: {bytes: 256KiB, operation: load, transaction: 256B}", 0.05),
        ("  - permutation: {bytes: 1MiB, operation: get}", 0.05),
    ],
)
def test_it_agrees_with_frames(workload: str, tolerance: float) -> None:
    flows = scenario(workload, more="  frame_max: 4160B")
    frames = parse_scenario(flows.text, "x.yaml", ["run.fidelity=packet"])
    a, b = simulate(flows), simulate(frames)
    assert a.completion_ps == pytest.approx(b.completion_ps, rel=tolerance)
    assert a.completion_ps >= a.bound_ps
    assert a.data_bytes == b.data_bytes
    assert a.ports.wire_bytes.sum() == pytest.approx(b.ports.wire_bytes.sum(), rel=0.03)


@pytest.mark.parametrize("name", ["ethx16-mixtral", "ethx64-deepseek-v3", "ethx64-deepseek-v3-skewed"])
def test_moe_dispatch_agrees_with_frames(name: str) -> None:
    settings = ["workload.0.moe.tokens_per_gpu=32"] if "64" in name else []
    a, b = (
        simulate(read_scenario(ROOT / f"examples/{name}.yaml", [*settings, f"run.fidelity={fidelity}"]))
        for fidelity in ("flow", "packet")
    )
    assert a.completion_ps == pytest.approx(b.completion_ps, rel=0.05)
    assert a.completion_ps >= a.bound_ps


def test_paths_are_told_apart_where_they_are_not_used_alike() -> None:
    spread, single = (
        simulate(read_scenario(ROOT / "examples/ethx16-mixtral.yaml", ["run.fidelity=flow", f"run.spray={spray}"]))
        for spray in ("round_robin", "single")
    )
    assert single.completion_ps > 1.8 * spread.completion_ps  # one of two planes
    assert single.ports.wire_bytes[1] == 0 or single.ports.wire_bytes[0] == 0


def test_two_tiers_and_hash() -> None:
    text = """
scalefab: 1
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 16}
  switches: {preset: ethx-switch-51.2t, planes: 1, leaves: 4, uplinks: 4}
  spine: {preset: ethx-switch-25.6t}
workload: [{all_to_all: {bytes_per_pair: 256KiB}}]
run: {fidelity: flow, spray: SPRAY}
"""
    for spray in ("round_robin", "hash"):
        flows = parse_scenario(text.replace("SPRAY", spray), "x.yaml")
        a, b = simulate(flows), simulate(parse_scenario(flows.text, "x.yaml", ["run.fidelity=packet"]))
        assert a.completion_ps == pytest.approx(b.completion_ps, rel=0.12 if spray == "hash" else 0.05)


def test_the_same_run_gives_the_same_picoseconds() -> None:
    skewed = read_scenario(ROOT / "examples/ethx64-deepseek-v3-skewed.yaml", ["workload.0.moe.tokens_per_gpu=16"])
    a, b = simulate_flow(skewed), simulate_flow(skewed)
    np.testing.assert_array_equal(a.operations.done_ps, b.operations.done_ps)


def test_a_small_budget_is_coarser_and_says_so() -> None:
    skewed = read_scenario(ROOT / "examples/ethx64-deepseek-v3-skewed.yaml", ["workload.0.moe.tokens_per_gpu=16"])
    fine, coarse = simulate_flow(skewed), simulate_flow(skewed, budget=200_000)
    assert coarse.completion_ps == pytest.approx(fine.completion_ps, rel=0.05)
    assert coarse.completion_ps >= coarse.bound_ps
    assert any("shared out anew only every" in note for note in coarse.notes)
    assert not any("shared out anew only every" in note for note in fine.notes)


def test_compiled_and_interpreted_agree() -> None:
    flows = scenario("  - permutation: {bytes: 8KiB, operation: get}\n  - incast: {bytes: 4KiB, dst: 1}", gpus=4)
    code = (
        "import sys; from scalefab.scenario import parse_scenario; from scalefab.simulator.run import simulate;"
        "print(*simulate(parse_scenario(sys.stdin.read(), 'x.yaml')).operations.done_ps)"
    )
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", code], input=flows.text, env=env, capture_output=True, text=True, check=True)
    assert [int(word) for word in run.stdout.split()] == simulate(flows).operations.done_ps.tolist()


def test_run_until_gives_a_partial_result() -> None:
    result = simulate(
        scenario("  - all_to_all: {bytes_per_pair: 256KiB}\n  - incast: {bytes: 64KiB, dst: 0}", run=", until: 10us")
    )
    assert result.status is Status.PARTIAL
    assert result.now_ps == 10_000_000
    assert 0 < result.link_load.sum() <= 8 * 2 * 10_000_000 // PS_PER_BYTE


def test_what_it_leaves_out_is_told_in_words_and_json() -> None:
    result = simulate(scenario("  - incast: {bytes: 64KiB, dst: 0}"))
    verdict = judge(result)
    assert "flow fidelity" in verdict.lines[0].text
    assert FLOW_LEAVES_OUT in verdict.warnings
    assert any("GPU 0 alone" in text for text in verdict.warnings)
    flat = flat_object("x", result, verdict, "0")
    assert flat["fidelity"] == "flow"
    assert flat["frames"] is None and flat["lost_time"] is None
    assert len(flat["not_to_be_trusted_for"]) >= 2


def test_faults_are_refused() -> None:
    with pytest.raises(InputError, match="faults"):
        simulate(read_scenario(ROOT / "examples/flapping-link.yaml", ["run.fidelity=flow"]))
