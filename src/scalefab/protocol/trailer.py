"""Whether captured bytes end with an FCS, and what it says: shared by everything that takes captures apart."""

from __future__ import annotations

from enum import StrEnum

from .icrc import FcsState, fcs_state
from .layout import FCS
from .profile import FRAME_MIN_BYTES


class FcsMode(StrEnum):
    """What is known beforehand."""

    FIND = "find"  #: nothing: ask the bytes
    PRESENT = "present"
    ABSENT = "absent"


def find_fcs(data: bytes, mode: FcsMode, expected_bytes: int | None) -> tuple[FcsState | None, int]:
    """Judge the FCS at the end of a whole frame.

    Parameters
    ----------
    data
        The frame.
    mode
        What is known beforehand.
    expected_bytes
        Bytes before FCS as the frame itself says; None if it does not.

    Returns
    -------
    tuple
        The state, None if there is no FCS; and the bytes before it.
    """
    size = len(data)
    if mode is FcsMode.ABSENT or size <= FCS.size_bytes:
        return None, size
    state = fcs_state(data)
    if state is FcsState.BAD and mode is FcsMode.FIND and (size < FRAME_MIN_BYTES or size == expected_bytes):
        return None, size
    return state, size - FCS.size_bytes
