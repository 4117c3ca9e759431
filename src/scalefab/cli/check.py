"""``scalefab check``: read and validate, nothing more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ExitCode, InputError
from ..fabric.tiers import plane_shape, planes_text
from ..units import format_rate, format_size
from .output import say, warn

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from ..simulator.estimate import Estimate


def check_scenario(file: Path, overrides: Sequence[str], *, json_wanted: bool) -> ExitCode:
    """Validate a scenario and say what it is.

    Raises
    ------
    InputError
        With every fault; with ``json_wanted`` they have been printed as one object too.
    """
    from ..scenario import read_scenario

    try:
        scenario = read_scenario(file, overrides)
    except InputError as error:
        if json_wanted:
            say(json.dumps(_answer(file.stem, error.code.lower(), problems=[asdict(problem) for problem in error.problems])))
        raise
    for text in scenario.warnings:
        warn(text)
    from ..simulator.estimate import estimate

    cost = estimate(scenario)
    say(json.dumps(_facts(scenario, cost)) if json_wanted else f"{_words(file, scenario)}\n{cost_words(cost)}")
    return ExitCode.OK


def _answer(name: str, status: str, **more: Any) -> dict[str, Any]:
    return {"scalefab": __version__, "command": "check", "scenario": name, "status": status, **more}


def cost_words(cost: Estimate) -> str:
    """Return what a run will cost, in one line."""
    from ..simulator.estimate import Basis

    basis = {
        Basis.PILOT: "measured at its beginning",
        Basis.STORED: "at the speed last measured here",
        Basis.REFERENCE: "at the speed of the machine of the benchmarks",
    }[cost.basis]
    told = f"{cost.frames:,} data frames, {cost.ack_frames:,} ACK frames, " if cost.frames else ""
    time = f"{cost.seconds:.2g} s" if cost.seconds >= 0.1 else "less than 0.1 s"
    return f"a run takes about: {told}{cost.events:,} events, {time} of one core ({basis}), {cost.memory_MB:.0f} MB"


def _facts(scenario: Scenario, cost: Estimate) -> dict[str, Any]:
    spec = scenario.fabric_spec
    shape = plane_shape(spec)
    return _answer(
        scenario.name,
        "ok",
        gpus=spec.endpoints.count,
        planes=spec.switches.planes,
        tiers=2 if shape.spines else 1,
        leaves_a_plane=shape.leaves,
        spines_a_plane=shape.spines,
        uplinks_a_leaf=shape.uplinks,
        oversubscription=round(float(shape.oversubscription), 4) if shape.spines else None,
        ports_a_gpu=spec.endpoints.ports,
        port_rate_bps=spec.endpoints.port_rate_bps,
        operations=len(scenario.graph),
        data_bytes=int(scenario.graph.bytes.sum()),
        fault_rows=len(scenario.faults),
        estimate={
            "fidelity": scenario.options.fidelity.value,
            "frames": cost.frames,
            "ack_frames": cost.ack_frames,
            "events": cost.events,
            "seconds": round(cost.seconds, 4),
            "memory_MB": round(cost.memory_MB, 1),
            "basis": cost.basis.value,
        },
        warnings=list(scenario.warnings),
        problems=[],
    )


def _words(file: Path, scenario: Scenario) -> str:
    spec, graph = scenario.fabric_spec, scenario.graph
    ports = f"{spec.endpoints.ports} x {format_rate(spec.endpoints.port_rate_bps)}"
    switches = f"{planes_text(spec)}, {spec.switches.radix} ports a {'leaf' if spec.switches.spine else 'switch'}"
    work = f"{_count(len(graph), 'operation')} in {_count(len(graph.groups), 'group')}"
    size = format_size(int(graph.bytes.sum()))
    faults = f"; {_count(len(scenario.faults), 'change')} of links by faults" if scenario.faults else ""
    return f"{file}: valid: {spec.endpoints.count} GPUs with {ports}, {switches}; {work}, {size} of data{faults}"


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
