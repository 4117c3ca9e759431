"""Run folders, and a trace by hand, for tests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scenarios import make_scenario

from scalefab.report.record import flat_object, make_manifest
from scalefab.report.runfolder import Extras, reserve_folder, write_run
from scalefab.simulator.result import Result
from scalefab.simulator.trace import HOP, SAMPLE, TRACED, TRACED_RUN, UPDATE, Trace
from scalefab.simulator.verdict import judge

NOW = datetime(2026, 11, 30, 21, 5, 9, tzinfo=UTC)


def keep(folder: Path, result: Result, name: str = "example", extras: Extras | None = None, **changes: Any) -> Path:
    """Write the folder of a run; ``changes`` go into its configuration."""
    scenario, verdict = make_scenario(result, name), judge(result)
    scenario.resolved.update(changes)
    flat = flat_object(name, result, verdict, "0.1.0")
    manifest = make_manifest(
        scenario,
        result,
        verdict,
        argv=["scalefab", "run", "a b.yaml"],
        started_utc="2026-11-30T21:05:09+00:00",
        package_version="0.1.0",
    )
    where = reserve_folder(folder, name, NOW)
    return write_run(where, scenario, result, verdict, flat, manifest, *(() if extras is None else (extras,)))


def rows(dtype: np.dtype[Any], *values: dict[str, int]) -> Any:
    """Rows of a structured array; fields not given are 0."""
    found = np.zeros(len(values), dtype)
    for row, given in zip(found, values, strict=True):
        for field, value in given.items():
            row[field] = value
    return found


def make_trace(result: Result) -> Trace:
    """Two data frames of operations 0 and 1 and an ACK, each over two hops, and a CF_UPDATE."""
    fabric = result.fabric
    hops = []
    frames = []
    for i, (src, dst, kind) in enumerate(((0, 1, 0), (0, 2, 0), (1, 0, 1))):
        size, vc = (64, 3) if kind else (2040, 2)
        frames.append(
            {"id": i, "kind": kind, "src": src, "dst": dst, "vc": vc, "psn": i, "ack": kind, "ack_psn": 0, "ack_vc": 2 * kind}
            | {"size_bytes": size, "payload_bytes": 0 if kind else 1984, "run_first": i, "run_count": 1 - kind}
        )
        start = 50_000 + 30_000 * i
        out = int(fabric.node_first_port[src])
        back = int(fabric.port_peer[fabric.node_first_port[dst]])
        taken = (size + 8) * 10
        hops.append({"frame": i, "port": out, "start_ps": start, "end_ps": start + taken, "credits": 32, "held_bytes": 2048})
        hops.append({"frame": i, "port": back, "start_ps": start + 400_000, "end_ps": start + 400_000 + taken, "credits": 1})
    runs = [{"op": 0, "first": 0, "count": 1}, {"op": 1, "first": 3, "count": 2}]
    sample = [{"op": 1, "src": 0, "dst": 2, "vc": 2, "size_bytes": 2040, "start_ps": 80_000, "executed_ps": 900_000}]
    return Trace(
        sample_of=3,
        sample=rows(SAMPLE, *sample),
        frames=rows(TRACED, *frames),
        runs=rows(TRACED_RUN, *runs),
        hops=rows(HOP, *hops),
        updates=rows(UPDATE, {"port": int(fabric.port_peer[0]), "t_ps": 500_000, "vc0": 2, "c0": 32, "vc1": 2, "c1": 32}),
    )
