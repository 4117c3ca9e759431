"""CBFC, credit-based flow control of one link direction and VC (open profile section 2).

======== ================================= ===============================================================
side     event                             action
======== ================================= ===============================================================
sender   packet of n credits               goes only if used + n <= limit; consumed += n, once (a replay is free)
sender   packet on a best-effort VC        goes, neither held back nor charged; dropped where there is no room
sender   CF_UPDATE (vc, c)                 d = (c - freed) mod 2^15; d <= used: freed += d, else CF_ERROR, ignore
receiver packet accepted                   consumed += n
receiver packet has left the buffer        freed += n, a CF_UPDATE for the VC is due
receiver spacing over, one due             CF_UPDATE with the two VCs of most unreported credits (tie: lower VC);
                                           besides, each VC once in 262 144 B of line time
sender   CC timer                          CC_UPDATE with consumed of its VCs: eligible VCs in an eligible CC_UPDATE,
                                           ineligible ones in an ineligible one; values of the moment it is first sent
receiver CC_UPDATE S                       d = (S - consumed) mod 2^20; 0 < d < 2^19: freed += d, consumed = S,
                                           CF_UPDATE due: credits of lost, discarded, flushed packets return
======== ================================= ===============================================================

A packet takes ceil((size + overhead) / credit) credits, size = DA .. FCS without preamble. Counters are cyclic in ``bits`` bits
(20 on the wire, an argument here so that small spaces can be explored), CF_UPDATE carries the low ``update_bits`` (15).

Credits per port: one more SENDER record holds the port's total; a packet needs room in its VC *and* in the port (``*_port``
functions), each CF_UPDATE frees both. A VC without a limit of its own has `LIMIT_MAX`. The receiver needs nothing for it.

A CC_UPDATE that overtakes data of its VC makes the receiver free credits of packets that still come: they are counted twice
(``scalefab explore cbfc --plant ineligible-cc-update`` shows how). Hence the rule of eligibility, and that a replayed CC_UPDATE
carries its old values.

"Each VC once in 262 144 B" is read as: a VC that no CF_UPDATE has told for that line time is told again (`own`).

Counters, message form and spacing: `sib` (UEC 1.0 CBFC); credit of 64 B and buffer sizes: `own`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled, inlined

COUNTER_BITS = 20
UPDATE_BITS = 15
CREDIT_BYTES = 64
LIMIT_MAX = 32_767
CF_SPACING_BYTES = 6_400
REFRESH_BYTES = 262_144
CC_INTERVAL_PS = 256_000_000
CC_VCS_MAX = 16
"""VCs that one CC_UPDATE carries; more need two."""

SENDER = np.dtype([("consumed", np.int32), ("freed", np.int32), ("limit", np.int32), ("errors", np.int32)], align=True)
"""Per port and VC, at the sending end."""

RECEIVER = np.dtype([("consumed", np.int32), ("freed", np.int32), ("reported", np.int32), ("peak", np.int32)], align=True)
"""Per port and VC, at the receiving end; ``reported`` = freed as last told, ``peak`` = most credits held at once."""


@compiled
def credits_needed(size_bytes: int, overhead_bytes: int, credit_bytes: int) -> int:
    """Return the credits that a packet takes."""
    if credit_bytes == CREDIT_BYTES:  # the usual one; a shift, where a division a frame is 2 % of a simulation
        return (size_bytes + overhead_bytes + CREDIT_BYTES - 1) >> 6
    return (size_bytes + overhead_bytes + credit_bytes - 1) // credit_bytes


@compiled
def used(t: Any, bits: int) -> int:
    """Return the credits that the sender has out."""
    return (t.consumed - t.freed) & ((1 << bits) - 1)


@inlined
def may_send(t: Any, n: int, bits: int) -> bool:
    """Return whether a packet of n credits may go."""
    return used(t, bits) + n <= t.limit


@inlined
def on_send(t: Any, n: int, bits: int) -> None:
    """Charge a packet (once: a link-layer replay is not charged again)."""
    t.consumed = (t.consumed + n) & ((1 << bits) - 1)


@inlined
def on_update(t: Any, low_bits: int, bits: int, update_bits: int) -> int:
    """Take one VC's half of a CF_UPDATE. Return the credits that came back, -1 for a CF_ERROR."""
    d = (low_bits - t.freed) & ((1 << update_bits) - 1)
    if d > used(t, bits):
        t.errors += 1
        return -1
    t.freed = (t.freed + d) & ((1 << bits) - 1)
    return d


@compiled
def held(r: Any, bits: int) -> int:
    """Return the credits that packets hold at the receiver (in this buffer, or still on their way to it)."""
    return (r.consumed - r.freed) & ((1 << bits) - 1)


@compiled
def on_receive(r: Any, n: int, bits: int) -> None:
    """Count an accepted packet."""
    r.consumed = (r.consumed + n) & ((1 << bits) - 1)
    h = held(r, bits)
    if h > r.peak:
        r.peak = h


@inlined
def on_free(r: Any, n: int, bits: int) -> None:
    """Count a packet that has left the buffer."""
    r.freed = (r.freed + n) & ((1 << bits) - 1)


@inlined
def unreported(r: Any, bits: int) -> int:
    """Return the freed credits that no CF_UPDATE has told yet."""
    return (r.freed - r.reported) & ((1 << bits) - 1)


@inlined
def on_report(r: Any, update_bits: int) -> int:
    """Put the VC into a CF_UPDATE: return the low bits to send."""
    r.reported = r.freed
    return r.freed & ((1 << update_bits) - 1)


@compiled
def may_send_port(t: Any, port: Any, n: int, bits: int) -> bool:
    """Return whether a packet of n credits may go under the limits of its VC and of the port."""
    return may_send(t, n, bits) and may_send(port, n, bits)


@compiled
def on_send_port(t: Any, port: Any, n: int, bits: int) -> None:
    """Charge a packet to its VC and to the port."""
    on_send(t, n, bits)
    on_send(port, n, bits)


@compiled
def on_update_port(t: Any, port: Any, low_bits: int, bits: int, update_bits: int) -> int:
    """Take one VC's half of a CF_UPDATE for the VC and the port. Return the credits that came back, -1 for a CF_ERROR."""
    d = on_update(t, low_bits, bits, update_bits)
    if d > 0:
        port.freed = (port.freed + d) & ((1 << bits) - 1)
    return d


@compiled
def has_room(r: Any, n: int, buffer_credits: int, bits: int) -> bool:
    """Return whether the buffer takes a packet of n credits; what drops frames of a best-effort VC, never of a lossless one."""
    return held(r, bits) + n <= buffer_credits


@compiled
def most_unreported(receivers: Any, vcs: int, mask: int, skip: int, bits: int) -> int:
    """Return the VC of ``mask`` with most unreported credits, not ``skip`` (tie: the lower), -1 when none has any."""
    best = -1
    best_n = 0
    for vc in range(vcs):
        n = unreported(receivers[vc], bits) if vc != skip and (mask >> vc) & 1 else 0
        if n > best_n:
            best = vc
            best_n = n
    return best


@compiled
def refresh_due(told_ps: int, interval_ps: int, now_ps: int) -> bool:
    """Return whether a VC told last at ``told_ps`` is to be told again; interval = line time of `REFRESH_BYTES`."""
    return now_ps - told_ps >= interval_ps


@compiled
def cc_vcs(lossless_mask: int, eligible_mask: int, eligible: bool, part: int) -> int:
    """Return the VCs that a CC_UPDATE carries, as a mask (bit v = VC v); 0 = there is no such CC_UPDATE.

    Parameters
    ----------
    lossless_mask, eligible_mask
        VCs with credits; VCs whose frames LLR protects.
    eligible
        Whether this CC_UPDATE itself is sent as an LLR-eligible frame.
    part
        0 = the lowest `CC_VCS_MAX` of them, 1 = the rest.
    """
    wanted = lossless_mask & eligible_mask if eligible else lossless_mask & ~eligible_mask
    mask = 0
    seen = 0
    for vc in range(32):
        if (wanted >> vc) & 1:
            if seen // CC_VCS_MAX == part:
                mask |= 1 << vc
            seen += 1
    return mask


@compiled
def cc_value(t: Any) -> int:
    """Return what a CC_UPDATE says of a VC, taken when the CC_UPDATE is first sent: a replay of it carries the same."""
    return t.consumed


@compiled
def cc_missing(r: Any, consumed: int, bits: int) -> int:
    """Take one VC's value of a CC_UPDATE: return the credits of packets that never came, 0 = none. They are to be freed."""
    d = (consumed - r.consumed) & ((1 << bits) - 1)
    if d >= 1 << (bits - 1):  # behind: the receiver has counted more by now
        return 0
    r.consumed = consumed
    return d


@compiled
def on_cc_update(r: Any, consumed: int, bits: int) -> int:
    """Take one VC's value of a CC_UPDATE and free what is missing. Return those credits (then a CF_UPDATE is due), 0 = none."""
    d = cc_missing(r, consumed, bits)
    on_free(r, d, bits)
    return d
