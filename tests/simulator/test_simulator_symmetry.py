"""GPUs and planes have no names that matter: renumbering them moves completion by less than 2 %, and not a byte."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from simulated import bare

from scalefab.simulator.result import Result
from scalefab.simulator.run import simulate

MODELS = Path(__file__).parents[2] / "examples" / "models"
WORKLOADS = {
    "all-to-all": "all_to_all: {bytes_per_pair: 128KiB}",
    "skewed MoE": f"moe: {{model: {MODELS / 'deepseek-v3.json'}, tokens_per_gpu: 64, routing: zipf}}",
    "stores": "all_to_all: {bytes_per_pair: 32KiB, operation: store, posted: false}",
    "incast": "incast: {bytes: 256KiB, dst: 3}",
}


def renumbered(workload: str, rng: np.random.Generator) -> tuple[Result, Result, np.ndarray]:
    # Loads and stores are bound to planes by a hash of page and target, so with several planes another numbering is another draw.
    scenario = bare(workload, gpus=16, stacks=1 if "store" in workload else 4)
    names = rng.permutation(16).astype(np.int16)
    graph = scenario.graph
    of = np.append(names, np.int16(-1))  # JOINs between entries belong to no GPU: -1 stays -1
    other = dataclasses.replace(graph, src=of[graph.src], dst=of[graph.dst])
    return simulate(scenario), simulate(dataclasses.replace(scenario, graph=other)), names


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_renumbering_gpus_changes_nothing_that_matters(name: str, seed: int) -> None:
    before, after, names = renumbered(WORKLOADS[name], np.random.default_rng(seed))
    assert after.completion_ps == pytest.approx(before.completion_ps, rel=0.02)
    assert (after.data_bytes, after.wire_bytes, after.frames) == (before.data_bytes, before.wire_bytes, before.frames)
    paths = before.fabric.paths
    sent = before.ports.data_bytes[: 16 * paths].reshape(16, paths).sum(axis=1)
    sent_after = after.ports.data_bytes[: 16 * paths].reshape(16, paths).sum(axis=1)
    np.testing.assert_array_equal(sent_after[names], sent)


@pytest.mark.parametrize("name", ["all-to-all", "skewed MoE", "incast"])
def test_renumbering_planes_changes_nothing_that_matters(name: str) -> None:
    """Addresses choose planes: other addresses deal the same traffic to other planes."""
    scenario = bare(WORKLOADS[name], gpus=16, stacks=4, spray="round_robin")
    before = simulate(scenario)
    graph = dataclasses.replace(scenario.graph, address=scenario.graph.address ^ (0x5A5 << 40))
    after = simulate(dataclasses.replace(scenario, graph=graph))
    assert after.completion_ps == pytest.approx(before.completion_ps, rel=0.02)
    assert (after.data_bytes, after.wire_bytes, after.frames) == (before.data_bytes, before.wire_bytes, before.frames)
