"""Forward error correction of a link: the three codes, interleaving, and the packing of 257-bit blocks (profile section 3).

``RS272.encode(message)``, ``RS272.decode(word)``, likewise `RS528` and `RS544`; parameters and times in `fec_codes`, error model
in `fec_loss`.

Order on the wire: words one after the other, or with interleave ``depth`` symbol 0 of all words of a block, then symbol 1 of all
and so on. Bit 0 of a 257-bit block goes first; ten bits make a symbol, the first in its least significant bit (``sib``: IEEE
802.3). RS-272 ends its message with one pad symbol: 0, or ten bits of PRBS9 (x^9 + x^5 + 1, ITU-T O.150), which runs on from word
to word (``own``: where it starts).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, Problem
from .fec_codes import BLOCK_BITS, CODES, MAX_DEPTH, SYMBOL_BITS, Fec
from .reed_solomon import UNCORRECTABLE, ReedSolomon, Symbols

__all__ = [
    "BY_FEC",
    "RS272",
    "RS528",
    "RS544",
    "UNCORRECTABLE",
    "Fec",
    "Pad",
    "ReedSolomon",
    "deinterleave",
    "interleave",
    "pack_blocks",
    "pad_symbols",
    "unpack_blocks",
]

RS272, RS528, RS544 = (ReedSolomon(CODES[fec]) for fec in (Fec.RS272, Fec.RS528, Fec.RS544))
BY_FEC: Mapping[Fec, ReedSolomon] = MappingProxyType({coder.code.fec: coder for coder in (RS272, RS528, RS544)})

Bits = NDArray[np.uint8]

_PRBS9_BITS = 511
_WEIGHTS = (1 << np.arange(SYMBOL_BITS)).astype(np.uint16)
_WEIGHTS.setflags(write=False)


class Pad(Enum):
    """What the pad symbol of RS-272 holds."""

    ZERO = "zero"
    PRBS9 = "prbs9"


def interleave(word: Symbols, depth: int) -> Symbols:
    """Return what goes on the wire, a new array: uint16[blocks, depth x n] from uint16[blocks x depth, n].

    Raises
    ------
    InputError
        The words do not fill whole blocks, or such a depth is not offered.
    """
    _check_depth(word, depth, word.shape[0] if word.ndim == 2 else -1, f"words of a block of {depth}")
    m, n = word.shape
    return word.reshape(m // depth, depth, n).swapaxes(1, 2).copy().reshape(m // depth, depth * n)


def deinterleave(line: Symbols, depth: int) -> Symbols:
    """Return the words of what came from the wire: the inverse of `interleave`. Raises InputError likewise."""
    _check_depth(line, depth, line.shape[1] if line.ndim == 2 else -1, f"symbols of a block of {depth} words")
    blocks, symbols = line.shape
    n = symbols // depth
    return line.reshape(blocks, n, depth).swapaxes(1, 2).copy().reshape(blocks * depth, n)


def _check_depth(array: Symbols, depth: int, items: int, what: str) -> None:
    if not 1 <= depth <= MAX_DEPTH:
        raise InputError([Problem(f"interleave {depth}", f"1 .. {MAX_DEPTH}")])
    if items < 0:
        raise InputError([Problem(f"symbols have the shape {array.shape}", "two dimensions")])
    if items % depth:
        raise InputError([Problem(f"{items} {what}", f"a multiple of {depth}")])


def pad_symbols(count: int, pad: Pad = Pad.ZERO, first: int = 0) -> Symbols:
    """Return the pad symbols of words ``first`` .. ``first + count - 1`` of a link: uint16[count]."""
    if pad is Pad.ZERO:
        return np.zeros(count, np.uint16)
    at = (SYMBOL_BITS * np.arange(first, first + count)[:, None] + np.arange(SYMBOL_BITS)) % _PRBS9_BITS
    return (_prbs9()[at] * _WEIGHTS).sum(axis=1, dtype=np.uint16)


def _prbs9() -> Bits:
    """Return one period of PRBS9 from a register of ones (own)."""
    register, bits = _PRBS9_BITS, np.empty(_PRBS9_BITS, np.uint8)
    for i in range(_PRBS9_BITS):
        bits[i] = register >> 8
        register = (register << 1 | (register >> 8 ^ register >> 4) & 1) & _PRBS9_BITS
    return bits


def pack_blocks(fec: Fec, blocks: Bits, pad: Pad = Pad.ZERO, first: int = 0) -> Symbols:
    """Return messages of 257-bit blocks.

    Parameters
    ----------
    fec
        The code, not NONE.
    blocks
        uint8[m, 10 or 20, 257]: bits, 0 or 1, first on the wire first.
    pad, first
        What the pad symbol holds (RS-272), and the number of the first word on its link (PRBS9 runs on).

    Returns
    -------
    uint16[m, k]

    Raises
    ------
    InputError
        Another shape or type, or elements that are no bits.
    """
    code = CODES[fec]
    wanted = f"uint8[m, {code.blocks}, {BLOCK_BITS}]"
    if blocks.dtype != np.uint8 or blocks.ndim != 3 or blocks.shape[1:] != (code.blocks, BLOCK_BITS):
        raise InputError([Problem(f"{code.name}: blocks are {blocks.dtype}{list(blocks.shape)}", wanted)])
    if blocks.size and int(blocks.max()) > 1:
        raise InputError([Problem(f"{code.name}: blocks hold the bit {int(blocks.max())}", "0 or 1")])
    m, data = len(blocks), code.k - code.pad_symbols
    message = np.empty((m, code.k), np.uint16)
    message[:, :data] = (blocks.reshape(m, data, SYMBOL_BITS) * _WEIGHTS).sum(axis=2, dtype=np.uint16)
    if code.pad_symbols:
        message[:, data] = pad_symbols(m, pad, first)
    return message


def unpack_blocks(fec: Fec, message: Symbols) -> tuple[Bits, Symbols]:
    """Return the blocks of messages, uint8[m, 10 or 20, 257], and their pad symbols, uint16[m, 1 or 0], which are not judged.

    Raises
    ------
    InputError
        ``message`` is not uint16[m, k].
    """
    code = CODES[fec]
    if message.dtype != np.uint16 or message.ndim != 2 or message.shape[1] != code.k:
        raise InputError([Problem(f"{code.name}: messages are {message.dtype}{list(message.shape)}", f"uint16[m, {code.k}]")])
    data = code.k - code.pad_symbols
    bits = (message[:, :data, None] >> np.arange(SYMBOL_BITS, dtype=np.uint16)) & 1
    return bits.astype(np.uint8).reshape(len(message), code.blocks, BLOCK_BITS), message[:, data:]
