"""Records of what is counted for a pair of endpoints: fences, requests that wait for room, tags of ATOMICs."""

from __future__ import annotations

import numpy as np

_i2, _i4, _i8 = np.int16, np.int32, np.int64

PAIR = np.dtype(
    [
        ("first", _i4),  # its sessions
        ("count", _i4),
        ("fences", _i4),  # list of those under way, oldest first, -1
        ("epoch", _i4),  # of requests that begin to wait for room for their responses now: 0, 1
        ("held0", _i4),  # how many of them wait
        ("held1", _i4),
        ("early", _i4),  # FENCEs answered when those of the other epoch are executed: list of REPLY, -1
        ("late", _i4),  # ... when those of this one are, too
        ("starved", _i4),  # 1 = some space waits for a tag
        ("visible_ps", _i8),  # when all is visible that was accepted
        ("oldest_tag", _i8),  # of ATOMICs (`atomictags`)
        ("next_tag", _i8),
    ],
    align=True,
)
"""A source and destination between which fences go, or so many ATOMICs that their tags are counted."""

FENCED = np.dtype([("op", _i4), ("pair", _i4), ("next", _i4), ("state", _i2), ("renewing", _i2)], align=True)
"""A FENCE, beside `ordering.FENCE`; ``renewing`` = an event to begin it anew is in the queue."""

FENCE_IDLE, FENCE_ACTIVE, FENCE_OVER = range(3)

FENCE_NOTE = np.dtype([("op", _i4), ("key", _i4), ("psn", _i4)], align=True)
"""The last FENCE that a sequence space has sent."""
