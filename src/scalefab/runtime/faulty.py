"""A carrier that errs on purpose, in front of any other: losses, corrupt bits, duplicates, records out of order or late.

What happens to the n-th record that is sent depends on the seed and n only, not on time, so that a run can be repeated; how long
a late record stays away is real time, and so is how long one that is to come behind the next waits for a next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from .carrier import Carrier

_BLOCK = 256  # records whose fate is drawn at once


@dataclass(frozen=True, slots=True)
class Faults:
    """Probabilities, each 0 .. 1, that a sent record

    Attributes
    ----------
    loss
        does not arrive.
    corruption
        arrives with one bit turned over.
    duplication
        arrives twice.
    reordering
        arrives behind the next one, or ``late_ns`` later when none follows till then.
    lateness
        arrives ``late_ns`` later, behind those that are sent meanwhile.
    """

    loss: float = 0.0
    corruption: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    lateness: float = 0.0
    late_ns: int = 100_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "late_ns":
                if value < 0:
                    raise ValueError(f"late_ns is {value}, expected 0 or more")
            elif not 0.0 <= value <= 1.0:
                raise ValueError(f"{field.name} is {value}, expected 0 .. 1")


@dataclass(slots=True)
class Counts:
    """What was done to records."""

    sent: int = 0
    lost: int = 0
    corrupted: int = 0
    duplicated: int = 0
    reordered: int = 0
    late: int = 0
    dropped: int = 0  #: there was no room for them when the carrier was closed


class FaultyCarrier:
    """One end of a link whose outgoing records meet faults (`carrier.Carrier`).

    Parameters
    ----------
    inner
        The carrier that moves what is left.
    faults
        How often.
    seed
        Of the draws.
    now_ns
        A clock; for tests.
    """

    def __init__(self, inner: Carrier, faults: Faults, seed: int, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._inner, self._faults, self._now_ns = inner, faults, now_ns
        self._rng = np.random.default_rng([seed, 0xFA])
        self._draws = np.zeros((0, 6))
        self._next = 0
        self._behind: tuple[int, bytes] | None = None  # waits for the next one, until then
        self._ready: list[bytes] = []  # goes as soon as there is room
        self._late: list[tuple[int, bytes]] = []
        self.counts = Counts()

    def send(self, record: bytes) -> bool:
        """Send a record, whatever becomes of it; False: there is no room, and nothing was drawn for it."""
        if not self._flush():
            return False
        fate = self._draw()
        faults, counts = self._faults, self.counts
        counts.sent += 1
        if fate[0] < faults.loss:
            counts.lost += 1
            return True
        if fate[1] < faults.corruption:
            counts.corrupted += 1
            record = _turned(record, float(fate[5]))
        copies = [record]
        if fate[2] < faults.duplication:
            counts.duplicated += 1
            copies.append(record)
        if fate[4] < faults.lateness:
            counts.late += 1
            self._late += [(self._now_ns() + faults.late_ns, one) for one in copies]
            return True
        if fate[3] < faults.reordering and self._behind is None:
            counts.reordered += 1
            self._behind = self._now_ns() + faults.late_ns, copies.pop()
        elif self._behind is not None:
            copies.append(self._behind[1])
            self._behind = None
        self._ready += copies
        self._flush()
        return True

    def receive(self) -> bytes | None:
        """Return the next record; what waits here goes out too, if it may."""
        self._flush()
        return self._inner.receive()

    def close(self) -> None:
        """Send what is left, count what finds no room, and close the inner carrier."""
        self._ready += [record for _, record in self._late] + ([self._behind[1]] if self._behind is not None else [])
        self._late, self._behind = [], None
        self._flush()
        self.counts.dropped += len(self._ready)
        self._inner.close()

    def _draw(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if self._next == len(self._draws):
            self._draws, self._next = self._rng.random((_BLOCK, 6)), 0
        self._next += 1
        drawn: np.ndarray[tuple[int], np.dtype[np.float64]] = self._draws[self._next - 1]
        return drawn

    def _flush(self) -> bool:
        """Send what may go; False: some of it found no room."""
        if self._late:
            now_ns = self._now_ns()
            self._ready += [record for due_ns, record in self._late if due_ns <= now_ns]
            self._late = [(due_ns, record) for due_ns, record in self._late if due_ns > now_ns]
        if self._behind is not None and self._behind[0] <= self._now_ns():
            self._ready.append(self._behind[1])
            self._behind = None
        while self._ready and self._inner.send(self._ready[0]):
            self._ready.pop(0)
        return not self._ready


def _turned(record: bytes, where: float) -> bytes:
    """Return a record with one bit turned over."""
    bit = int(where * 8 * len(record))
    changed = bytearray(record)
    changed[bit >> 3] ^= 0x80 >> (bit & 7)
    return bytes(changed)
