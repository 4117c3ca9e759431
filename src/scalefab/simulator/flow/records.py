"""The arrays that the flow kernel works on: operations, pieces, lanes, links.

A *piece* is what one operation sends over one path (or over all of them at once, see `setup`); a *lane* is a queue of pieces
with the same ends and the same links, served first come, first served, as a sequence space of the packet simulator is. The piece
at the head of a lane flows; the rates of all lanes with a piece are max-min fair. Rates are bytes of wire a ps, times integers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_i4, _i8, _f8 = np.int32, np.int64, np.float64

NEVER_PS = 1 << 62
BINS = 256  # of the link loads over time

KERNEL = np.dtype(
    [
        ("now_ps", _i8),
        ("filled_ps", _i8),  # when rates were last shared out
        ("grain_ps", _i8),  # no sooner than so much later are they again, 0 = at each event
        ("coarsest_ps", _i8),  # the longest grain of the run
        ("horizon_ps", _i8),  # expected length of the run
        ("budget", _i8),  # visits of links by lanes that the run may spend on sharing out
        ("visits", _i8),
        ("fills", _i8),
        ("events", _i8),
        ("done", _i8),
        ("completion_ps", _i8),
        ("executed_bytes", _i8),
        ("active", _i4),  # lanes that flow
        ("dirty", _i4),  # links whose lanes have changed since rates were shared out
        ("heap", _i4),  # entries of the heap of starts
        ("pushed", _i8),  # ties of the heap break by this number
        ("release_at", _i4),  # next operation without predecessors
        ("width", _i4),  # links of a lane at most
        ("main", _i4),  # the first so many are its own way, then those of the answers, the last is target memory
        ("stamp", _i4),
        ("bin_ps", _i8),
    ],
    align=True,
)

OPERATION = np.dtype(
    [
        ("alone", _i4),  # 1 = takes no network: JOIN, COMPUTE, FENCE
        ("waits", _i4),
        ("left", _i4),  # pieces that flow or wait
        ("first_piece", _i4),
        ("pieces", _i4),
        ("start_ps", _i8),
        ("lead_ps", _i8),  # from ready to the first bit of its data on the line
        ("send_ps", _i8),  # from its first bit to its last at least, alone on an idle fabric
        ("tail_ps", _i8),  # from its last bit on the line to executed
        ("answer_ps", _i8),  # from executed to done; alone: from ready to done
        ("wire_bytes", _i8),  # of its data, headers and gaps included
        ("side_bytes", _i8),  # wire bytes that go the other way: answers, or the requests of reads
        ("control_bytes", _i8),  # ACK frames and ordered sets that its data cause on the way back
        ("data_bytes", _i8),
        ("memory_ratio", _f8),  # bytes of target memory a wire byte
        ("side_ratio", _f8),
        ("ready_ps", _i8),
        ("first_ps", _i8),
        ("executed_ps", _i8),
        ("done_ps", _i8),
    ],
    align=True,
)

PIECE = np.dtype([("op", _i4), ("lane", _i4), ("next", _i4), ("wire_bytes", _i8)], align=True)

LANE = np.dtype(
    [
        ("head", _i4),  # the piece that flows, -1
        ("tail", _i4),
        ("place", _i4),  # in the list of active lanes, -1
        ("stamp", _i4),  # of the sharing out that has fixed its rate
        ("rate", _f8),
        ("rest", _f8),  # wire bytes left at since_ps
        ("since_ps", _i8),
        ("begin_ps", _i8),  # the piece's first bit
        ("finish_ps", _i8),
    ],
    align=True,
)

LINK = np.dtype(
    [
        ("capacity", _f8),  # bytes a ps
        ("used", _f8),
        ("left", _f8),  # while rates are shared out
        ("weight", _f8),
        ("open", _i4),
        ("lanes", _i4),  # active lanes on it
        ("first", _i4),  # of its places in `State.member`
        ("stamp", _i4),
        ("most", _i4),  # most lanes at a time
        ("dirty", _i4),
        ("since_ps", _i8),  # load is booked up to here
        ("wire_bytes", _i8),
    ],
    align=True,
)

START = np.dtype([("t_ps", _i8), ("number", _i8), ("op", _i4)], align=True)


class State(NamedTuple):
    """All arrays of one run.

    ``lane_link`` (lanes x width): the links of a lane, -1 = none. ``member``: for each link a segment of places
    (lane x width + column) whose first ``lanes`` are active; ``where`` finds a place in it again.
    """

    kernel: Any
    op: Any
    piece: Any
    lane: Any
    link: Any
    lane_link: Any
    member: Any
    where: Any
    active: Any
    dirty: Any
    component: Any
    heap: Any
    release: Any
    todo: Any
    succ_ptr: Any
    succ: Any
    load: Any
