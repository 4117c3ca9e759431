"""Faults at random times and places: links or whole switches that go down and come up; one named substream an entry."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal

from ..protocol.faults import DRAW_BITS, draw, substream_key

DRAWS_MAX = 20_000  # own: of one entry
_EXACT = Context(prec=30)  # a logarithm that is the same on every machine


def outages(
    seed: int, entry: int, places: int, begin_ps: int, end_ps: int, every_ps: int, down_ps: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (place, from, to) in order of time: a Poisson process, ``every_ps`` from one to the next on average.

    A place that is down already stays as it is: at most one outage of a place holds at a time. None lasts beyond ``end_ps``.

    Parameters
    ----------
    seed, entry
        Name the substream: (seed, "random faults", entry).
    places
        Links or switches to draw from, alike.
    begin_ps, end_ps
        From when to when they begin.
    every_ps, down_ps
        Mean time between two of all places together; how long each lasts.
    """
    key = substream_key(seed, "random faults", entry)
    up_ps = [begin_ps] * places
    t_ps = begin_ps
    for number in range(DRAWS_MAX):
        uniform = Decimal(draw(key, 2 * number) + 1) / (1 << DRAW_BITS)  # above 0, so that its logarithm is finite
        t_ps += int(-_EXACT.ln(uniform) * every_ps)
        if t_ps >= end_ps:
            return
        place = draw(key, 2 * number + 1) * places >> DRAW_BITS
        if up_ps[place] <= t_ps:
            up_ps[place] = min(t_ps + down_ps, end_ps)
            yield place, t_ps, up_ps[place]
