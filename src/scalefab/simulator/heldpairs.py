"""Which accepted requests of a pair still wait for room for their responses: a FENCE is answered behind them.

What waits is counted in two epochs. A FENCE that finds some waiting is answered when those are executed: a new epoch begins for
requests that come later, so that a stream of them cannot hold it up for ever. While an older epoch is not through, FENCEs wait
for the end of that one first.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .records import State


@compiled
def note_held(S: State, f: Any) -> int:
    """Frame ``f`` begins to wait for room: return its epoch."""
    p = S.order_pair[f.src * S.kernel[0].endpoints + f.dst]
    if p < 0:
        return 0
    q = S.pair[p]
    if q.epoch:
        q.held1 += 1
    else:
        q.held0 += 1
    return q.epoch


@compiled
def held_in(q: Any, epoch: int) -> int:
    """Return how many requests of an epoch wait."""
    return q.held1 if epoch else q.held0
