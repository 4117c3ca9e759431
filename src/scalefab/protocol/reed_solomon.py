"""Reed-Solomon encoder and full decoder over GF(2^10), compiled: `ReedSolomon` (codes in `fec_codes`, field in `gf`).

What should make it fast, written down before the first measurement (goals on one core, message bits: encode 1.5 Gb/s, decode at
three symbol errors 300 Mb/s):

- Encoding is division by g(x). A table tells for each of the 1024 feedback symbols how all 14 (30) parity symbols change, packed
  six to an integer: 3 (5) look-ups a message symbol from 24 (40) KB that stay in the first cache. The parity lives in registers,
  so a symbol costs its chain of shift, xor, look-up, xor: some 9 cycles, 3 Gb/s.
- Decoding begins with the same division: a codeword has the parity of its message, and most words need no more. Else the 2t
  syndromes are the *remainder's* values at the roots: 14 x 14 products instead of 14 x 272.
- Berlekamp-Massey, Chien and Forney cost what the errors cost: their loops run over the degree of the locator.

Measured (one EPYC core, RS-272 and RS-544, message bits):

- division 3.3 and 3.0 Gb/s; with the parity in an array of any length 2.1 and 1.8; two codewords side by side 5.9, not taken:
  it needs every kernel twice;
- decoding at three errors 0.54 and 0.34 Gb/s when each syndrome was a loop of its own (every step waits for the one before),
  1.03 and 0.98 with the roots as the inner loop and Berlekamp-Massey bound to the terms that are there (both beside other
  processes);
- whole calls, table in ``benchmarks/fec.py``: encode 3.4 and 3.0, decode 3.2 and 2.8 without errors, 1.3 and 1.1 at three,
  0.83 and 0.46 at t. ``python -m benchmarks FEC`` measures them again.

Symbols stand highest power first: index 0 of a word is the coefficient of x^(n-1) and goes first on the wire, parity last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, compiled_entry
from ..errors import InputError, Problem
from .fec_codes import SYMBOL_BITS, Code
from .gf import EXP, FIELD, LOG, ORDER, divide, generator_polynomial, multiply

Symbols = NDArray[np.uint16]

UNCORRECTABLE = -1
"""What `ReedSolomon.decode` says of a word with more errors than it can find."""

_BITS = SYMBOL_BITS
_LANES = 6  # symbols of a parity integer: 60 bits, never negative
_TOP = _BITS * (_LANES - 1)
_LOW = (1 << _TOP) - 1  # all lanes but the top one
_MASK = FIELD - 1
_WORDS_SHORT = 3  # parity integers of up to 18 symbols; up to 30 take five

# Rows of the decoder's workspace; polynomials lowest power first, the remainder highest first.
_REMAINDER, _SYNDROME, _LOCATOR, _PREVIOUS, _KEPT, _OMEGA, _PLACE, _SUM = range(8)
_ROWS = 8


@compiled
def _divide3(word: Any, k: int, table: Any) -> tuple[int, int, int]:
    """Return the parity of a message of ``k`` symbols, up to 18 symbols in three integers, highest power first."""
    a, b, c = 0, 0, 0
    for i in range(k):
        f = (a >> _TOP) ^ int(word[i])
        a = (((a & _LOW) << _BITS) | (b >> _TOP)) ^ table[f, 0]
        b = (((b & _LOW) << _BITS) | (c >> _TOP)) ^ table[f, 1]
        c = ((c & _LOW) << _BITS) ^ table[f, 2]
    return a, b, c


@compiled
def _divide5(word: Any, k: int, table: Any) -> tuple[int, int, int, int, int]:
    """Return the parity of a message, up to 30 symbols in five integers."""
    a, b, c, d, e = 0, 0, 0, 0, 0
    for i in range(k):
        f = (a >> _TOP) ^ int(word[i])
        a = (((a & _LOW) << _BITS) | (b >> _TOP)) ^ table[f, 0]
        b = (((b & _LOW) << _BITS) | (c >> _TOP)) ^ table[f, 1]
        c = (((c & _LOW) << _BITS) | (d >> _TOP)) ^ table[f, 2]
        d = (((d & _LOW) << _BITS) | (e >> _TOP)) ^ table[f, 3]
        e = ((e & _LOW) << _BITS) ^ table[f, 4]
    return a, b, c, d, e


@compiled
def _unpack(packed: int, first: int, parity: int, out: Any) -> None:
    """Write the symbols of one parity integer to ``out[first:]``, no further than ``parity``."""
    for lane in range(min(_LANES, parity - first)):
        out[first + lane] = (packed >> (_TOP - _BITS * lane)) & _MASK


@compiled
def _parity(word: Any, k: int, parity: int, table: Any, out: Any) -> None:
    """Write the parity of a message to ``out[:parity]``, highest power first."""
    if table.shape[1] == _WORDS_SHORT:
        a, b, c = _divide3(word, k, table)
        _unpack(a, 0, parity, out)
        _unpack(b, _LANES, parity, out)
        _unpack(c, 2 * _LANES, parity, out)
    else:
        a, b, c, d, e = _divide5(word, k, table)
        _unpack(a, 0, parity, out)
        _unpack(b, _LANES, parity, out)
        _unpack(c, 2 * _LANES, parity, out)
        _unpack(d, 3 * _LANES, parity, out)
        _unpack(e, 4 * _LANES, parity, out)


@compiled_entry
def _encode(message: Any, word: Any, table: Any) -> None:
    k, n = message.shape[1], word.shape[1]
    for row in range(message.shape[0]):
        for i in range(k):
            word[row, i] = message[row, i]
        _parity(word[row], k, n - k, table, word[row, k:])


@compiled
def _syndromes(remainder: Any, parity: int, out: Any) -> None:
    """Write the remainder's values at alpha^0 .. alpha^(parity - 1), which are the word's own."""
    for root in range(parity):
        out[root] = remainder[0]
    for i in range(1, parity):  # Horner's steps of different roots do not wait for each other
        for root in range(parity):
            out[root] = EXP[LOG[out[root]] + root] ^ remainder[i]


@compiled
def _locator(syndrome: Any, parity: int, locator: Any, previous: Any, kept: Any) -> int:
    """Berlekamp-Massey: write the error locator (lowest power first) and return the length of its shift register."""
    for i in range(parity + 1):
        locator[i] = 0
    locator[0] = 1
    previous[0] = 1
    length, shift, last, terms = 0, 1, 1, 1
    for i in range(parity):
        discrepancy = syndrome[i]
        for j in range(1, length + 1):
            discrepancy ^= multiply(locator[j], syndrome[i - j])
        if discrepancy == 0:
            shift += 1
            continue
        factor = LOG[divide(discrepancy, last)]
        grows = 2 * length <= i
        if grows:
            for j in range(length + 1):
                kept[j] = locator[j]
        for j in range(min(terms, parity + 1 - shift)):
            if previous[j]:
                locator[j + shift] ^= EXP[factor + LOG[previous[j]]]
        if grows:
            for j in range(length + 1):
                previous[j] = kept[j]
            length, shift, last, terms = i + 1 - length, 1, discrepancy, length + 1
        else:
            shift += 1
    return length


@compiled
def _places(locator: Any, degree: int, n: int, value: Any, place: Any) -> int:
    """Chien: write the powers e < n with locator(alpha^-e) = 0 and return how many there are, at most ``degree``."""
    for e in range(n):
        value[e] = 1
    for j in range(1, degree + 1):
        if locator[j]:
            power = LOG[locator[j]]
            for e in range(n):
                value[e] ^= EXP[power]
                power -= j
                if power < 0:
                    power += ORDER
    found = 0
    for e in range(n):
        if value[e] == 0:
            if found == degree:
                return degree
            place[found] = e
            found += 1
    return found


@compiled
def _correct(word: Any, n: int, degree: int, work: Any) -> None:
    """Forney: put the values at the places right. The first root is alpha^0, so X x Omega(1/X) / Lambda'(1/X) is the error."""
    syndrome, locator, omega, place = work[_SYNDROME], work[_LOCATOR], work[_OMEGA], work[_PLACE]
    for i in range(degree):
        total = 0
        for j in range(i + 1):
            total ^= multiply(locator[j], syndrome[i - j])
        omega[i] = total
    for found in range(degree):
        e = place[found]
        step = (ORDER - e) % ORDER  # logarithm of 1/X
        top, below = 0, 0
        for i in range(degree - 1, -1, -1):
            top = EXP[LOG[top] + step] ^ omega[i]
        for j in range(1, degree + 1, 2):  # Lambda'(1/X) / X: the odd terms
            below ^= EXP[LOG[locator[j]] + (step * j) % ORDER]
        word[n - 1 - e] ^= divide(top, below)


@compiled
def _decode_word(word: Any, k: int, parity: int, table: Any, work: Any) -> int:
    """Correct one word in place; return its symbol errors, or `UNCORRECTABLE` and leave it as it is."""
    n = k + parity
    remainder = work[_REMAINDER]
    _parity(word, k, parity, table, remainder)
    differs = 0
    for i in range(parity):
        remainder[i] ^= int(word[k + i])
        differs |= remainder[i]
    if differs == 0:
        return 0
    _syndromes(remainder, parity, work[_SYNDROME])
    locator = work[_LOCATOR]
    degree = _locator(work[_SYNDROME], parity, locator, work[_PREVIOUS], work[_KEPT])
    # A locator of another degree, or without all its roots among the places that are sent, is that of no correctable word.
    if 2 * degree > parity or locator[degree] == 0:
        return UNCORRECTABLE
    if _places(locator, degree, n, work[_SUM], work[_PLACE]) != degree:
        return UNCORRECTABLE
    _correct(word, n, degree, work)
    return degree


@compiled_entry
def _decode(word: Any, errors: Any, k: int, table: Any, work: Any) -> None:
    parity = word.shape[1] - k
    for row in range(word.shape[0]):
        errors[row] = _decode_word(word[row], k, parity, table, work)


class ReedSolomon:
    """Encoder and decoder of one code; immutable, shared by all users.

    Parameters
    ----------
    code
        Its parameters, at most 30 parity symbols.

    Attributes
    ----------
    generator
        g(x), highest power first.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.generator = generator_polynomial(code.parity)
        self._table = _feedback_table(self.generator)

    def encode(self, message: Symbols) -> Symbols:
        """Append parity to messages.

        Parameters
        ----------
        message
            uint16[m, k], symbols 0 .. 1023, first on the wire first.

        Returns
        -------
        uint16[m, n]
            The messages with their parity behind them.

        Raises
        ------
        InputError
            Another type, shape or a value of more than ten bits; all that is wrong at once.
        """
        checked = self._checked(message, self.code.k, "message")
        word = np.empty((len(checked), self.code.n), np.uint16)
        _encode(checked, word, self._table)
        return word

    def decode(self, word: Symbols) -> tuple[Symbols, NDArray[np.int16]]:
        """Correct words; the argument is left as it is.

        Parameters
        ----------
        word
            uint16[m, n] as received.

        Returns
        -------
        word
            uint16[m, n]: corrected, or as received where that is not possible.
        errors
            int16[m]: symbols corrected, `UNCORRECTABLE` (-1) where more than t were found wrong. A word with more than t errors
            that lies within t of another codeword is corrected to that one, as by any decoder.

        Raises
        ------
        InputError
            As `encode`.
        """
        corrected = self._checked(word, self.code.n, "word").copy()
        errors = np.empty(len(corrected), np.int16)
        work = np.zeros((_ROWS, self.code.n), np.int64)
        _decode(corrected, errors, self.code.k, self._table, work)
        return corrected, errors

    def _checked(self, symbols: Symbols, columns: int, what: str) -> Symbols:
        given: Any = symbols  # a caller without a type checker may hand in anything
        if not isinstance(given, np.ndarray):
            raise InputError(
                [Problem(f"{self.code.name}: {what} is a {type(given).__name__}", f"an array of uint16[m, {columns}]")]
            )
        problems = []
        if given.dtype != np.uint16:
            problems.append(Problem(f"{self.code.name}: {what} has elements of {given.dtype}", "uint16"))
        if given.ndim != 2 or given.shape[1] != columns:
            problems.append(Problem(f"{self.code.name}: {what} has the shape {given.shape}", f"[m, {columns}]"))
        if given.dtype.kind in "iu" and given.size and not 0 <= int(given.min()) <= int(given.max()) < FIELD:
            outside = int(given.min()) if int(given.min()) < 0 else int(given.max())
            problems.append(Problem(f"{self.code.name}: {what} holds the symbol {outside}", f"0 .. {_MASK}"))
        if problems:
            raise InputError(problems)
        return np.ascontiguousarray(symbols)


def _feedback_table(generator: tuple[int, ...]) -> NDArray[np.int64]:
    """Return f x (g(x) - x^parity) for every symbol f, packed six symbols to an integer, highest power in the top lane."""
    parity = len(generator) - 1
    words = _WORDS_SHORT if parity <= _WORDS_SHORT * _LANES else 5
    if parity > words * _LANES:
        raise ValueError(f"{parity} parity symbols; at most {words * _LANES}")
    table = np.zeros((FIELD, words), np.int64)
    symbol = np.arange(FIELD)
    for i, coefficient in enumerate(generator[1:]):
        table[:, i // _LANES] |= EXP[LOG[symbol] + LOG[coefficient]].astype(np.int64) << (_TOP - _BITS * (i % _LANES))
    table.setflags(write=False)
    return table
