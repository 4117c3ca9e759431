"""The event queue: a calendar of buckets, each a list sorted by time, ties in order of insertion.

With few ports 2^15 buckets of 512 ps: ports that run in lockstep put most events at the end of their bucket, so a push appends at
the tail; a sorted insert from the head was quadratic there. Events beyond one lap (16.8 us) wait in their bucket for the lap that
is theirs. More ports have more events in the same time and need narrower buckets, or a push walks through hundreds: 16,384 ports
took 1,040 ns an event with 512 ps, 480 with 8 ps; 1,024 ports 271 and 189 (64 ps); 128 ports the same with any.
"""

from __future__ import annotations

from ..compiled import compiled, inlined
from .records import State

WIDTH_BITS = 9  # 512 ps, with few ports
BUCKET_BITS = 15
_PORTS_BITS = 7  # as many as 128 ports; each doubling halves the width
_WIDTH_BITS_MIN = 3
_BUCKET_BITS_MAX = 18


def calendar_bits(ports: int) -> tuple[int, int]:
    """Return log2 of a bucket's width in ps and of the number of buckets, for a fabric of ``ports``."""
    shift = max(0, (max(1, ports) - 1).bit_length() - _PORTS_BITS)
    return max(_WIDTH_BITS_MIN, WIDTH_BITS - shift), min(_BUCKET_BITS_MAX, BUCKET_BITS + shift)


@inlined
def push(S: State, t_ps: int, kind: int, a: int, b: int) -> None:
    """Schedule an event at ``t_ps`` >= now."""
    k = S.kernel[0]
    i = k.event_free
    if i >= 0:
        k.event_free = S.event[i].next
    else:  # pools hand out fresh entries in order: memory that was never needed is never touched
        i = k.event_top
        k.event_top += 1
    e = S.event[i]
    k.events_left -= 1
    k.waiting += 1
    if t_ps < k.now_ps:  # a defect of the simulator, reported by the driver: such an event would never be found
        k.past += 1
        t_ps = k.now_ps
    e.t_ps = t_ps
    e.kind = kind
    e.a = a
    e.b = b
    bucket = (t_ps >> k.width_bits) & k.bucket_mask
    head = S.bucket_head[bucket] - 1
    if head < 0:
        e.next = -1
        S.bucket_head[bucket] = i + 1
        S.bucket_tail[bucket] = i + 1
        return
    tail = S.bucket_tail[bucket] - 1
    if S.event[tail].t_ps <= t_ps:
        e.next = -1
        S.event[tail].next = i
        S.bucket_tail[bucket] = i + 1
    elif S.event[head].t_ps > t_ps:
        e.next = head
        S.bucket_head[bucket] = i + 1
    else:
        p = head
        n = S.event[p].next
        while S.event[n].t_ps <= t_ps:
            p = n
            n = S.event[p].next
        e.next = n
        S.event[p].next = i


@inlined
def first(S: State) -> int:
    """Return the index of the earliest event; the queue must not be empty."""
    k = S.kernel[0]
    bucket = k.bucket
    mask = k.bucket_mask
    width_bits = k.width_bits
    while True:
        for _ in range(mask + 1):
            i = S.bucket_head[bucket & mask] - 1
            if i >= 0 and S.event[i].t_ps >> width_bits == bucket:
                k.bucket = bucket
                return i
            bucket += 1
        # A whole lap without an event: go to the earliest one at once (a start in a second is 60,000 laps away).
        earliest_ps = -1
        for b in range(mask + 1):
            i = S.bucket_head[b] - 1
            if i >= 0 and (earliest_ps < 0 or S.event[i].t_ps < earliest_ps):
                earliest_ps = S.event[i].t_ps
        bucket = earliest_ps >> width_bits


@compiled
def remove_first(S: State, i: int) -> None:
    """Take event ``i``, which `first` returned, out of the queue; its record stays readable until the next push."""
    k = S.kernel[0]
    e = S.event[i]
    S.bucket_head[k.bucket & k.bucket_mask] = e.next + 1
    e.next = k.event_free
    k.event_free = i
    k.events_left += 1
    k.waiting -= 1
