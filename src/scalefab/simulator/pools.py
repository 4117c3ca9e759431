"""Frames come from a pool and go back to it."""

from __future__ import annotations

from ..compiled import compiled, inlined
from .records import CC, State


@inlined
def new_frame(S: State, s: int, kind: int, start_ps: int) -> int:
    """Take a frame from the pool."""
    k = S.kernel[0]
    i = k.frame_free
    if i >= 0:
        k.frame_free = S.frame[i].next
    else:
        i = k.frame_top
        k.frame_top += 1
    f = S.frame[i]
    k.frames_left -= 1
    f.op = -1
    f.first = 0
    f.count = 0
    f.more = -1
    f.next = -1
    f.kind = kind
    f.answer = 0
    f.poisoned = 0
    f.drained = 0
    f.nack = 0
    f.again = 0
    f.again_ps = 0
    f.path = S.session[s].path if s >= 0 else 0
    f.session = s
    f.payload_bytes = 0
    f.ack_session = -1
    f.cable_ps = 0
    f.lookup_ps = 0
    f.arbiter_ps = 0
    f.hold_ps = 0
    f.replay_ps = 0
    f.start_ps = start_ps
    f.trace_row = -1
    return i


@inlined
def release_frame(S: State, i: int) -> None:
    """Return a frame and its runs to their pools."""
    k = S.kernel[0]
    f = S.frame[i]
    n = f.more
    while n >= 0:
        following = S.run[n].next
        S.run[n].next = k.run_free
        k.run_free = n
        k.runs_left += 1
        n = following
    f.next = k.frame_free
    k.frame_free = i
    k.frames_left += 1


@compiled
def lose_frame(S: State, i: int) -> None:
    """Frame ``i`` will never arrive."""
    f = S.frame[i]
    if f.kind == CC:
        S.link[f.in_port].cc_sent &= ~(1 << f.first)
    else:
        S.kernel[0].lost += 1
    release_frame(S, i)


@compiled
def new_reply(S: State) -> int:
    """Take a record for answers out of its pool."""
    k = S.kernel[0]
    i = k.reply_free
    if i >= 0:
        k.reply_free = S.reply[i].next
    else:
        i = k.reply_top
        k.reply_top += 1
    k.replies_left -= 1
    return i


@compiled
def release_reply(S: State, i: int) -> None:
    """Give a record for answers back."""
    k = S.kernel[0]
    S.reply[i].next = k.reply_free
    k.reply_free = i
    k.replies_left += 1
