"""What is recorded of single frames agrees with the totals of the run."""

from __future__ import annotations

import numpy as np
from simulated import bare, run_bare

from scalefab.protocol import operations as ops
from scalefab.simulator.run import simulate


def test_a_small_run_is_recorded_whole() -> None:
    result = run_bare("all_to_all: {bytes_per_pair: 20000B, posted: false}", gpus=4, stacks=2)
    trace = result.trace
    assert trace is not None and trace.sample_of == 1
    assert len(trace.sample) == result.frames
    assert len(trace.frames) == result.frames + result.ack_frames
    assert len(trace.hops) == 2 * len(trace.frames)  # endpoint -> switch -> endpoint
    assert len(trace.updates) == result.cf_updates
    np.testing.assert_array_equal(trace.frames["id"], np.arange(len(trace.frames)))
    sample = trace.sample
    assert int((sample["executed_ps"] - sample["ready_ps"]).sum()) == result.frame_ps
    assert int(sample["payload_bytes"].sum()) == result.data_bytes


def test_hops_keep_order_lines_and_credits() -> None:
    result = run_bare("incast: {bytes: 64KiB, dst: 0}", gpus=8)
    trace, fabric = result.trace, result.fabric
    assert trace is not None
    hops = trace.hops
    size = trace.frames["size_bytes"][hops["frame"]]
    np.testing.assert_array_equal(hops["end_ps"] - hops["start_ps"], (size + 8) * 10)
    for port in np.unique(hops["port"]):
        mine = hops[hops["port"] == port]
        assert (mine["start_ps"][1:] - mine["end_ps"][:-1] >= 12 * 10).all()  # the gap
    for frame in range(len(trace.frames)):
        way = hops[hops["frame"] == frame]
        assert fabric.port_node[way["port"][0]] == trace.frames["src"][frame]
        assert (np.diff(way["start_ps"]) >= 50_000 + 200_000).all()
    limit = fabric.port_buffer_bytes[fabric.port_peer[hops["port"]], 0]
    assert (hops["held_bytes"] <= limit).all()


def test_runs_name_every_transaction_once() -> None:
    result = run_bare("point_to_point: {operation: store, bytes: 6400B, transaction: 64B, repeat: 2, posted: true}", gpus=2)
    trace = result.trace
    assert trace is not None
    seen = sorted((int(r["op"]), int(r["first"]) + i) for r in trace.runs for i in range(int(r["count"])))
    stores = np.flatnonzero(result.graph.kind == ops.STORE)
    assert seen == [(int(op), i) for op in stores for i in range(100)]


def test_the_sample_has_about_the_wanted_rows_and_the_seed_chooses_them() -> None:
    import dataclasses

    scenario = bare("all_to_all: {bytes_per_pair: 256KiB}", gpus=8)
    options = dataclasses.replace(scenario.options, sample_frames=1_000, capture_frames=0)
    rows = {}
    for seed in (1, 2):
        result = simulate(dataclasses.replace(scenario, options=dataclasses.replace(options, seed=seed)))
        assert result.trace is not None
        assert 300 <= len(result.trace.sample) <= 1_000
        assert len(result.trace.frames) == len(result.trace.hops) == len(result.trace.updates) == 0
        rows[seed] = set(map(tuple, result.trace.sample[["op", "psn"]].tolist()))
    assert rows[1] != rows[2]
