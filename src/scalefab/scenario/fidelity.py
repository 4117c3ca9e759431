"""How closely a run looks: every frame, or flows of fluid."""

from __future__ import annotations

from enum import StrEnum


class Fidelity(StrEnum):
    """What a run simulates; the values stand in scenario files, in ``--json`` and in stored results."""

    PACKET = "packet"  #: every frame, ACK and credit
    FLOW = "flow"  #: max-min fair rates of operations (`simulator.flow`); no frame, no queue, no loss
