"""Which experts a token goes to: balanced or Zipf-skewed, group-limited or free; the same seed gives the same choice.

*Balanced* deals experts from shuffled decks, one after the other, token by token through all GPUs: after any whole deck every
expert has received the same number of tokens, and never do two differ by more than one (group-limited: by two, in all that was
tried). Who meets whom in a token is random, as with a trained router whose load is balanced.

*Zipf* gives the expert of popularity rank r (1 = most popular; the seed shuffles ranks over experts) the weight r^-s and draws a
token's experts one after the other without replacement, which an exponential race does for all at once: the ``top_k`` smallest
of E_i / w_i with E_i exponential (Efraimidis and Spirakis; the Gumbel top-k trick in other words).

Group-limited routing (DeepSeek-V3): experts stand in ``groups`` equal groups, a token's experts come from ``top_groups`` of
them. Zipf takes the groups whose best expert is best.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .graph import I4, I8
from .spec import MoeLayer, Routing

_ROWS = 4096  # tokens at a time: bounds the memory of the race
_WEIGHT_SCALE = 2.0**48

F8 = NDArray[np.float64]


def substream(seed: int, *path: str | int) -> np.random.Generator:
    """Return the random generator of a named substream of a seed, such as ``(seed, "routing", 3)``."""
    words = [zlib.crc32(part.encode()) if isinstance(part, str) else part for part in path]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([len(words), *words, seed])))


def choices(layer: MoeLayer, ranks: int) -> Iterator[I4]:
    """Yield for each rank the experts of its tokens, shape (tokens_per_gpu, top_k), distinct in a row."""
    if layer.routing is Routing.BALANCED:
        yield from _balanced(layer, ranks)
    else:
        yield from _zipf(layer, ranks)


class Dealer:
    """Deals hands of distinct items 0 .. ``size``-1 from shuffled decks: counts never differ by more than one.

    A hand that ends one deck and begins the next would meet an item twice; such items go to the end of the new deck.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size, self.rng = size, rng
        self.rest: I4 = np.empty(0, np.int32)

    def deal(self, hands: I8) -> I4:
        """Return the next hands, one after the other; ``hands`` = their sizes, each at most ``size``; shape (sum,)."""
        needed = int(hands.sum())
        decks = max(0, -(-(needed - len(self.rest)) // self.size))
        fresh = self.rng.permuted(np.broadcast_to(np.arange(self.size, dtype=np.int32), (decks, self.size)), axis=1)
        stream = np.concatenate((self.rest, fresh.ravel()))
        ends = np.cumsum(hands)
        starts = len(self.rest) + np.arange(decks) * self.size
        hand = np.searchsorted(ends, starts, side="right")  # the hand that holds each deck's first item
        for start, h in zip(starts.tolist(), hand.tolist(), strict=True):
            first = int(ends[h] - hands[h]) if h < len(ends) else start
            if first < start:
                deck = stream[start : start + self.size]
                again = np.isin(deck, stream[first:start])
                deck[:] = np.concatenate((deck[~again], deck[again]))
        self.rest = stream[needed:]
        return stream[:needed]


def _balanced(layer: MoeLayer, ranks: int) -> Iterator[I4]:
    model, tokens = layer.model, layer.tokens_per_gpu
    rng = substream(layer.seed, "routing")
    if model.groups == 1:
        dealer = Dealer(model.experts, rng)
        for _ in range(ranks):
            yield dealer.deal(np.full(tokens, model.top_k, np.int64)).reshape(tokens, model.top_k)
        return
    per_group = model.experts // model.groups
    of_groups = Dealer(model.groups, rng)
    in_group = [Dealer(per_group, rng) for _ in range(model.groups)]
    open_groups = min(model.top_groups, model.top_k)
    share, extra = divmod(model.top_k, open_groups)
    extras = np.zeros(model.groups, np.int64)
    for _ in range(ranks):
        group = of_groups.deal(np.full(tokens, open_groups, np.int64))
        sizes = share + _extra(group.reshape(tokens, open_groups), extra, extras).ravel()
        at = np.cumsum(sizes) - sizes
        out = np.empty(tokens * model.top_k, np.int32)
        for g, dealer in enumerate(in_group):
            mine = np.flatnonzero(group == g)
            hands = sizes[mine]
            within = np.arange(int(hands.sum())) - np.repeat(np.cumsum(hands) - hands, hands)
            out[np.repeat(at[mine], hands) + within] = g * per_group + dealer.deal(hands)
        yield out.reshape(tokens, model.top_k)


def _extra(group: I4, extra: int, extras: I8) -> I8:
    """Return where a token takes one expert more: in the ``extra`` of its groups that did so least (``extras``, counted here)."""
    out = np.zeros(group.shape, np.int64)
    if extra:
        for row, groups in zip(out, group, strict=True):
            slots = np.argsort(extras[groups], kind="stable")[:extra]
            row[slots] = 1
            extras[groups[slots]] += 1
    return out


def popularity(experts: int, exponent: float, seed: int) -> F8:
    """Return the Zipf weight of each expert, shape (experts,); rounded to whole numbers so that no library's last bit matters."""
    rank = substream(seed, "routing", "popularity").permutation(experts) + 1.0
    weight: F8 = np.maximum(np.rint(rank**-exponent * _WEIGHT_SCALE), 1.0)
    return weight


def _zipf(layer: MoeLayer, ranks: int) -> Iterator[I4]:
    model = layer.model
    weight = popularity(model.experts, layer.zipf_exponent, layer.seed)
    for rank in range(ranks):
        rng = substream(layer.seed, "routing", rank)
        out = np.empty((layer.tokens_per_gpu, model.top_k), np.int32)
        for first in range(0, layer.tokens_per_gpu, _ROWS):
            rows = out[first : first + _ROWS]
            race = rng.standard_exponential((len(rows), model.experts)) / weight
            if model.top_groups < model.groups:
                _close_groups(race, model.groups, model.top_groups)
            rows[:] = _smallest(race, model.top_k)
        yield out


def _close_groups(race: F8, groups: int, open_groups: int) -> None:
    """Take every expert outside the ``open_groups`` groups with the best leaders out of the race."""
    by_group = race.reshape(len(race), groups, -1)
    closed = np.argpartition(by_group.min(axis=2), open_groups - 1, axis=1)[:, open_groups:]
    by_group[np.arange(len(race))[:, None], closed] = np.inf


def _smallest(race: F8, count: int) -> I4:
    if count == race.shape[1]:
        return np.broadcast_to(np.arange(count, dtype=np.int32), race.shape)
    return np.argpartition(race, count - 1, axis=1)[:, :count].astype(np.int32)
