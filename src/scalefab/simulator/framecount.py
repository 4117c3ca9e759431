"""How many frames a graph makes on a fabric, counted before a run, compiled."""

from __future__ import annotations

from ..compiled import compiled_entry
from ..protocol.operations import COMPUTE, FENCE, GET, JOIN, is_bulk
from ..workload.frames import alone_frames, crowd, items
from ..workload.graph import I1, I2, I4, I8

_PAGE_BYTES = 4096


@compiled_entry
def count_frames(
    kind: I1,
    src: I2,
    dst: I2,
    size: I8,
    chunk: I4,
    posted: I1,
    mtu: int,
    limit: int,
    pack: int,
    paths: int,
    ways: int,
    ack_every: int,
    leaf: I4,
) -> tuple[int, int, int]:
    """Count the frames of all operations, each packed alone.

    Parameters
    ----------
    mtu, limit, pack
        As in `workload.bounds`.
    paths, ways
        Paths of a pair; those that bulk packets of one operation are dealt to.
    ack_every
        Frames after which an ACK goes alone.
    leaf
        Leaf of each endpoint.

    Returns
    -------
    tuple of int
        Data frames, standalone ACK frames, and passages of both through switches.
    """
    data = 0
    acks = 0
    passages = 0
    for i in range(len(kind)):
        what = int(kind[i])
        if what == JOIN or what == COMPUTE:
            continue
        switches = 1 if leaf[src[i]] == leaf[dst[i]] else 3
        there = 0
        for back in range(1 if posted[i] and what != GET else 2):
            b0, n0, b1, n1, b2, n2 = items(what, size[i], int(chunk[i]), mtu, back)
            frames = max(1, alone_frames(b0, n0, b1, n1, b2, n2, limit) if pack else n0 + n1 + n2)
            if is_bulk(what) and n0 > 0:
                frames = n0 + n1 + n2  # nothing goes along with full packets, before or behind them
            if not is_bulk(what) and what != FENCE and paths > 1 and pack and chunk[i] > 0 and chunk[i] < _PAGE_BYTES:
                page = _PAGE_BYTES // chunk[i]  # transactions of one page take one path
                frames = max(frames, (n0 + page - 1) // page * ((min(page, n0) + crowd(b0, limit) - 1) // crowd(b0, limit)))
            if back and not is_bulk(what):
                frames = max(frames, there)  # what is executed is answered at once: few answers wait for others
            there = frames
            alone = 0
            if is_bulk(what) and back == (1 if what == GET else 0):
                spaces = min(frames, ways)
                alone = spaces * (((frames + spaces - 1) // spaces + ack_every - 1) // ack_every)
            elif posted[i]:
                alone = frames // ack_every
            data += frames
            acks += alone
            passages += switches * (frames + alone)
    return data, acks, passages
