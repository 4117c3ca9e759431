"""What control frames and ordered sets take of the lines, compiled: of each link's capacity, by totals over the run.

Data that pass a link cause ACK frames, LLR ACK sets and CF_UPDATEs on its way back, where they take line time from the data
there. Here they are not events but a tax: a link keeps data / (data + control) of its capacity, both summed over the run. In W1
that is 0.4 %; where each sequence space carries a frame or two, an ACK frame for each makes it 4 %. A link whose way back carries
no data pays nothing.
"""

from __future__ import annotations

from typing import Any

from ...compiled import compiled, compiled_entry
from ...protocol.operations import ACK_FRAME_BYTES, LOAD, ORDERED_SET_BYTES, WIRE_EXTRA_BYTES, is_bulk
from ...workload.frames import alone_frames
from ...workload.graph import I1, I4, I8


@compiled
def control_bytes(
    kind: int, posted: int, frames: int, wire: int, ways: int, ack_every: int, ctlos_spacing: int, cf_spacing: int
) -> int:
    """Return the wire bytes that the data of one operation cause on the way back.

    Parameters
    ----------
    frames, wire
        Of its data.
    ways
        Paths that bulk packets are dealt to: each is a sequence space with ACKs of its own.
    ack_every
        Frames after which an ACK goes alone; answers carry the ACKs of what they answer.
    ctlos_spacing, cf_spacing
        Bytes of line time between two LLR ACKs, two CF_UPDATEs; 0 = there are none.
    """
    acks = 0
    if is_bulk(kind):
        spaces = min(frames, ways)
        each = (frames + spaces - 1) // spaces
        acks = spaces * ((each + ack_every - 1) // ack_every)
    elif posted and kind != LOAD:
        acks = frames // ack_every
    total = acks * (ACK_FRAME_BYTES + WIRE_EXTRA_BYTES)
    if ctlos_spacing > 0:
        total += ORDERED_SET_BYTES * min(frames, wire // ctlos_spacing + 1)
    if cf_spacing > 0:
        total += ORDERED_SET_BYTES * wire // cf_spacing
    return total


@compiled
def data_frames(b0: int, n0: int, b1: int, n1: int, b2: int, n2: int, limit: int, pack: int) -> int:
    """Return the frames of one direction of an operation alone."""
    return max(1, alone_frames(b0, n0, b1, n1, b2, n2, limit) if pack else n0 + n1 + n2)


@compiled_entry
def add_up(op: Any, piece: Any, lane_link: I4, main: int, side: I1, wire: I8, control: I8) -> None:
    """Sum by link what its data take and what control its data cause on the way back.

    Parameters
    ----------
    main
        Columns of ``lane_link`` that are a lane's own way; as many behind them are the way back where ``side`` is not empty.
    wire, control
        Out, shape (links,).
    """
    for p in range(len(piece)):
        o = op[piece[p].op]
        mine = piece[p].wire_bytes
        caused = o.control_bytes * mine // o.wire_bytes
        back = o.side_bytes * mine // o.wire_bytes
        for c in range(main):
            link = lane_link[piece[p].lane, c]
            if link >= 0:
                wire[link] += mine
                control[link] += caused
            if len(side) > 0:
                link = lane_link[piece[p].lane, main + c]
                if link >= 0:
                    wire[link] += back
