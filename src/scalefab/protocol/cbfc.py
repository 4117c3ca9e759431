"""CBFC, credit-based flow control of one link direction and VC (open profile section 2).

======== ================================= ===============================================================
side     event                             action
======== ================================= ===============================================================
sender   packet of n credits               goes only if used + n <= limit; consumed += n
sender   CF_UPDATE (vc, c)                 d = (c - freed) mod 2^15; d <= used: freed += d, else CF_ERROR, ignore
receiver packet accepted                   consumed += n
receiver packet has left the buffer        freed += n, a CF_UPDATE for the VC is due
receiver spacing over, one due             CF_UPDATE with the two VCs of most unreported credits (tie: lower VC)
======== ================================= ===============================================================

A packet takes ceil((size + overhead) / credit) credits, size = DA .. FCS without preamble. Counters are cyclic in ``bits`` bits
(20 on the wire, an argument here so that small spaces can be explored), CF_UPDATE carries the low ``update_bits`` (15).
Counters, message form and spacing: `sib` (UEC 1.0 CBFC); credit of 64 B and buffer sizes: `own`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled

COUNTER_BITS = 20
UPDATE_BITS = 15
CREDIT_BYTES = 64
LIMIT_MAX = 32_767
CF_SPACING_BYTES = 6_400

SENDER = np.dtype([("consumed", np.int32), ("freed", np.int32), ("limit", np.int32), ("errors", np.int32)], align=True)
"""Per port and VC, at the sending end."""

RECEIVER = np.dtype([("consumed", np.int32), ("freed", np.int32), ("reported", np.int32), ("peak", np.int32)], align=True)
"""Per port and VC, at the receiving end; ``reported`` = freed as last told, ``peak`` = most credits held at once."""


@compiled
def credits_needed(size_bytes: int, overhead_bytes: int, credit_bytes: int) -> int:
    """Return the credits that a packet takes."""
    return (size_bytes + overhead_bytes + credit_bytes - 1) // credit_bytes


@compiled
def used(t: Any, bits: int) -> int:
    """Return the credits that the sender has out."""
    return (t.consumed - t.freed) & ((1 << bits) - 1)


@compiled
def may_send(t: Any, n: int, bits: int) -> bool:
    """Return whether a packet of n credits may go."""
    return used(t, bits) + n <= t.limit


@compiled
def on_send(t: Any, n: int, bits: int) -> None:
    """Charge a packet (once: a link-layer replay is not charged again)."""
    t.consumed = (t.consumed + n) & ((1 << bits) - 1)


@compiled
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


@compiled
def on_free(r: Any, n: int, bits: int) -> None:
    """Count a packet that has left the buffer."""
    r.freed = (r.freed + n) & ((1 << bits) - 1)


@compiled
def unreported(r: Any, bits: int) -> int:
    """Return the freed credits that no CF_UPDATE has told yet."""
    return (r.freed - r.reported) & ((1 << bits) - 1)


@compiled
def on_report(r: Any, update_bits: int) -> int:
    """Put the VC into a CF_UPDATE: return the low bits to send."""
    r.reported = r.freed
    return r.freed & ((1 << update_bits) - 1)
