"""How far a run is, and what it takes of the machine: what both fidelities tell."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is; passed to the ``progress`` callback a few times a second.

    ``phase`` is ``compile`` (``cached`` tells whether a stored kernel is loaded) or ``run``.
    """

    phase: str
    cached: bool
    now_ps: int
    events: int
    executed_bytes: int
    total_bytes: int
    wall_s: float


def peak_memory_MB() -> float:
    """Peak resident memory of this process in MB (1e6 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6
