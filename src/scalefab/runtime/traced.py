"""A carrier that keeps a capture of what passes, in front of any other: pcapng with an interface each way (profile section 2)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO

from ..capture.pcapng import Interface, LinkType, Writer
from .carrier import Carrier

_OUT, _IN = 0, 1
_PS_A_NS = 1_000


class TracedCarrier:
    """One end of a link whose records are written to a capture when they are sent and when they are taken.

    Parameters
    ----------
    inner
        The carrier that moves them.
    stream
        Where the capture goes; the caller closes it.
    name
        Of the port: its interfaces are ``NAME.phy`` and ``NAME.phy.in``.
    now_ns
        A clock that does not go backwards.
    """

    def __init__(self, inner: Carrier, stream: IO[bytes], name: str, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._inner, self._now_ns = inner, now_ns
        interfaces = [Interface(f"{name}.phy", LinkType.USER0), Interface(f"{name}.phy.in", LinkType.USER0)]
        self._writer = Writer(stream, interfaces, application="scalefab")
        self._last_ns = 0

    def send(self, record: bytes) -> bool:
        """Send a record; it is written if there was room."""
        if not self._inner.send(record):
            return False
        self._write(_OUT, record)
        return True

    def receive(self) -> bytes | None:
        """Return the next record."""
        record = self._inner.receive()
        if record is not None:
            self._write(_IN, record)
        return record

    def close(self) -> None:
        """Close the inner carrier."""
        self._inner.close()

    def _write(self, way: int, record: bytes) -> None:
        self._last_ns = max(self._now_ns(), self._last_ns)
        self._writer.packet(way, self._last_ns * _PS_A_NS, record)
