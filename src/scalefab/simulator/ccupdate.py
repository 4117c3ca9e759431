"""CC_UPDATE at a port: every 256 us it tells what it has charged; the receiver gives credits of packets that never came back.

One frame of 64 B for the eligible VCs, one for the others, two of each with more than 16 VCs; not credited, of no VC. What it
says is taken when it first leaves and kept for a replay. It travels between data frames, so the receiver takes it in their order.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import cbfc
from ..protocol.cbfc import COUNTER_BITS
from ..protocol.profile import FRAME_MIN_BYTES
from .calendar import push
from .pools import new_frame, release_frame
from .ports import kick, look_ps
from .records import CC, CC_TIMER, CREDIT_FIELD_BITS, FREE, State


@compiled
def on_cc_timer(S: State, a: int, now_ps: int) -> None:
    """It is time for CC_UPDATEs of port ``a``."""
    link = S.link[a]
    k = S.kernel[0]
    if now_ps - k.moved_ps > k.patience_ps:  # all is repaired; nothing to say before the next frame moves
        link.cc_asleep = 1
        k.slept += 1
        k.background -= 1
        return
    push(S, now_ps + link.cc_gap_ps, CC_TIMER, a, 0)
    if link.cc_stopped:
        return
    port = S.port[a]
    for bit in range(4):
        if vcs_of(S, a, bit) != 0 and (link.cc_sent >> bit) & 1 == 0:
            port.cc_due |= 1 << bit
    if port.cc_due:
        kick(S, a, look_ps(port, now_ps))


@compiled
def note_move(S: State, now_ps: int) -> None:
    """A frame begins to move or is executed: the network is awake."""
    k = S.kernel[0]
    if now_ps - k.moved_ps > k.patience_ps:
        wake_timers(S, now_ps)
    k.moved_ps = now_ps


@compiled
def wake_timers(S: State, now_ps: int) -> None:
    """Go on with the CC timers that a long silence stopped, at the times that they would have had."""
    for a in range(len(S.port)):
        link = S.link[a]
        if link.cc_asleep and S.mine[a]:
            link.cc_asleep = 0
            S.kernel[0].background += 1
            push(S, (now_ps // link.cc_gap_ps + 1) * link.cc_gap_ps, CC_TIMER, a, 0)


@compiled
def vcs_of(S: State, a: int, bit: int) -> int:
    """Return the VCs that a CC_UPDATE carries, as a mask."""
    link = S.link[a]
    lossless = link.lossless & ((1 << S.kernel[0].vcs) - 1)
    eligible = link.eligible if S.kernel[0].llr else 0
    return cbfc.cc_vcs(lossless, eligible, bit < 2, bit & 1)


@compiled
def make_cc(S: State, a: int, start_ps: int) -> int:
    """Return a frame for the first CC_UPDATE that is due at port ``a``, -1 when it has to wait for an older one."""
    link = S.link[a]
    bit = 0
    while (S.port[a].cc_due >> bit) & 1 == 0:
        bit += 1
    mask = vcs_of(S, a, bit)
    i = new_frame(S, -1, CC, start_ps)
    f = S.frame[i]
    f.size_bytes = FRAME_MIN_BYTES
    f.credits = 0
    f.first = bit
    f.in_port = a
    f.ready_ps = mask
    f.vc = 0
    while (mask >> f.vc) & 1 == 0:
        f.vc += 1
    base = (bit >> 1) * S.kernel[0].vcs
    for vc in range(S.kernel[0].vcs):
        if (mask >> vc) & 1:
            S.cc_value[a, base + vc] = cbfc.cc_value(S.sender[a, vc])
    link.cc_sent |= 1 << bit
    return i


@compiled
def accept_cc(S: State, a: int, i: int, arrive_ps: int) -> None:
    """The far end of port ``a`` takes a CC_UPDATE: missing credits are free when it has arrived."""
    f = S.frame[i]
    q = S.port[a].peer
    base = (f.first >> 1) * S.kernel[0].vcs
    S.link[q].cc_updates_in += 1
    S.link[a].cc_sent &= ~(1 << f.first)
    for vc in range(S.kernel[0].vcs):
        if (f.ready_ps >> vc) & 1:
            missing = cbfc.cc_missing(S.receiver[q, vc], S.cc_value[a, base + vc], COUNTER_BITS)
            if missing > 0:
                push(S, arrive_ps, FREE, q, (vc << CREDIT_FIELD_BITS) | int(missing))
    release_frame(S, i)
