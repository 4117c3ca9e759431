"""Faults as a table in time order, one row each (contracts: FAULT TABLE); the simulator carries them out.

A direction of a link is named by the port that sends on it. Frames are counted from 1 = the first new frame of VC 0 and up that
the port puts on the line from ``at_ps`` on (replays, CC_UPDATEs and ordered sets do not count).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from ..protocol.fec_loss import LineErrors


class FaultKind(IntEnum):
    """What happens; what ``arg`` and ``vc`` mean stands beside it (else they are 0 and -1)."""

    LINK_DOWN = 0  #: both directions carry nothing until LINK_UP
    LINK_UP = 1
    RATE = 2  #: the direction runs at arg bit/s from now on (lane loss)
    LOSE_FRAME = 3  #: the arg-th frame from now on does not arrive, its first time on the line
    CORRUPT_FRAME = 4  #: it arrives with a wrong FCS, its first time
    POISON_FRAME = 5  #: it carries a poisoned FCS, whenever it is sent
    SKIP_SEQUENCE = 6  #: it keeps its number and its copy but is not put on the line the first time
    LOSS_RATE = 7  #: each frame of the direction arrives with a wrong FCS with probability arg / 2^62 (errors that FEC leaves)
    LOSE_SETS = 8  #: each ordered set of the direction is lost with probability arg / 2^62
    DELAY_SETS = 9  #: ACK, NACK and CF_UPDATE of the direction arrive arg ps later
    ACK_PAUSE = 10  #: the port sends no ACK and no NACK
    ACK_FREEZE = 11  #: its ACKs repeat sequence number arg (-1 = the last one told), it sends no NACK
    ACK_RESUME = 12
    CC_STOP = 13  #: the port sends no CC_UPDATE
    CC_RESUME = 14
    DRAIN = 15  #: the port empties its receive buffer of VC ``vc`` (-1 = all) at arg bit/s, 0 = not at all, -1 = at once
    LINE_ERRORS = 16  #: the direction's line errs as ``line`` says from now on, in place of the fabric's ``ber`` and ``burst``
    PORT_DRAIN = 17  #: arg 1: the link is to be taken down, paths leave it (SEN DRAIN); 0: not any more


@dataclass(frozen=True, slots=True)
class Fault:
    """One row; ``port`` as in the fabric arrays (LINK_DOWN, LINK_UP, PORT_DRAIN: either end); ``line`` for LINE_ERRORS."""

    at_ps: int
    port: int
    kind: FaultKind
    arg: int = 0
    vc: int = -1
    line: LineErrors | None = None
