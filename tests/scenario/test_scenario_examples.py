"""Every example passes, means what its comments say, and its resolved form reads back to the same scenario."""

from pathlib import Path

import pytest
import yaml

from scalefab.fabric.spec import Fec
from scalefab.protocol.multipath import Spray
from scalefab.protocol.operations import Kind
from scalefab.scenario import Scenario, parse_scenario, read_scenario
from scalefab.workload.spec import Algorithm, Collective, MoeLayer, Pattern, Precision, Routing

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))


def example(name: str, *overrides: str) -> Scenario:
    return read_scenario(EXAMPLES / f"{name}.yaml", overrides)


def test_the_promised_examples_are_there() -> None:
    names = {path.stem for path in FILES}
    assert {"ethx16-mixtral", "ethx64-deepseek-v3", "ethx64-deepseek-v3-skewed", "ethx256-qwen3", "w1-all-to-all"} <= names
    assert {"w3-ring-all-reduce", "load-latency", "incast"} <= names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_example_reads_without_warning_and_reads_back(path: Path, tmp_path: Path) -> None:
    scenario = read_scenario(path)
    assert scenario.name == path.stem
    assert scenario.warnings == ()
    assert len(scenario.graph) > 0
    assert scenario.text == path.read_text()

    elsewhere = tmp_path / "resolved.yaml"  # the models are inside: no other file is needed
    elsewhere.write_text(yaml.safe_dump(scenario.resolved, sort_keys=False))
    again = read_scenario(elsewhere)
    assert again.resolved == scenario.resolved
    assert again.fabric_spec == scenario.fabric_spec
    assert again.workload == scenario.workload
    assert again.options == scenario.options
    assert again.name == scenario.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_resolved_value_has_an_origin(path: Path) -> None:
    scenario = read_scenario(path)

    def count(value: object) -> int:
        if isinstance(value, dict):
            return sum(map(count, value.values()))
        return sum(map(count, value)) if isinstance(value, list) else 1

    assert len(scenario.origins) == count(scenario.resolved)
    assert {origin.kind for origin in scenario.origins.values()} <= {"file", "preset", "default"}
    assert all(origin.where for origin in scenario.origins.values() if origin.kind != "default")


def test_deepseek_rack() -> None:
    scenario = example("ethx64-deepseek-v3")
    spec = scenario.fabric_spec
    assert (spec.endpoints.count, spec.endpoints.ports, spec.endpoints.port_rate_bps) == (64, 8, 800 * 10**9)
    assert (spec.switches.planes, spec.switches.radix, spec.switches.port_rate_bps) == (8, 64, 800 * 10**9)
    assert (spec.cables.length_mm, spec.cables.delay_ps, spec.cables.link_delay_ps) == (3000, 13_800, -1)
    assert (spec.fec, spec.frame_max, spec.credit_bytes, spec.cf_spacing_bytes) == (Fec.RS272, 2048, 64, 6400)
    assert (spec.phy_tx_ps, spec.phy_rx_ps, spec.switches.latency_ps) == (50_000, 50_000, 250_000)
    assert spec.endpoints.buffer_bytes == spec.switches.buffer_bytes == 256 << 10
    (layer,) = scenario.workload.phases
    assert isinstance(layer, MoeLayer)
    assert (layer.tokens_per_gpu, layer.ranks, layer.dispatch, layer.combine) == (128, 64, Precision.FP8, Precision.BF16)
    assert (layer.model.experts, layer.model.top_k, layer.model.hidden) == (256, 8, 7168)
    assert [group.name for group in scenario.graph.groups] == ["moe.dispatch", "moe.combine"]


def test_skewed_routing() -> None:
    (layer,) = example("ethx64-deepseek-v3-skewed").workload.phases
    assert isinstance(layer, MoeLayer)
    assert (layer.routing, layer.zipf_exponent, layer.seed) == (Routing.ZIPF, 1.0, 7)


def test_256_gpus_split_their_ports() -> None:
    scenario = example("ethx256-qwen3")
    assert (scenario.fabric_spec.switches.radix, scenario.fabric_spec.switches.port_rate_bps) == (256, 200 * 10**9)
    assert scenario.fabric_spec.switches.buffer_bytes == 64 << 10  # follows the port rate
    (layer,) = scenario.workload.phases
    assert isinstance(layer, MoeLayer)
    assert (layer.ranks, layer.model.experts) == (128, 128)


@pytest.mark.parametrize("name", ["w1-all-to-all", "w3-ring-all-reduce"])
def test_benchmark_network(name: str) -> None:
    spec = example(name).fabric_spec
    gpus = spec.endpoints
    assert (gpus.count, gpus.ports, gpus.port_rate_bps, gpus.tx_latency_ps, gpus.rx_latency_ps) == (64, 1, 800 * 10**9, 0, 0)
    assert (gpus.memory.latency_ps, spec.switches.latency_ps, spec.switches.radix, spec.switches.planes) == (0, 200_000, 64, 1)
    assert spec.cables.link_delay_ps == 50_000
    assert set(example(name).fabric.port_delay_ps.tolist()) == {50_000}


def test_benchmark_workloads() -> None:
    (w1,) = example("w1-all-to-all").workload.phases
    assert isinstance(w1, Collective)
    assert (w1.size_bytes, w1.ranks, w1.algorithm, w1.operation) == (64 << 20, 64, Algorithm.DIRECT, Kind.PUT)
    (w3,) = example("w3-ring-all-reduce").workload.phases
    assert isinstance(w3, Collective)
    assert (w3.size_bytes, w3.chunks, w3.algorithm) == (256 << 20, 64, Algorithm.RING)


def test_patterns() -> None:
    scenario = example("load-latency")
    (load,) = scenario.workload.phases
    assert isinstance(load, Pattern)
    assert (load.operation, load.bytes, load.src, load.dst, load.posted) == (Kind.LOAD, 64, 0, 1, False)
    assert scenario.graph.chunk.tolist() == [64]
    incast = example("incast")
    assert sorted(incast.graph.src.tolist()) == list(range(1, 64))
    assert set(incast.graph.dst.tolist()) == {0}


def test_options_reach_the_run() -> None:
    text = """
scalefab: 1
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 4, memory: {latency: 1us}}
  switches: {preset: ethx-switch-51.2t, planes: 1, ports: 32, buffer: 1MiB}
  cables: {length: 500m, medium: fiber}
  fec: rs544
  fec_depth: 2
  frame_max: 4160B
  phy_tx: 10ns
  phy_rx: 20ns
  cbfc: {credit: 128B, overhead: -16B, cf_spacing: 1600B}
workload:
  - name: a
    start: 1us
    all_gather: {size: 1MiB, operation: store, transaction: 128B, posted: off, ranks: 2}
  - name: b
    after: []
    permutation: {operation: get, bytes: 4KiB, shift: 3, repeat: 2}
  - after: a
    broadcast: {size: 1KB, root: 2, algorithm: ring, chunks: 2}
  - after: [a, b]
    reduce_scatter: {size: 4KiB}
run: {seed: 9, spray: least_queued, pack: off, window: 7, ack_every: 3, ack_delay: 5ns, service: 2, until: 1ms}
"""
    scenario = parse_scenario(text, "many.yaml")
    spec, options = scenario.fabric_spec, scenario.options
    assert scenario.name == "many"
    assert (spec.cables.medium, spec.cables.delay_ps, spec.fec, spec.fec_depth) == ("fiber", 500 * 4_900, Fec.RS544, 2)
    assert (spec.frame_max, spec.mtu, spec.phy_tx_ps, spec.phy_rx_ps) == (4160, 4096, 10_000, 20_000)
    assert (spec.credit_bytes, spec.overhead_bytes, spec.cf_spacing_bytes) == (128, -16, 1600)
    assert (spec.switches.radix, spec.switches.buffer_bytes, spec.endpoints.memory.latency_ps) == (32, 1 << 20, 10**6)
    assert (options.seed, options.spray, options.pack, options.window_frames) == (9, Spray.LEAST_QUEUED, False, 7)
    assert (options.ack_every_frames, options.ack_delay_ps, options.service_frames, options.until_ps) == (3, 5_000, 2, 10**9)
    first, second, third, fourth = scenario.workload.phases
    assert [phase.name for phase in scenario.workload.phases] == ["a", "b", "broadcast", "reduce_scatter"]
    assert [phase.after for phase in scenario.workload.phases] == [None, (), ("a",), ("a", "b")]
    assert isinstance(first, Collective) and isinstance(second, Pattern) and isinstance(third, Collective)
    assert (first.start_ps, first.operation, first.transaction_bytes, first.posted, first.ranks) == (
        10**6,
        Kind.STORE,
        128,
        False,
        2,
    )
    assert (second.pattern, second.operation, second.shift, second.repeat, second.ranks) == ("permutation", Kind.GET, 3, 2, 4)
    assert (third.root, third.algorithm, third.chunks, third.size_bytes) == (2, Algorithm.RING, 2, 1000)
    assert isinstance(fourth, Collective) and fourth.algorithm is Algorithm.DIRECT
    again = parse_scenario(yaml.safe_dump(scenario.resolved), "other.yaml")
    assert (again.fabric_spec, again.workload, again.options) == (spec, scenario.workload, options)


def test_a_buffer_too_small_for_the_line_rate_is_a_warning() -> None:
    scenario = example("incast", "fabric.switches.buffer=16KiB")
    assert len(scenario.warnings) == 1 and scenario.warnings[0].startswith("fabric.switches.buffer: ")


def test_entries_of_one_kind_get_names_of_their_own() -> None:
    scenario = example("incast", "workload=[{incast: {bytes: 1B}}, {name: incast-2, incast: {bytes: 1B}}, {incast: {bytes: 1B}}]")
    assert [phase.name for phase in scenario.workload.phases] == ["incast", "incast-2", "incast-3"]
