"""The carrier ``shm``: two rings of records in a file of shared memory, between processes of one machine."""

from __future__ import annotations

import mmap
import os
import tempfile
from enum import IntEnum
from pathlib import Path

import numpy as np

from ..errors import InputError, Problem
from .carrier import RECORD_MAX_BYTES
from .ring import HEADER_BYTES, TOO_SHORT, Ring

CAPACITY_BYTES = 1 << 18  # own: a direction holds some 100 full frames
_MAGIC = 0x6C666D6568735F31  # so that a file of something else, or of another layout, is refused
_PAGE_BYTES = 4096  # magic and capacity


class End(IntEnum):
    """Which end of the link this process has: who makes the file is A."""

    A = 0
    B = 1


def shared_folder() -> Path:
    """Where files of shared memory lie: ``/dev/shm`` where there is one, else the folder of temporary files."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


class ShmCarrier:
    """One end of a link over shared memory (`carrier.Carrier`).

    Parameters
    ----------
    path
        The file, in `shared_folder` to be fast.
    end
        A makes the file and removes its name again when it closes; B opens it.
    capacity_bytes
        Of each direction, a power of two; B takes it from the file.

    Raises
    ------
    InputError
        The file is there already (A), is not there, or is no file of this carrier (B).
    """

    def __init__(self, path: Path, end: End, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self.path, self.end = path, end
        memory = _make(path, capacity_bytes) if end is End.A else _open(path)
        half = (len(memory) - _PAGE_BYTES) // 2
        rings = [Ring(memory[_PAGE_BYTES + i * half : _PAGE_BYTES + (i + 1) * half]) for i in range(2)]
        self._out, self._in = rings[end], rings[1 - end]
        self._buffer = np.zeros(RECORD_MAX_BYTES, np.uint8)

    def send(self, record: bytes) -> bool:
        """Send a record; False: the other end has not taken enough of what was sent before."""
        return self._out.push(record)

    def receive(self) -> bytes | None:
        """Return the next record, None: there is none now."""
        size = self._in.pop(self._buffer)
        if size == TOO_SHORT:
            raise RuntimeError(f"{self.path} holds a record that no carrier of this version sends")
        return self._buffer[:size].tobytes() if size >= 0 else None

    def close(self) -> None:
        """Remove the file's name (A); the memory goes when both ends have let go of it."""
        if self.end is End.A:
            self.path.unlink(missing_ok=True)


def _make(path: Path, capacity_bytes: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    try:
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError([Problem(f"cannot be made ({error.strerror})", "a new name", file=str(path))]) from error
    try:
        size = _PAGE_BYTES + 2 * (HEADER_BYTES + capacity_bytes)
        os.ftruncate(number, size)
        memory = np.frombuffer(mmap.mmap(number, size), np.uint8)
    finally:
        os.close(number)
    words = memory[:_PAGE_BYTES].view(np.int64)
    words[1] = capacity_bytes
    words[0] = _MAGIC
    return memory


def _open(path: Path) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    try:
        number = os.open(path, os.O_RDWR)
    except OSError as error:
        raise InputError([Problem(f"cannot be opened ({error.strerror})", "a carrier's end A", file=str(path))]) from error
    try:
        size = os.fstat(number).st_size
        found = size >= _PAGE_BYTES
        memory = np.frombuffer(mmap.mmap(number, size), np.uint8) if found else np.zeros(_PAGE_BYTES, np.uint8)
    finally:
        os.close(number)
    words = memory[:_PAGE_BYTES].view(np.int64)
    if not found or words[0] != _MAGIC or size != _PAGE_BYTES + 2 * (HEADER_BYTES + int(words[1])):
        raise InputError([Problem("is no file of this carrier", "one that end A of this version has made", file=str(path))])
    return memory
