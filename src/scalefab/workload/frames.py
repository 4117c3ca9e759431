"""Least frames and least wire bytes of operations, compiled: what no sender, however lucky its packing, can undercut.

One direction of an operation is up to three runs of equal items (a transaction or packet: TH and padded body): full ones, the
last one of each whole message, the last one of all. A frame takes items of at most `operations.body_limit` together, costs
`OVERHEAD_BYTES` besides, and is never shorter than 64 B.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol.operations import (
    FCS_BYTES,
    FENCE,
    FRAME_MIN_BYTES,
    GET,
    HEADER_BYTES,
    ICRC_BYTES,
    WIRE_EXTRA_BYTES,
    is_bulk,
    request_body_bytes,
    response_body_bytes,
)

FRAME_OVERHEAD_BYTES = HEADER_BYTES + ICRC_BYTES + FCS_BYTES  # inside a frame, beside its transactions
OVERHEAD_BYTES = FRAME_OVERHEAD_BYTES + WIRE_EXTRA_BYTES  # on the wire, with preamble and gap
MIN_WIRE_BYTES = FRAME_MIN_BYTES + WIRE_EXTRA_BYTES


@compiled
def items(kind: int, size: int, chunk: int, mtu: int, answer: int) -> tuple[int, int, int, int, int, int]:
    """Return the three runs (body bytes, count) of one direction of an operation; ``answer`` 1 = what comes back."""
    if kind == FENCE:
        return (8 if answer else 16), 1, 0, 0, 0, 0
    if not is_bulk(kind):
        rest = size % chunk
        whole = size // chunk
        if answer:
            return response_body_bytes(kind, chunk), whole, 0, 0, response_body_bytes(kind, rest), 1 if rest else 0
        return request_body_bytes(kind, chunk), whole, 0, 0, request_body_bytes(kind, rest), 1 if rest else 0
    message = chunk if 0 < chunk < size else size
    whole = size // message
    rest = size % message
    data = answer == (1 if kind == GET else 0)
    if not data:  # one request or COMPLETION for each message
        one = response_body_bytes(kind, 0) if answer else request_body_bytes(kind, 0)
        return one, whole + (1 if rest else 0), 0, 0, 0, 0
    if answer:
        full, end, last = (
            response_body_bytes(kind, mtu),
            response_body_bytes(kind, message % mtu),
            response_body_bytes(kind, rest % mtu),
        )
    else:
        full, end, last = (
            request_body_bytes(kind, mtu),
            request_body_bytes(kind, message % mtu),
            request_body_bytes(kind, rest % mtu),
        )
    return full, whole * (message // mtu) + rest // mtu, end, whole if message % mtu else 0, last, 1 if rest % mtu else 0


@compiled
def smallest_item(b0: int, n0: int, b1: int, n1: int, b2: int, n2: int) -> int:
    """Return the smallest body among runs that are there."""
    small = 1 << 40
    if n0 and b0 < small:
        small = b0
    if n1 and b1 < small:
        small = b1
    if n2 and b2 < small:
        small = b2
    return small


@compiled
def largest_item(b0: int, n0: int, b1: int, n1: int, b2: int, n2: int) -> int:
    """Return the largest body among runs that are there."""
    return max(b0 if n0 else 0, b1 if n1 else 0, b2 if n2 else 0)


@compiled
def one_frame_bytes(body: int) -> int:
    """Return the size of the frame of one item alone, OEFH .. FCS."""
    return max(FRAME_OVERHEAD_BYTES + body, FRAME_MIN_BYTES)


@compiled
def unpacked_wire_bytes(b0: int, n0: int, b1: int, n1: int, b2: int, n2: int) -> int:
    """Return the wire bytes with one item a frame."""
    extra = WIRE_EXTRA_BYTES
    return n0 * (one_frame_bytes(b0) + extra) + n1 * (one_frame_bytes(b1) + extra) + n2 * (one_frame_bytes(b2) + extra)


@compiled
def lonely(body: int, count: int, limit: int, smallest: int) -> int:
    """Return how many of a run can share a frame with nothing, not even with an item of ``smallest`` bytes."""
    return count if body + smallest > limit else 0


@compiled
def crowd(body: int, limit: int) -> int:
    """Return how many items of this body fit into one frame."""
    return limit // body


@compiled
def alone_frames(b0: int, n0: int, b1: int, n1: int, b2: int, n2: int, limit: int) -> int:
    """Return the least frames that carry one direction of an operation when nothing else shares them."""
    if n1 == 0:  # exact: equal items fill frames, the last one goes along where there is room
        if n0 == 0:
            return n2
        k = crowd(b0, limit)
        frames = (n0 + k - 1) // k
        room = limit - b0 * (n0 - (frames - 1) * k)
        return frames + (1 if n2 and b2 > room else 0)
    small = smallest_item(b0, n0, b1, n1, b2, n2)
    single = lonely(b0, n0, limit, small) + lonely(b1, n1, limit, small) + lonely(b2, n2, limit, small)
    rest = b0 * n0 + b1 * n1 + b2 * n2
    rest -= b0 * lonely(b0, n0, limit, small) + b1 * lonely(b1, n1, limit, small) + b2 * lonely(b2, n2, limit, small)
    return single + (rest + limit - 1) // limit


@compiled
def alone_wire_bytes(b0: int, n0: int, b1: int, n1: int, b2: int, n2: int, limit: int, pack: int) -> int:
    """Return the least wire bytes of one direction of an operation when nothing else shares its frames."""
    if not pack:
        return unpacked_wire_bytes(b0, n0, b1, n1, b2, n2)
    frames = alone_frames(b0, n0, b1, n1, b2, n2, limit)
    return max(b0 * n0 + b1 * n1 + b2 * n2 + OVERHEAD_BYTES * frames, MIN_WIRE_BYTES * frames)


@compiled
def shared_wire_bytes(b0: int, n0: int, b1: int, n1: int, b2: int, n2: int, limit: int, smallest: int) -> int:
    """Return wire bytes that one direction of an operation adds at least, whatever operations share its frames.

    Items that fit with nothing pay a frame each; an item of b bytes that may share pays b / limit of one, so that no frame's
    items together pay more than a frame. Sums over operations therefore stay below the truth.
    """
    single = lonely(b0, n0, limit, smallest) + lonely(b1, n1, limit, smallest) + lonely(b2, n2, limit, smallest)
    body = b0 * n0 + b1 * n1 + b2 * n2
    paid = b0 * lonely(b0, n0, limit, smallest) + b1 * lonely(b1, n1, limit, smallest) + b2 * lonely(b2, n2, limit, smallest)
    return body + OVERHEAD_BYTES * single + OVERHEAD_BYTES * (body - paid) // limit
