"""Frames of a run, one by one: a seeded sample of all delivered data frames, and every hop of the first frames. No Numba here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_i4, _i8 = np.int32, np.int64

SAMPLE = np.dtype(
    [
        ("op", _i4),
        ("src", _i4),
        ("dst", _i4),
        ("vc", _i4),
        ("path", _i4),  # path index
        ("answer", _i4),  # 1 = carries responses
        ("psn", _i4),
        ("size_bytes", _i4),
        ("payload_bytes", _i4),
        ("ready_ps", _i8),
        ("start_ps", _i8),
        ("executed_ps", _i8),
        ("window_ps", _i8),
        ("credit_ps", _i8),
        ("arbiter_ps", _i8),
        ("hold_ps", _i8),
    ],
    align=True,
)
"""One delivered data frame; waits as in `result.Stage`."""

TRACED = np.dtype(
    [
        ("id", _i8),  # counts all frames sent, DATA and ACK, from 0
        ("kind", _i4),  # 0 DATA, 1 ACK
        ("src", _i4),
        ("dst", _i4),
        ("vc", _i4),
        ("path", _i4),
        ("psn", _i4),
        ("ack", _i4),  # 1 = ack_psn and ack_vc are valid
        ("ack_psn", _i4),
        ("ack_vc", _i4),
        ("size_bytes", _i4),
        ("payload_bytes", _i4),
        ("answer", _i4),
        ("run_first", _i4),
        ("run_count", _i4),
    ],
    align=True,
)
"""One of the first frames sent; what it holds stands in `TRACED_RUN` rows run_first .. run_first + run_count - 1."""

TRACED_RUN = np.dtype([("op", _i4), ("first", _i4), ("count", _i4)], align=True)
"""Packets or transactions first .. first + count - 1 of an operation."""

HOP = np.dtype(
    [
        ("frame", _i4),  # row of the traced frame
        ("port", _i4),  # directed port it left by
        ("credits", _i4),  # the port's credits in use in its VC, this frame counted
        ("held_bytes", _i4),  # held in the receive buffer at the other end, its VC, this frame counted
        ("start_ps", _i8),  # first bit of the preamble
        ("end_ps", _i8),  # last bit of FCS
    ],
    align=True,
)

UPDATE = np.dtype([("t_ps", _i8), ("port", _i4), ("vc0", _i4), ("c0", _i4), ("vc1", _i4), ("c1", _i4)], align=True)
"""A CF_UPDATE and the port that sent it; c = low 15 bits of freed."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What was recorded of single frames.

    Attributes
    ----------
    sample
        `SAMPLE` rows of delivered data frames; one of ``sample_of`` on average, chosen by a hash of the seed and its number.
    frames, runs, hops, updates
        `TRACED`, `TRACED_RUN`, `HOP`, `UPDATE` rows of the first part of the run.
    """

    sample_of: int
    sample: NDArray[Any]
    frames: NDArray[Any]
    runs: NDArray[Any]
    hops: NDArray[Any]
    updates: NDArray[Any]
