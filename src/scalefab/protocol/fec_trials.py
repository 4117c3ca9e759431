"""Monte Carlo of a coded line: random messages are really encoded, interleaved, corrupted, taken apart and decoded.

The line of `fec_loss` runs on over all words of a trial. It is drawn as runs (right for a geometric number of PAM4 symbols, then
wrong for another), not symbol by symbol: a trial costs what its errors cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .fec import BY_FEC, Fec, deinterleave, interleave
from .fec_codes import PAM4_A_SYMBOL, PAM4_BITS, SYMBOL_BITS
from .fec_loss import LineErrors
from .gf import FIELD
from .reed_solomon import UNCORRECTABLE, Symbols

I8 = NDArray[np.int64]

_BATCH = 20_000  # words encoded at once: 22 MB of RS-544


@dataclass(frozen=True, slots=True)
class Trials:
    """What came of the words of a trial.

    Attributes
    ----------
    words
        How many were sent.
    uncorrectable
        Those that the decoder gave up.
    miscorrected
        Those that it turned into another codeword.
    corrected
        int64[t + 1]: words that came back right, by the symbols that were corrected.
    """

    words: int
    uncorrectable: int
    miscorrected: int
    corrected: I8

    @property
    def failed(self) -> int:
        """Words whose message did not arrive."""
        return self.uncorrectable + self.miscorrected


def run_trials(fec: Fec, line: LineErrors, words: int, *, depth: int = 1, seed: int = 1) -> Trials:
    """Send ``words`` codewords over a line and count what the decoder makes of them.

    Parameters
    ----------
    fec, line, depth
        Code (not NONE), errors, interleave; ``words`` is rounded up to whole blocks.
    seed
        The same seed gives the same words and errors.

    Raises
    ------
    InputError
        An interleave that is not offered.
    """
    coder = BY_FEC[fec]
    random = np.random.Generator(np.random.Philox(key=[seed, int(fec)]))
    sent = uncorrectable = miscorrected = 0
    corrected = np.zeros(coder.code.t + 1, np.int64)
    state = bool(random.random() < line.ser)
    while sent < words:
        batch = -(-min(_BATCH, words - sent) // depth) * depth
        word = coder.encode(random.integers(0, FIELD, (batch, coder.code.k), np.uint16))
        wire = interleave(word, depth)
        state = corrupt(wire, line, random, state)
        received, errors = coder.decode(deinterleave(wire, depth))
        right = (received == word).all(axis=1)
        gave_up = errors == UNCORRECTABLE
        sent += batch
        uncorrectable += int(gave_up.sum())
        miscorrected += int((~right & ~gave_up).sum())
        corrected += np.bincount(errors[right & ~gave_up], minlength=len(corrected))
    return Trials(sent, uncorrectable, miscorrected, corrected)


def corrupt(wire: Symbols, line: LineErrors, random: np.random.Generator, wrong: bool = False) -> bool:
    """Put a line's errors into symbols, in place.

    Parameters
    ----------
    wire
        uint16, C order = order on the line.
    line, random
        The model and where its randomness comes from.
    wrong
        Whether the PAM4 symbol before the first was wrong (bursts).

    Returns
    -------
    bool
        Whether the last PAM4 symbol is wrong.
    """
    if not wire.flags.c_contiguous:
        raise ValueError("the symbols of a line are C-contiguous")
    flat = wire.reshape(-1)
    if line.burst == 0.0:
        bits = _hits(flat.size * SYMBOL_BITS, line.ber, random)
        np.bitwise_xor.at(flat, bits // SYMBOL_BITS, (1 << bits % SYMBOL_BITS).astype(np.uint16))
        return False
    total = flat.size * PAM4_A_SYMBOL
    at = _burst_symbols(total, line, random, wrong)
    bit = PAM4_BITS * (at % PAM4_A_SYMBOL) + random.integers(0, PAM4_BITS, at.size)  # one of its two (Gray code)
    np.bitwise_xor.at(flat, at // PAM4_A_SYMBOL, (1 << bit).astype(np.uint16))
    return bool(at.size and at[-1] == total - 1)


def _hits(total: int, chance: float, random: np.random.Generator) -> I8:
    """Return the places of 0 .. total - 1 that are hit, each with the same chance, ascending."""
    if chance <= 0.0:
        return np.zeros(0, np.int64)
    found: list[I8] = []
    last = -1
    while last < total:
        gaps = random.geometric(chance, int(total * chance * 1.1) + 16)
        places = last + np.cumsum(np.minimum(gaps, total + 1))
        last = int(places[-1])
        found.append(places)
    hits = np.concatenate(found)
    return hits[hits < total]


def _burst_symbols(total: int, line: LineErrors, random: np.random.Generator, wrong: bool) -> I8:
    """Return the wrong PAM4 symbols of 0 .. total - 1, ascending: runs of the two states follow each other."""
    if line.ber <= 0.0:
        return np.zeros(0, np.int64)
    starts: list[I8] = []
    lengths: list[I8] = []
    at = 0
    if wrong:  # the run goes on for a geometric number of symbols, maybe none
        run = int(random.geometric(1.0 - line.burst)) - 1
        starts.append(np.array([0]))
        lengths.append(np.array([run]))
        at = run  # the symbol at `at` is right; the gap below begins with it
    else:
        at = -1
    while at < total:
        many = int(total * line.ser * (1.0 - line.burst) * 1.1) + 16
        gaps = np.minimum(random.geometric(line.enter, many), total + 1)
        runs = random.geometric(1.0 - line.burst, many)
        # A right symbol at `at`, `gap` steps to the first wrong one, `run` wrong ones, then a right one again.
        ends = at + np.cumsum(gaps + runs)
        starts.append(ends - runs)
        lengths.append(runs)
        at = int(ends[-1])
    start, length = np.concatenate(starts), np.concatenate(lengths)
    wrong_at = np.repeat(start - (np.cumsum(length) - length), length) + np.arange(int(length.sum()))
    return wrong_at[wrong_at < total]
