"""Bytes of a target, its windows, and the transactions that touch no message: LOAD, STORE*, REDUCE, ATOMIC."""

from __future__ import annotations

from collections.abc import Mapping

from .atomics import combine, reduce_into
from .frame import Transaction
from .opcodes import OPCODES, Status, is_aligned
from .profile import Opcode
from .windows import Rights, Window, permission

RIGHTS = {
    Opcode.LOAD: Rights.READ,
    Opcode.STORE: Rights.WRITE,
    Opcode.STORE_MASKED: Rights.WRITE,
    Opcode.REDUCE: Rights.ATOMIC,
    Opcode.ATOMIC: Rights.ATOMIC,
}
"""What a transaction needs of its window."""


class Memory:
    """Addresses ``origin`` .. ``origin + len(data) - 1``, and windows on them.

    Parameters
    ----------
    data
        The bytes; changed by what is executed.
    windows
        By context id.
    origin
        Target address of the first byte.

    Raises
    ------
    ValueError
        A window reaches beyond the bytes.
    """

    def __init__(self, data: bytearray, windows: Mapping[int, Window], origin: int = 0) -> None:
        self.data = data
        self.windows = dict(windows)
        self.origin = origin
        for context, window in self.windows.items():
            if not self.contains(window.base, window.size_bytes):
                raise ValueError(f"window {context} reaches beyond the {len(data)} bytes at {origin:#x}")

    def permit(self, context: int, partition: int, address: int, size_bytes: int, rights: Rights) -> Status:
        """Judge an access; see `windows.permission`."""
        return permission(self.windows, context, partition, address, size_bytes, rights)

    def admit(self, context: int, partition: int, rights: Rights) -> Status:
        """Judge whether a request may use a window at all, before it is known where."""
        window = self.windows.get(context)
        return Status.ADDRESS if window is None else self.permit(context, partition, window.base, 0, rights)

    def contains(self, address: int, size_bytes: int) -> bool:
        """Whether these addresses are bytes of the target."""
        return self.origin <= address and address + size_bytes <= self.origin + len(self.data)

    def read(self, address: int, size_bytes: int) -> bytes:
        """Return bytes that a window permits."""
        start = address - self.origin
        return bytes(self.data[start : start + size_bytes])

    def write(self, address: int, data: bytes) -> None:
        """Write bytes that a window permits."""
        start = address - self.origin
        self.data[start : start + len(data)] = data

    def touch(self, one: Transaction, partition: int) -> tuple[Status, bytes]:
        """Execute LOAD, STORE, STORE_MASKED, REDUCE or ATOMIC.

        Returns
        -------
        tuple
            Status, and the bytes of the answer (of LOAD and ATOMIC, if OK). No byte is written unless the status is OK.
        """
        th = one.th
        if not is_aligned(OPCODES[th.opcode], th.length, th.kind, th.address):
            return Status.ALIGNMENT, b""
        status = self.permit(th.context, partition, th.address, th.length, RIGHTS[Opcode(th.opcode)])
        if status is not Status.OK:
            return status, b""
        if th.opcode == Opcode.STORE:
            self.write(th.address, one.parts[0])
            return Status.OK, b""
        old = self.read(th.address, th.length)
        if th.opcode == Opcode.STORE_MASKED:
            self.write(th.address, merged(old, *one.parts))
        elif th.opcode == Opcode.REDUCE:
            self.write(th.address, reduce_into(th.kind >> 4, th.kind & 15, old, one.parts[0]))
        elif th.opcode == Opcode.ATOMIC:
            self.write(th.address, combine(th.kind >> 4, th.kind & 15, old, *one.parts))
            return Status.OK, old
        return Status.OK, old if th.opcode == Opcode.LOAD else b""


def merged(old: bytes, mask: bytes, data: bytes) -> bytes:
    """Return ``old`` with the bytes i of ``data`` for which mask bit i (0 = most significant of its byte i / 8) is 1."""
    return bytes(new if mask[i >> 3] & 0x80 >> (i & 7) else was for i, (was, new) in enumerate(zip(old, data, strict=True)))
