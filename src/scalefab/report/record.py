"""A run as plain data: the flat object of ``run --json`` and the manifest of a run folder."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ..scenario.identity import scenario_hash
from ..scenario.paths import dotted
from ..simulator.goodput import find_dips
from ..simulator.memory import Memory
from ..simulator.result import Ending, Fidelity, Result, Stage
from ..simulator.verdict import Verdict
from ..simulator.waits import Wait, Waits

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from .subject import Subject

_PACKAGES = ("numpy", "numba", "pydantic", "plotly")


_OF_FRAMES = ("frames", "ack_frames", "cf_updates", "llr_ack_sets", "frames_per_s", "lost_frames", "lost_time")
"""What only a run of frames can tell; null at flow fidelity."""


def flat_object(name: str, result: Result, verdict: Verdict, package_version: str) -> dict[str, Any]:
    """Return the one object that ``scalefab run --json`` prints: flat, units in the names, ``lost_time`` in percent by stage.

    At flow fidelity what speaks of frames is null, and ``not_to_be_trusted_for`` says what else to leave alone.
    A run that stood still has ``wait_for`` besides: why (`waits_object`); one that was verified ``memory`` (`simulator.memory`);
    one with faults on the way ``goodput_dips``: what goodput did after each (`simulator.goodput`).
    """
    wall_s = result.wall_s
    memory = {} if result.memory is None else {"memory": memory_object(result.memory)}
    dips = [asdict(dip) for dip in find_dips(result)]
    waits = {} if result.waits is None else {"wait_for": waits_object(result.waits)}
    flat: dict[str, Any] = {
        "scalefab": package_version,
        "command": "run",
        "scenario": name,
        "fidelity": result.fidelity.value,
        "status": verdict.outcome.value,
        "completion_ps": int(result.completion_ps),
        "completion_us": round(result.completion_ps / 1e6, 6),
        "bound_us": round(result.bound_ps / 1e6, 6),
        "algbw_GBps": round(verdict.algbw_Bps / 1e9, 6),
        "busbw_GBps": round(verdict.busbw_Bps / 1e9, 6),
        "frames": int(result.frames),
        "ack_frames": int(result.ack_frames),
        "cf_updates": int(result.cf_updates),
        "llr_ack_sets": int(result.ports.llr_acks.sum()),
        "llr_replayed_frames": int(result.ports.replayed_frames.sum()),
        "rh_replays": int(result.rh_replays),
        "rh_nacks": int(result.rh_nacks),
        "rh_path_errors": int(result.rh_path_errors),
        "data_bytes": int(result.data_bytes),
        "wire_bytes": int(result.wire_bytes),
        "payload_efficiency": round(result.payload_efficiency, 6),
        "events": int(result.events),
        "wall_s": round(wall_s, 6),
        "compile_s": round(result.compile_s, 6),
        "frames_per_s": round(result.frames / wall_s, 1) if wall_s > 0 else 0.0,
        "peak_MB": round(result.peak_MB, 1),
        "lost_frames": int(result.lost_frames),
        "failed_operations": result.count_endings(Ending.TIMEOUT),
        "unstarted_operations": result.count_endings(Ending.NOT_STARTED),
        "lost_time": {stage.name.lower(): round(100 * verdict.stages[stage], 6) for stage in Stage},
        **memory,
        **({"goodput_dips": dips} if dips else {}),
        **waits,
    }
    if result.fidelity is Fidelity.FLOW:
        flat |= dict.fromkeys(_OF_FRAMES) | {"not_to_be_trusted_for": flow_limits(result)}
    return flat


def memory_object(memory: Memory) -> dict[str, Any]:
    """Return what the verification of memory found as plain data; of values their number and digest."""
    return {name: value for name, value in asdict(replace(memory, cells=None)).items() if name != "cells"}


def flow_limits(result: Result) -> list[str]:
    """Return what a result of flows must not be trusted for, one line each; none for one of frames."""
    mark = f"{result.fidelity.value} fidelity: "
    return [note.removeprefix(mark) for note in result.notes if note.startswith(mark)]


def waits_object(waits: Waits) -> dict[str, Any]:
    """Return a wait-for graph as plain data: ``edges``, ``cycle`` and ``roots``; numbers are -1 where there is none."""
    return {
        "edges": [_edge_object(edge) for edge in waits.edges],
        "edges_left_out": waits.left_out,
        "cycle": [_edge_object(edge) for edge in waits.cycle],
        "roots": [asdict(root) for root in waits.roots],
    }


def _edge_object(edge: Wait) -> dict[str, Any]:
    return {**asdict(edge), "reason": edge.reason.value}


def make_manifest(
    scenario: Scenario, result: Result, verdict: Verdict, *, argv: Sequence[str], started_utc: str, package_version: str
) -> dict[str, Any]:
    """Return what is needed to run it again and to trust it.

    Parameters
    ----------
    argv
        The command line, program first.
    started_utc
        ISO 8601.
    """
    return {
        "scalefab": package_version,
        "versions": {"python": platform.python_version(), "platform": platform.platform(), **_versions()},
        "command_line": shlex.join(argv),
        "started_utc": started_utc,
        "scenario": scenario.name,
        "scenario_file": scenario.path,
        "hash": f"sha256:{scenario_hash(scenario)}",
        "seed": int(result.seed),
        "fidelity": result.fidelity.value,
        "status": verdict.outcome.value,
        "exit_code": int(verdict.exit_code),
        "wall_s": round(result.wall_s, 6),
        "compile_s": round(result.compile_s, 6),
        "failures": list(verdict.failures),
        "warnings": list(dict.fromkeys((*scenario.warnings, *verdict.warnings))),
        "scenario_warnings": list(scenario.warnings),
        "configuration": scenario.resolved,
        "origins": {key: {"kind": origin.kind, "where": origin.where} for key, origin in scenario.origins.items()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found


def flat_configuration(scenario: Subject) -> list[tuple[str, str]]:
    """Return (dotted key, value as text) of every setting of the resolved configuration, in its order."""
    from ..scenario.resolved import leaves  # pydantic: only where a scenario was read anyway

    return [(dotted(path), _leaf_text(value)) for path, value in leaves(scenario.resolved)]


def _leaf_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(_leaf_text(item) for item in value) or "none"
    return json.dumps(value)
