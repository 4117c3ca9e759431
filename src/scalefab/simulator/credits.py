"""CBFC at a port: what may be charged, CF_UPDATEs and their spacing, what a CC_UPDATE gives back."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import cbfc
from ..protocol.cbfc import COUNTER_BITS, UPDATE_BITS
from ..protocol.limits import CF_SPACING_LEAST_BYTES
from ..protocol.operations import ORDERED_SET_BYTES
from .line import put_set
from .pause import may_go
from .ports import add_load, line_ps
from .recorder import record_update
from .records import NEVER_PS, State

_MANY = 8  # refreshes missed before the idle time is reckoned at once ...
_STEPS = 64  # ... in so many steps


@inlined
def may_charge(S: State, a: int, vc: int, credits: int) -> bool:
    """Return whether port ``a`` has the credits for a frame of ``vc``; best effort needs none."""
    if S.kernel[0].mixed == 0:
        return cbfc.may_send(S.sender[a, vc], credits, COUNTER_BITS)
    if S.kernel[0].pfc:
        return may_go(S, a, vc)
    if (S.link[a].lossless >> vc) & 1 == 0:
        return True
    return cbfc.may_send_port(S.sender[a, vc], S.sender[a, S.kernel[0].vcs], credits, COUNTER_BITS)


@compiled
def charge(S: State, a: int, vc: int, credits: int) -> None:
    """Charge a frame, once: a link-layer replay is not charged again."""
    if S.kernel[0].mixed == 0:
        cbfc.on_send(S.sender[a, vc], credits, COUNTER_BITS)
    elif (S.link[a].lossless >> vc) & 1:
        cbfc.on_send_port(S.sender[a, vc], S.sender[a, S.kernel[0].vcs], credits, COUNTER_BITS)


@compiled
def take_update(S: State, p: int, vc: int, low_bits: int) -> None:
    """Port ``p`` takes one VC's half of a CF_UPDATE."""
    if S.kernel[0].mixed == 0:
        cbfc.on_update(S.sender[p, vc], low_bits, COUNTER_BITS, UPDATE_BITS)
    else:
        cbfc.on_update_port(S.sender[p, vc], S.sender[p, S.kernel[0].vcs], low_bits, COUNTER_BITS, UPDATE_BITS)


@inlined
def take_updates(S: State, p: int, now_ps: int) -> None:
    """Apply the CF_UPDATEs that have arrived at port ``p``."""
    k = S.kernel[0]
    port = S.port[p]
    while port.cf_count > 0:
        u = S.cf_ring[p, port.cf_head & (k.cf_ring - 1)]
        if u.t_ps > now_ps:
            return
        take_update(S, p, u.vc0, u.c0)
        if u.vc1 != u.vc0:
            take_update(S, p, u.vc1, u.c1)
        port.updates_in += 1
        port.cf_head = (port.cf_head + 1) & (k.cf_ring - 1)
        port.cf_count -= 1


@compiled
def send_update(S: State, q: int, leave_ps: int) -> None:
    """Put the CF_UPDATE that port ``q`` owes on its line at ``leave_ps``: the two VCs of most news.

    A VC that is to be told again soon takes the second half, in the last quarter of its interval: a refresh of its own makes news
    wait for the spacing, and a hop that credits hold back lost up to 2.9 % of its throughput so.
    """
    best = -1
    best_n = 0
    second = -1
    second_n = 0
    for vc in range(S.kernel[0].vcs):
        n = cbfc.unreported(S.receiver[q, vc], COUNTER_BITS) if is_told(S, q, vc) else 0
        if n > best_n:
            second = best
            second_n = best_n
            best = vc
            best_n = n
        elif n > second_n:
            second = vc
            second_n = n
    gap_ps = S.link[q].refresh_gap_ps
    soon_ps = leave_ps + gap_ps // 4
    if S.port[q].refresh_ps <= soon_ps:
        oldest = longest_untold(S, q, best)
        if oldest >= 0 and S.told_ps[q, oldest] + gap_ps <= soon_ps:
            second = oldest
        elif oldest >= 0:
            S.port[q].refresh_ps = S.told_ps[q, oldest] + gap_ps
    tell(S, q, best, second, leave_ps)


@compiled
def longest_untold(S: State, q: int, besides: int) -> int:
    """Return the VC of port ``q`` that was told longest ago, but for ``besides``; -1 = none."""
    oldest = -1
    for vc in range(S.kernel[0].vcs):
        if vc != besides and is_told(S, q, vc) and (oldest < 0 or S.told_ps[q, vc] < S.told_ps[q, oldest]):
            oldest = vc
    return oldest


@compiled
def is_told(S: State, q: int, vc: int) -> bool:
    """Return whether the peer of port ``q`` counts credits of ``vc``."""
    return S.kernel[0].mixed == 0 or (S.link[S.port[q].peer].lossless >> vc) & 1 == 1


@compiled
def tell(S: State, q: int, first: int, second: int, leave_ps: int) -> None:
    """Send a CF_UPDATE of one VC (``second`` = -1: it is told twice) or two; it arrives in the ring of the peer."""
    k = S.kernel[0]
    port = S.port[q]
    arrive_ps = put_set(S, q, leave_ps)
    port.cf_updates += 1
    port.cf_last_ps = leave_ps
    low0 = report(S, q, first, leave_ps)
    low1 = report(S, q, second, leave_ps) if second >= 0 else low0
    port.cf_due_ps = -1
    for vc in range(k.vcs):
        if is_told(S, q, vc) and cbfc.unreported(S.receiver[q, vc], COUNTER_BITS) > 0:
            port.cf_due_ps = leave_ps + port.cf_gap_ps
    if arrive_ps == NEVER_PS:
        return
    p = port.peer
    sender = S.port[p]
    if sender.cf_count == k.cf_ring:  # full: the oldest have arrived long ago, nobody looked
        take_updates(S, p, leave_ps)
    u = S.cf_ring[p, (sender.cf_head + sender.cf_count) & (k.cf_ring - 1)]
    sender.cf_count += 1
    u.t_ps = arrive_ps
    u.vc0 = first
    u.c0 = low0
    u.vc1 = second if second >= 0 else first
    u.c1 = low1
    record_update(S, q, leave_ps, u)


@compiled
def report(S: State, q: int, vc: int, leave_ps: int) -> int:
    """Tell of ``vc`` now: return the low bits to send."""
    S.told_ps[q, vc] = leave_ps
    return cbfc.on_report(S.receiver[q, vc], UPDATE_BITS)


@compiled
def refresh(S: State, q: int, leave_ps: int, now_ps: int) -> None:
    """Tell again of the VCs of port ``q`` that were told longest ago, if that is too long; else note when it will be.

    A port that nobody looked at for long has sent many of them that told nothing new: they are counted, not made one by one.
    """
    port = S.port[q]
    gap_ps = S.link[q].refresh_gap_ps
    oldest = longest_untold(S, q, -1)
    if oldest < 0:
        port.refresh_ps = NEVER_PS
        return
    due_ps = S.told_ps[q, oldest] + gap_ps
    if due_ps > leave_ps:
        port.refresh_ps = due_ps
        return
    if now_ps - due_ps > _MANY * gap_ps and S.kernel[0].careful == 0:  # with faults one of them may be the one that is needed
        skip_refreshes(S, q, now_ps)
        return
    earliest_ps = port.cf_last_ps + port.cf_gap_ps
    if leave_ps < earliest_ps:
        port.refresh_ps = earliest_ps
        return
    second = longest_untold(S, q, oldest)
    if second >= 0 and S.told_ps[q, second] + gap_ps > leave_ps + port.cf_gap_ps:
        second = -1
    news_ps = port.cf_last_ps
    quiet = port.cf_due_ps < 0
    tell(S, q, oldest, second, leave_ps)
    if quiet:  # it told nothing new: the next news keeps its spacing from the last news, and the least from this
        port.cf_last_ps = max(news_ps, leave_ps + line_ps(port, CF_SPACING_LEAST_BYTES) - port.cf_gap_ps)


@compiled
def skip_refreshes(S: State, q: int, now_ps: int) -> None:
    """Reckon whole refresh intervals of an idle port at once."""
    port = S.port[q]
    gap_ps = S.link[q].refresh_gap_ps
    told = 0
    most = 0
    for vc in range(S.kernel[0].vcs):
        if is_told(S, q, vc):
            told += 1
            rounds = (now_ps - S.told_ps[q, vc]) // gap_ps - 1
            if rounds > 0:
                S.told_ps[q, vc] += rounds * gap_ps
            if rounds > most:
                most = rounds
    sets = most * ((told + 1) // 2)
    done = 0
    for i in range(_STEPS):  # evenly over the time that passed, as far as bins of load can tell
        upto = sets * (i + 1) // _STEPS
        if upto > done:
            add_load(S, q, now_ps - (_STEPS - i) * (most * gap_ps // _STEPS), (upto - done) * ORDERED_SET_BYTES)
        done = upto
    port.cf_updates += sets
    port.wire_bytes += sets * ORDERED_SET_BYTES
    port.busy_ps += sets * line_ps(port, ORDERED_SET_BYTES)
    S.port[port.peer].updates_in += sets


@compiled
def count_freed(S: State, q: int, vc: int, credits: int, t_ps: int) -> None:
    """Add freed credits; the CF_UPDATE that tells of them is due when its spacing allows."""
    port = S.port[q]
    cbfc.on_free(S.receiver[q, vc], credits, COUNTER_BITS)
    if port.cf_due_ps < 0 and is_told(S, q, vc):
        earliest = port.cf_last_ps + port.cf_gap_ps
        port.cf_due_ps = t_ps if t_ps > earliest else earliest


@compiled
def has_room(S: State, q: int, f: Any) -> bool:
    """Return whether the receive buffer of port ``q`` takes a frame that no credits were asked for."""
    return cbfc.has_room(S.receiver[q, f.vc], f.credits, S.sender[S.port[q].peer, f.vc].limit, COUNTER_BITS)
