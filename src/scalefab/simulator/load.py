"""SEN of load in the kernel: ports that are degraded (lanes lost) or congested; affected paths count for less, `spray`.

============================================= =================================================================================
a switch's port                               its switch tells, three copies 1 us apart, then every 5 us, once over every 100 us
============================================= =================================================================================
runs below its rate, runs at it again         DEGRADED, PORT_UP (one state with down and drain: `notify`)
VOQs of a VC > 3/4 of the buffer behind       CONGESTION_ON with the mask of such VCs, under an event number of its own
... < 1/4, the last one                       CONGESTION_OFF
============================================= =================================================================================

An endpoint acts once an event. Several ports may reduce one path, so it counts them: by degradation, by VC 0, by VC 2. More than
10 us of silence end either; the same event brings them back. Which paths a port is on: `reach`, in the data's direction only.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import paths, sen
from .calendar import push
from .pathstate import REDUCED_REQUEST, bulk_reduced, space_of, state_index
from .pools import new_frame, release_frame
from .reach import passes
from .records import LOAD_TIMER, SEN, SILENCE, State
from .spray import split_waiting

_DEGRADED = 1
_REQUEST, _BULK = 2, 8
"""What is in force of a port, at an endpoint: 1, and the mask of VCs x 2."""


# ---- switch ----


@compiled
def count_queued(S: State, a: int, vc: int, size_bytes: int, now_ps: int) -> None:
    """Frames of VC ``vc`` have come into output ``a``, or left it; tell when their bytes cross a threshold."""
    n = a - S.kernel[0].first_switch_port
    S.queued_bytes[n, vc] += size_bytes
    if vc > 2:
        return
    link = S.link[a]
    kind = sen.CONGESTION_ON if (link.load_mask >> vc) & 1 else sen.CONGESTION_OFF
    told = sen.crossed(kind, S.queued_bytes[n, vc], S.sender[a, vc].limit * link.credit_bytes)
    if told != 0:
        link.load_mask ^= 1 << vc
        link.load_event += 1
        link.load_copies = 0
        push(S, now_ps, LOAD_TIMER, a, link.load_event)


@compiled
def count_arrived(S: State, a: int, now_ps: int) -> None:
    """The frames that may leave output ``a`` by now are about to be put into its VOQs."""
    i = S.port[a].transit_head
    while i >= 0 and S.frame[i].stage_ps <= now_ps:
        count_queued(S, a, int(S.frame[i].vc), int(S.frame[i].size_bytes), now_ps)
        i = S.frame[i].next


@compiled
def forget_queued(S: State, a: int, now_ps: int) -> None:
    """All that waited at output ``a`` was dropped."""
    for vc in range(S.kernel[0].vcs):
        count_queued(S, a, vc, -int(S.queued_bytes[a - S.kernel[0].first_switch_port, vc]), now_ps)


# ---- endpoint ----


@compiled
def own_rate(S: State, a: int, now_ps: int) -> None:
    """An endpoint's own port ``a`` runs slower, or at its rate again: all paths that leave by it."""
    k = S.kernel[0]
    src = S.port[a].node
    first = (a - S.node[src].first_port) * k.uplinks
    for dst in range(k.endpoints):
        if dst != src and S.pair_first[src * k.endpoints + dst] >= 0:
            for path in range(first, first + k.uplinks):
                reduce(S, src, dst, path, 0, 1 if S.link[a].degraded else -1, now_ps)


@compiled
def in_force(S: State, e: int, a: int, bits: int, mask: int, now_ps: int) -> None:
    """From now on ``bits`` of ``mask`` are in force of switch port ``a`` at endpoint ``e``."""
    k = S.kernel[0]
    n = a - k.first_switch_port
    old = int(S.force[e, n])
    new = (old & ~mask) | bits
    S.force[e, n] = new
    group = 0 if mask == _DEGRADED else 1
    if bits:
        S.told_ps_at[e, 2 * n + group] = now_ps
        if old & mask == 0:
            k.background += 1
            push(S, now_ps + sen.SILENCE_PS + 1, SILENCE, e, 2 * n + group)
    if old == new:
        return
    i = new_frame(S, -1, SEN, now_ps)  # the cursor
    for q in range(k.path_count // k.uplinks):
        if S.link[S.node[e].first_port + q].plane != S.link[a].plane:
            continue
        for dst in range(k.endpoints):
            if dst == e or S.pair_first[e * k.endpoints + dst] < 0:
                continue
            for path in range(q * k.uplinks, (q + 1) * k.uplinks):
                if passes(S, e, dst, path, a, S.frame[i]):
                    for c in range(3):
                        bit = _DEGRADED if c == 0 else _REQUEST if c == 1 else _BULK
                        if (old ^ new) & bit:
                            reduce(S, e, dst, path, c, 1 if new & bit else -1, now_ps)
    release_frame(S, i)


@compiled
def reduce(S: State, src: int, dst: int, path: int, c: int, step: int, now_ps: int) -> None:
    """One port more, or less, reduces a path for cause ``c``: degraded, congested for VC 0, for VC 2."""
    n = state_index(S, src, dst, path)
    bit = paths.DEGRADED if c == 0 else REDUCED_REQUEST if c == 1 else paths.CONGESTED
    S.reduced[n, c] += step
    before = bulk_reduced(S.path_state[n])
    if S.reduced[n, c] > 0:
        S.path_state[n] |= bit
    else:
        S.path_state[n] &= ~bit
    if not before and bulk_reduced(S.path_state[n]):
        split_waiting(S, space_of(S, src, dst, path, 2), now_ps)


@compiled
def on_heard(S: State, e: int, b: int, now_ps: int) -> None:
    """Endpoint ``e`` has taken a SEN of load: group, what is told, port. An event of its own, so that deliveries stay small."""
    a = (b >> 4) + S.kernel[0].first_switch_port
    told = b & 7
    if b & 8:
        in_force(S, e, a, told << 1, 14, now_ps)
    else:
        in_force(S, e, a, told, _DEGRADED, now_ps)


@compiled
def on_silence(S: State, e: int, b: int, now_ps: int) -> None:
    """Endpoint ``e`` may have heard nothing more of a port's load for too long."""
    k = S.kernel[0]
    k.background -= 1
    n = b >> 1
    mask = _DEGRADED if b & 1 == 0 else 14
    if S.force[e, n] & mask == 0:
        return
    due_ps = int(S.told_ps_at[e, b]) + sen.SILENCE_PS + 1
    if now_ps >= due_ps:
        in_force(S, e, n + k.first_switch_port, 0, mask, now_ps)
    else:
        k.background += 1
        push(S, due_ps, SILENCE, e, b)
