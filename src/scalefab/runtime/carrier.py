"""What a carrier is: it moves records between two ports, in order and whole, or not at all. A new one is one file.

A record is what stands on a port's line (open profile section 2, Capture): a control ordered set of 8 B that begins with 0x5C, or
a preamble that begins with 0xFB, the frame and its FCS. A carrier looks at nothing in it.
"""

from __future__ import annotations

from typing import Protocol

RECORD_MAX_BYTES = 8 + 9_216 + 4
"""Preamble, the largest frame with a VLAN tag."""


class Carrier(Protocol):
    """One end of a link."""

    def send(self, record: bytes) -> bool:
        """Send a record; False: there is no room for it now, nothing was sent."""
        ...

    def receive(self) -> bytes | None:
        """Return the next record that has come, None: there is none now."""
        ...

    def close(self) -> None:
        """Let go of what the carrier holds; the other end may go on reading what was sent."""
        ...
