"""What RH keeps of frames until they are acknowledged: a copy of the record and of its runs, in a list a sequence space.

Only where frames may be lost (`KERNEL.rh`): elsewhere a copy could never be needed, and keeping some 60,000 of them in a 64 GPU
all-to-all would cost the cache. A run without faults checks instead that no retry timer would have expired (`KERNEL.late`).
"""

from __future__ import annotations

from ..compiled import compiled
from .packing import add_run
from .pools import new_frame, release_frame
from .records import State


@compiled
def clone(S: State, i: int, start_ps: int) -> int:
    """Return a new frame with the content of frame ``i``."""
    f = S.frame[i]
    j = new_frame(S, f.session, f.kind, start_ps)
    g = S.frame[j]
    g.src = f.src
    g.dst = f.dst
    g.vc = f.vc
    g.answer = f.answer
    g.size_bytes = f.size_bytes
    g.payload_bytes = f.payload_bytes
    g.credits = f.credits
    g.path = f.path
    g.psn = f.psn
    g.ready_ps = f.ready_ps
    g.start_ps = f.start_ps
    g.credit_ps = f.credit_ps
    g.window_ps = f.window_ps
    if f.count == 0:
        return j
    last = add_run(S, j, -1, f.op, f.first, f.count, f.stride)
    n = f.more
    while n >= 0:
        r = S.run[n]
        last = add_run(S, j, last, r.op, r.first, r.count, r.stride)
        n = r.next
    return j


@compiled
def keep(S: State, i: int) -> None:
    """Keep a copy of DATA frame ``i``, which is about to leave for the first time."""
    j = clone(S, i, S.frame[i].start_ps)
    kept = S.keep[S.frame[i].session]
    if kept.head < 0:
        kept.head = j
    else:
        S.frame[kept.tail].next = j
    kept.tail = j


@compiled
def free_kept(S: State, s: int, count: int) -> None:
    """Let go of the ``count`` oldest copies of session ``s``: they are acknowledged."""
    kept = S.keep[s]
    for _ in range(count):
        i = kept.head
        kept.head = S.frame[i].next
        release_frame(S, i)


@compiled
def copy_to_resend(S: State, s: int) -> int:
    """Return the copy that session ``s`` sends again next."""
    kept = S.keep[s]
    return kept.head if S.retry[s].resend_from == 0 else S.frame[kept.again].next


@compiled
def is_resending(S: State, s: int) -> bool:
    """Return whether session ``s`` has to send frames again before new ones."""
    return S.kernel[0].rh == 1 and S.session[s].trouble != 0 and S.retry[s].resending != 0
