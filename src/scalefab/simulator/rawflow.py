"""Record of a scripted flow: what a tester's port sends, and what its destination saw of it."""

from __future__ import annotations

import numpy as np

_i4, _i8 = np.int32, np.int64

RAW_FLOW = np.dtype(
    [
        ("port", _i4),  # of the source
        ("src", _i4),  # endpoints
        ("dst", _i4),
        ("size_bytes", _i4),  # DA .. FCS with a tag
        ("vc_up", _i4),  # on the link into the switch, and what a frame takes there
        ("credits_up", _i4),
        ("vc_down", _i4),  # on the link out of it
        ("credits_down", _i4),
        ("mark", _i4),  # on the first link: BY_VC, MARKED_ELIGIBLE, MARKED_INELIGIBLE
        ("rest", _i4),  # of due_ps, in step_den-ths
        ("step_rest", _i4),
        ("step_den", _i4),
        ("step_ps", _i8),  # between two frames
        ("due_ps", _i8),  # next frame
        ("end_ps", _i8),  # no frame from here on
        ("left", _i8),  # frames still to send
        ("sequence", _i8),  # of the next frame, from 0
        ("expected", _i8),  # by the destination
        ("sent", _i8),
        ("discarded", _i8),  # by init_action, flush_action
        ("arrived", _i8),
        ("poisoned", _i8),
        ("order_errors", _i8),
        ("bytes", _i8),
        ("first_ps", _i8),  # arrivals, -1
        ("last_ps", _i8),
        ("latency_min_ps", _i8),
        ("latency_max_ps", _i8),
        ("latency_sum_ps", _i8),
    ],
    align=True,
)

BY_VC, MARKED_ELIGIBLE, MARKED_INELIGIBLE = range(3)
"""Whether LLR protects a frame on its tester's link; FRAME.answer of a scripted frame holds it."""
