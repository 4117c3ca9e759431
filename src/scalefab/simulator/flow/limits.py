"""Where a flow result must not be trusted, told with it: what this fidelity leaves out, what in this run it concerns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError, Problem
from ...fabric.arrays import Fabric
from ...protocol.operations import Kind
from ...scenario.fidelity import FLOW_LEAVES_OUT
from ...scenario.scenario import Scenario
from ...units import format_time
from ...workload.graph import OperationGraph

_INCAST = 4  # own: from so many operations into one GPU on, a frame waits for several others
_SHORT = 0.05  # own: from such a share of short operations on it is worth a line
_FEW = 4  # own: symmetric traffic shares out at its begin and its end; a grain then changes nothing
_COARSE = 0.002  # own: a grain of so much of the run is worth a line


def refuse(scenario: Scenario) -> None:
    """Refuse what flows cannot stand for.

    Raises
    ------
    InputError
        The scenario has faults.
    """
    if scenario.faults:
        text = f"{len(scenario.faults)} changes of links by 'faults' need frames, and flow fidelity has none"
        raise InputError([Problem(text, "run.fidelity packet, or no faults", file=scenario.path, key="faults")])


def notes(scenario: Scenario, state: Any) -> tuple[str, ...]:
    """Return one line a limit that concerns this run; the first is the same for all."""
    graph, fabric = scenario.graph, scenario.fabric
    found = [FLOW_LEAVES_OUT]
    k, op = state.kernel[0], state.op
    if scenario.fabric_spec.ber > 0:
        found.append("flow fidelity: 'ber' is left out, as if no frame were ever lost")
    short = _short_operations(op)
    if short > _SHORT:
        found.append(f"flow fidelity: {100 * short:.0f} % of the operations spend more time on their way than on the line")
    if bool((graph.kind == Kind.FENCE).any()):
        found.append("flow fidelity: a FENCE takes a round trip; what it waits for is left out")
    incast = _incast(graph, fabric)
    if incast:
        found.append(incast)
    if k.coarsest_ps > _COARSE * k.horizon_ps and k.fills > _FEW:
        found.append(
            f"flow fidelity: rates were shared out anew only every {format_time(int(k.coarsest_ps))}, or a run of this size "
            "would take as long as with frames"
        )
    return tuple(found)


def _short_operations(op: Any) -> float:
    network = op[op.alone == 0]
    if not len(network):
        return 0.0
    alone = np.maximum(network.executed_ps - network.first_ps - network.tail_ps, 0)
    return float(np.count_nonzero(alone < network.tail_ps)) / len(network)


def _incast(graph: OperationGraph, fabric: Fabric) -> str:
    """Return a line when some GPU is the target of many more operations than most of those that take part."""
    network = graph.moving
    into = np.bincount(graph.dst[network], minlength=fabric.endpoints)
    out = np.bincount(graph.src[network], minlength=fabric.endpoints)
    part = into[(into > 0) | (out > 0)]
    if not len(part) or int(part.max()) < max(_INCAST, 2 * float(np.median(part))):
        return ""
    return (
        f"flow fidelity: {int(part.max())} operations go to GPU {int(into.argmax())} alone: the time of all of them holds, "
        "the latency of one does not"
    )
