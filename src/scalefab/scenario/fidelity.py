"""How closely a run looks: every frame, or flows of fluid."""

from __future__ import annotations

from enum import StrEnum


class Fidelity(StrEnum):
    """What a run simulates; the values stand in scenario files, in ``--json`` and in stored results."""

    PACKET = "packet"  #: every frame, ACK and credit
    FLOW = "flow"  #: max-min fair rates of operations (`simulator.flow`); no frame, no queue, no loss


FLOW_LEAVES_OUT = (
    "flow fidelity: max-min fair rates, no frames; not to be trusted for queueing latency (incast), loss and replay, "
    "credits and windows, or operations that are shorter than the way they go"
)
"""Stands with every result of flows; `simulator.flow.limits` adds what concerns the run."""
