"""From errors on the line to lost frames, in closed form: the error model of open profile section 3.

**Line.** Bits go two to a PAM4 symbol, five of those to a code symbol; a wrong PAM4 symbol has one wrong bit (Gray code).

- *Random*, ``burst`` = 0: every bit is wrong with probability BER, independently.
- *Bursts* of a decision feedback equaliser, ``burst`` = a > 0: a Markov chain over PAM4 symbols, P(error | ok) = p,
  P(error | error) = a. Then SER = p / (p + 1 - a), BER = SER / 2, so p = SER (1 - a) / (1 - SER).

**Codeword.** P(more than t of n code symbols hold an error), exactly: dynamic programming over the symbols with the state (last
PAM4 symbol ok or wrong; errors so far, more than t as one state). It begins in the chain's stationary state. With interleave
``depth`` the chain takes the steps of the other words between two symbols of a word. Every step adds and multiplies positive
numbers only, so a tail of 1e-60 is as exact as one of 0.1.

**Frame.** FLR = P(codeword) x (depth + S / B): S line bytes of the frame with preamble and gap (84 at least), B data bytes
a codeword. At depth 1 it is the profile's P x (1 + 84 / B). A frame touches 1 + S / (depth B) blocks on average, all ``depth``
words of each, since symbols go round them; the sum over words is an upper bound that is close as long as words fail one at a time
(a burst that breaks two words of a block counts twice). Without FEC, FLR = P(an error in the frame's S bytes).

This reading gives the profile's thresholds (FLR 6.2e-10 at depth 1: RS-272 at 9.92e-5 random and 8.88e-9 with a = 0.75, RS-544 at
3.77e-4 and 5.79e-5). Origin: model and thresholds ``sib`` (ETC LL-FEC, IEEE 802.3 contributions), interleave and no FEC ``own``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, log1p

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, Problem
from .fec_codes import CODES, MAX_DEPTH, PAM4_A_SYMBOL, PAM4_BITS, SYMBOL_BITS, Code, Fec
from .profile import FRAME_MIN_BYTES, WIRE_EXTRA_BYTES

F8 = NDArray[np.float64]

MAX_BER = 0.25  # own: every second PAM4 symbol wrong; beyond it no burst chain has a steady state for every a
SMALLEST_WIRE_BYTES = FRAME_MIN_BYTES + WIRE_EXTRA_BYTES
_PAM4_A_BYTE = 8 // PAM4_BITS


@dataclass(frozen=True, slots=True)
class LineErrors:
    """How a line errs.

    Parameters
    ----------
    ber
        Bit error ratio before FEC, 0 .. 0.25.
    burst
        a, the probability that the PAM4 symbol after a wrong one is wrong too, 0 .. 1 (excluded); 0 = independent bits.

    Raises
    ------
    InputError
        Values outside; both at once.
    """

    ber: float
    burst: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        if not 0.0 <= self.ber <= MAX_BER:
            problems.append(Problem(f"bit error ratio {self.ber}", f"0 .. {MAX_BER}", key="ber"))
        if not 0.0 <= self.burst < 1.0:
            problems.append(Problem(f"P(error after error) {self.burst}", "0 .. 1, 1 excluded", key="burst"))
        if problems:
            raise InputError(problems)

    @property
    def ser(self) -> float:
        """Ratio of wrong PAM4 symbols."""
        return 2.0 * self.ber if self.burst else -expm1(PAM4_BITS * log1p(-self.ber))

    @property
    def enter(self) -> float:
        """p, the probability that the PAM4 symbol after a right one is wrong."""
        return self.ser * (1.0 - self.burst) / (1.0 - self.ser) if self.burst else self.ser


def symbol_errors(code: Code, line: LineErrors, depth: int = 1) -> F8:
    """Return the probabilities of 0, 1 .. t wrong symbols in a codeword, and of more than t: t + 2 values that sum to 1.

    Raises
    ------
    InputError
        An interleave that is not offered.
    """
    if not 1 <= depth <= MAX_DEPTH:
        raise InputError([Problem(f"interleave {depth}", f"1 .. {MAX_DEPTH}", key="depth")])
    state, good, bad, between = _random_chain(line) if line.burst == 0.0 else _burst_chain(line, depth)
    counts = np.zeros((code.t + 1, len(state)))
    counts[0] = state
    tail = 0.0
    for symbol in range(code.n):
        if symbol:
            counts = counts @ between
        wrong = counts @ bad
        tail += float(wrong[-1].sum())
        counts = counts @ good
        counts[1:] += wrong[:-1]
    return np.append(counts.sum(axis=1), tail)


def _random_chain(line: LineErrors) -> tuple[F8, F8, F8, F8]:
    """Return a chain of one state: start, step over a right and over a wrong code symbol, step between two of a word."""
    right = SYMBOL_BITS * log1p(-line.ber)
    return np.ones(1), np.array([[np.exp(right)]]), np.array([[-expm1(right)]]), np.ones((1, 1))


def _burst_chain(line: LineErrors, depth: int) -> tuple[F8, F8, F8, F8]:
    """Return the same of the two states ok and wrong; the sum of good and bad is the chain over five PAM4 symbols."""
    p, a = line.enter, line.burst
    to_ok = np.array([[1.0 - p, 0.0], [1.0 - a, 0.0]])
    to_wrong = np.array([[0.0, p], [0.0, a]])
    step = to_ok + to_wrong
    good, bad = to_ok, to_wrong
    for _ in range(PAM4_A_SYMBOL - 1):
        good, bad = good @ to_ok, bad @ step + good @ to_wrong
    foreign = np.linalg.matrix_power(step, PAM4_A_SYMBOL * (depth - 1))
    return np.array([1.0 - line.ser, line.ser]), good, bad, foreign


def codeword_failure(fec: Fec, line: LineErrors, depth: int = 1) -> float:
    """Return P(more than t wrong symbols in a codeword). Raises InputError as `symbol_errors`."""
    return float(symbol_errors(CODES[fec], line, depth)[-1])


def frame_loss(fec: Fec, line: LineErrors, wire_bytes: int = SMALLEST_WIRE_BYTES, depth: int = 1) -> float:
    """Return the probability that a frame is lost on one link.

    Parameters
    ----------
    fec, line
        Code (NONE too) and how the line errs.
    wire_bytes
        Line time of the frame in bytes, preamble and gap counted: frame + 20.
    depth
        Codeword interleave; of no meaning without FEC.

    Raises
    ------
    InputError
        As `symbol_errors`.
    """
    if fec is Fec.NONE:
        return uncoded_loss(line, wire_bytes)
    return coded_loss(CODES[fec], codeword_failure(fec, line, depth), wire_bytes, depth)


def coded_loss(code: Code, failure: float, wire_bytes: int, depth: int) -> float:
    """Return FLR = P(codeword) x (depth + S / B), at most 1, from the codeword's ``failure`` probability."""
    return min(1.0, failure * (depth + wire_bytes / code.data_bytes))


def uncoded_loss(line: LineErrors, wire_bytes: int) -> float:
    """Return P(an error in ``wire_bytes`` of line): the first PAM4 symbol is stationary, every other follows a right one."""
    if line.burst == 0.0:
        return -expm1(8 * wire_bytes * log1p(-line.ber))
    return -expm1(log1p(-line.ser) + (_PAM4_A_BYTE * wire_bytes - 1) * log1p(-line.enter))
