"""Memory windows: who may touch what (open profile section 1, Permissions).

A window has partition, base, bounds and rights; each transaction is checked before it touches memory. Order of the checks
(`own`): alignment of the request, which needs no window; the window's partition; bounds; rights. So a foreign tenant learns
neither where a window lies nor what it allows. A context id without a window is status ADDRESS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag

from .layout import ADDRESS_BITS
from .opcodes import Status


class Rights(IntFlag):
    """What a window allows. REDUCE and a signal's add need ATOMIC, a signal's set WRITE (`own`)."""

    NONE = 0
    READ = 1
    WRITE = 2
    ATOMIC = 4
    ALL = 7


@dataclass(frozen=True, slots=True)
class Window:
    """Bytes ``base`` .. ``base + size_bytes - 1`` of the target's addresses, for one partition.

    Raises
    ------
    ValueError
        It is empty or reaches beyond 57 bits.
    """

    partition: int
    base: int
    size_bytes: int
    rights: Rights

    def __post_init__(self) -> None:
        if self.base < 0 or self.size_bytes < 1 or self.base + self.size_bytes > 1 << ADDRESS_BITS:
            raise ValueError(f"{self.size_bytes} bytes at {self.base:#x} are no window")


def permission(
    windows: Mapping[int, Window], context: int, partition: int, address: int, size_bytes: int, rights: Rights
) -> Status:
    """Return OK, or why bytes ``address`` .. of a window may not be touched.

    Parameters
    ----------
    windows
        By context id.
    context, partition
        Of the request: the window it names, and RH.partition of its frame.
    address, size_bytes
        Target addresses.
    rights
        All that are needed.
    """
    window = windows.get(context)
    if window is None:
        return Status.ADDRESS
    if window.partition != partition:
        return Status.PARTITION
    if address < window.base or address + size_bytes > window.base + window.size_bytes:
        return Status.ADDRESS
    return Status.OK if rights & window.rights == rights else Status.PERMISSION
