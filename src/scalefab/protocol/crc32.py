"""CRC-32 of IEEE 802.3 in compiled code, for drivers that check frames without leaving it; the same numbers as ``zlib.crc32``.

Sixteen bytes a step, a table look-up for each (slicing by 16): 2.8 GB/s on one EPYC core, where a byte a step makes 0.4. ICRC and
FCS cover what `icrc` says; there is one definition of each, and tests hold the two against each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .layout import ICRC_MASK

_POLYNOMIAL = 0xEDB88320  # 0x04C11DB7, bits turned round
_M32 = 0xFFFFFFFF
_SLICES = 16
_FIRST_MASKED = ICRC_MASK[0][0]
_AFTER_MASKED = ICRC_MASK[-1][0] + 1


def _tables() -> Any:
    """Return the change of the CRC by a byte that 0 .. 15 others follow; shape (16, 256)."""
    tables = np.zeros((_SLICES, 256), np.int64)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        tables[0, byte] = crc
    for i in range(1, _SLICES):
        tables[i] = tables[i - 1] >> 8 ^ tables[0][tables[i - 1] & 0xFF]
    return tables


TABLES = _tables()
TABLES.setflags(write=False)
MASK = np.array([bits for _, bits in ICRC_MASK], np.int64)
MASK.setflags(write=False)


@compiled
def crc_bytes(data: Any, begin: int, end: int, crc: int) -> int:
    """Continue a CRC over ``data[begin:end]``; ``crc`` is what zlib's would be of what came before, 0 of nothing."""
    crc = crc ^ _M32
    i = begin
    while i + _SLICES <= end:
        found = 0
        for j in range(_SLICES):
            byte = int(data[i + j])
            if j < 4:
                byte = byte ^ ((crc >> (8 * j)) & 0xFF)
            found = found ^ TABLES[_SLICES - 1 - j, byte]
        crc = found
        i += _SLICES
    while i < end:
        crc = (crc >> 8) ^ TABLES[0, (crc ^ int(data[i])) & 0xFF]
        i += 1
    return crc ^ _M32


@compiled
def icrc_bytes(frame: Any, begin: int, end: int) -> int:
    """Return the ICRC of an untagged frame that begins at ``begin`` and whose last body pad ends before ``end``."""
    crc = crc_bytes(frame, begin, begin + _FIRST_MASKED, 0) ^ _M32
    for i in range(_AFTER_MASKED - _FIRST_MASKED):
        byte = int(frame[begin + _FIRST_MASKED + i]) | MASK[i]
        crc = (crc >> 8) ^ TABLES[0, (crc ^ byte) & 0xFF]
    return crc_bytes(frame, begin + _AFTER_MASKED, end, crc ^ _M32)
