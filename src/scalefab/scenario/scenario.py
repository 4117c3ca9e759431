"""A resolved scenario: everything a driver needs, and where each value came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..fabric.arrays import Fabric
from ..fabric.faultspec import Fault
from ..fabric.spec import FabricSpec
from ..protocol.multipath import Spray
from ..protocol.reliability import ACK_DELAY_PS, ACK_EVERY_FRAMES, SERVICE_FRAMES, WINDOW_FRAMES
from ..workload.graph import OperationGraph
from ..workload.spec import WorkloadSpec
from .fidelity import Fidelity


class Verify(Enum):
    """What is checked during a run."""

    OFF = "off"
    MEMORY = "memory"  #: that every segment is executed exactly once


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is carried out.

    ``pack`` False = one transaction a frame. ``until_ps`` 0 = until done. ``window_frames``, ``ack_every_frames``,
    ``ack_delay_ps`` and ``service_frames`` are RH's (profile section 4).
    """

    seed: int = 1
    fidelity: Fidelity = Fidelity.PACKET
    spray: Spray = Spray.ROUND_ROBIN
    pack: bool = True
    window_frames: int = WINDOW_FRAMES
    ack_every_frames: int = ACK_EVERY_FRAMES
    ack_delay_ps: int = ACK_DELAY_PS
    service_frames: int = SERVICE_FRAMES
    until_ps: int = 0
    verify: Verify = Verify.OFF
    sample_frames: int = 50_000  #: rows of the seeded sample of delivered frames, at most
    capture_frames: int = 4_096  #: first frames of which every hop is recorded


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the value of a setting came from.

    ``kind`` is ``file``, ``set``, ``preset`` or ``default``; ``where`` is ``file:line``, the ``--set`` text, the preset's name
    and source, or the rule that a default follows ("" = a fixed one).
    """

    kind: str
    where: str


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """One run, ready to go.

    ``resolved`` is the whole configuration as plain data with units in text (what the manifest stores); ``origins`` maps
    dotted keys of it to where each value came from. ``text`` is the user's file as read, for reproduction.
    """

    name: str
    path: str
    text: str
    fabric_spec: FabricSpec
    fabric: Fabric
    workload: WorkloadSpec
    graph: OperationGraph
    options: RunOptions
    resolved: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
