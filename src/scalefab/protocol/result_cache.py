"""The second wall behind path change: results that a target keeps, and requests asked once more (open profile section 4).

======================================================= =======================================================================
event                                                   action
======================================================= =======================================================================
ATOMIC executed, SEND* message delivered                its result is kept: slot tag mod 64 of its source
any other message with a serial tag (RDMA_WRITE*)       the slot is emptied
ATOMIC, SEND* with again = 1                            looked up: a hit is answered, not executed
again = 0                                               not looked up
acked LOAD, ATOMIC, SEND*, RDMA_READ, FENCE, PROBE      asked once more with again = 1; after 2 ms more: status 6
without its response for 2 ms
======================================================= =======================================================================

Serial tags count modulo 2^15, and a source takes none 64 or more ahead of its oldest open one (`tags`). So a slot is taken by
the next tag only when its own is closed: no result is forgotten early. And each serial tag touches its slot, so that a result
from one turn of 2^15 tags ago is never met: none hits falsely (`own`, docs/decisions/0014). ``tags[source]`` holds 64 times a
whole tag + 1, 0 = empty; what belongs to a slot is the driver's.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..compiled import compiled
from .profile import RESPONSE_PS as RESPONSE_PS

RESULTS_MAX = 64


class ResponseTimer(IntEnum):
    """What waiting for a response comes to."""

    NOT_YET = 0
    ASK_AGAIN = 1
    TIMED_OUT = 2  #: status 6


NOT_YET, ASK_AGAIN, TIMED_OUT = range(3)


@compiled
def slot_of(tag: int) -> int:
    """Return the slot that a serial tag has."""
    return tag & (RESULTS_MAX - 1)


@compiled
def lookup(tags: Any, source: int, tag: int) -> int:
    """Return the slot with the result of (source, tag), -1 = none is kept."""
    slot = slot_of(tag)
    return slot if tags[source, slot] == tag + 1 else -1


@compiled
def keep(tags: Any, source: int, tag: int) -> int:
    """Keep a result: return its slot."""
    slot = slot_of(tag)
    tags[source, slot] = tag + 1
    return slot


@compiled
def pass_by(tags: Any, source: int, tag: int) -> None:
    """Empty the slot of a message that leaves no result."""
    tags[source, slot_of(tag)] = 0


@compiled
def on_response_timer(asked_again: bool, acked_ps: int, now_ps: int) -> int:
    """Say what to do with a request that is acked but has no response; ``acked_ps`` is of its last asking: `ResponseTimer`."""
    if now_ps - acked_ps < RESPONSE_PS:
        return NOT_YET
    return TIMED_OUT if asked_again else ASK_AGAIN
