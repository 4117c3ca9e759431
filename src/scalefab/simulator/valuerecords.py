"""Records of values that are followed while memory is verified."""

from __future__ import annotations

import numpy as np

_i4, _i8 = np.int32, np.int64

SIGNAL = np.dtype([("address", _i8), ("value", _i8), ("add", _i4)], align=True)
"""What a put-with-signal writes at the end."""

VALUED = np.dtype(
    [
        ("operation", _i4),  # opcodes.AtomicOp
        ("element", _i4),  # opcodes.ElementType
        ("value", _i8),
        ("compare", _i8),
        ("first", _i8),  # row in ``fetched`` of its first transaction
    ],
    align=True,
)
"""What the transactions of an ATOMIC compute."""

CELL = np.dtype([("address", _i8), ("value", _i8), ("dst", _i4), ("used", _i4)], align=True)
"""The value at an address of an endpoint."""
