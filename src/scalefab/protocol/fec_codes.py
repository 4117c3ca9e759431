"""The FEC codes of a link as plain integers, and the time that they take: open profile section 3. Nothing here is compiled.

| code | n | k | t | carries | origin |
| --- | --- | --- | --- | --- | --- |
| RS-272 | 272 | 258 | 7 | 10 x 257 bits and one 10-bit pad symbol | code ``pub``, parameters ``sib``: ETC LL-FEC |
| RS-528 | 528 | 514 | 7 | 20 x 257 bits | ``sib``: IEEE 802.3 |
| RS-544 | 544 | 514 | 15 | 20 x 257 bits | ``sib``: IEEE 802.3 |

A symbol has 10 bits. A block of ``depth`` interleaved codewords must have come before it can be decoded:

    FEC time = depth x codeword bits / coded rate + 35 ns decode + 3 ns encode,    coded rate = 17/16 x port rate

RS-272 at 800G: 3.2 ns at depth 1, RS-544 6.4 ns. The profile gives RS-528 the same coded rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from math import ceil
from types import MappingProxyType

from ..errors import InputError, Problem
from ..units import format_rate


class Fec(IntEnum):
    """Forward error correction of a link; the numbers are those of the negotiation TLV (`sib`)."""

    NONE = 0
    RS272 = 1
    RS528 = 2
    RS544 = 3


SYMBOL_BITS = 10
BLOCK_BITS = 257  # one 256b/257b transcoded block (sib: IEEE 802.3)
BLOCK_DATA_BYTES = 32
PAM4_BITS = 2
PAM4_A_SYMBOL = SYMBOL_BITS // PAM4_BITS

FEC_DECODE_PS = 35_000  # section 3
FEC_ENCODE_PS = 3_000  # section 3
CODED_RATE = Fraction(17, 16)  # section 3: 850 Gb/s for 800G
USUAL_DEPTH: Mapping[int, int] = MappingProxyType(
    {100_000_000_000: 1, 200_000_000_000: 2, 400_000_000_000: 2, 800_000_000_000: 4}
)
"""Usual codeword interleave by port rate in bits/s (section 3)."""
MAX_DEPTH = 16  # own: beyond any interleave in use


@dataclass(frozen=True, slots=True)
class Code:
    """One Reed-Solomon code over GF(2^10).

    Parameters
    ----------
    fec
        Its number in the negotiation TLV.
    name
        Its name for people.
    n, k
        Symbols of a codeword and of its message.
    blocks
        257-bit blocks that a message carries.
    """

    fec: Fec
    name: str
    n: int
    k: int
    blocks: int

    @property
    def parity(self) -> int:
        """Parity symbols, 2t."""
        return self.n - self.k

    @property
    def t(self) -> int:
        """Symbol errors that are always corrected."""
        return self.parity // 2

    @property
    def bits(self) -> int:
        """Bits of a codeword."""
        return self.n * SYMBOL_BITS

    @property
    def message_bits(self) -> int:
        """Bits of a message, the pad symbol counted."""
        return self.k * SYMBOL_BITS

    @property
    def pad_symbols(self) -> int:
        """Symbols of a message that carry no block: 1 in RS-272, else 0."""
        return (self.message_bits - self.blocks * BLOCK_BITS) // SYMBOL_BITS

    @property
    def data_bytes(self) -> int:
        """Bytes of Ethernet line time that a codeword carries (32 a block)."""
        return self.blocks * BLOCK_DATA_BYTES


CODES: Mapping[Fec, Code] = MappingProxyType(
    {
        code.fec: code
        for code in (
            Code(Fec.RS272, "RS-272", 272, 258, 10),
            Code(Fec.RS528, "RS-528", 528, 514, 20),
            Code(Fec.RS544, "RS-544", 544, 514, 20),
        )
    }
)


def usual_depth(rate_bps: int) -> int:
    """Return the usual codeword interleave of a port rate: 1, 2, 2, 4 at 100, 200, 400, 800 Gb/s (section 3).

    Raises
    ------
    InputError
        No such port rate.
    """
    if rate_bps not in USUAL_DEPTH:
        known = ", ".join(format_rate(rate) for rate in USUAL_DEPTH)
        raise InputError([Problem(f"no usual FEC depth for ports of {format_rate(rate_bps)}", f"one of {known}")])
    return USUAL_DEPTH[rate_bps]


def block_time_exact_ps(fec: Fec, rate_bps: int, depth: int = 0) -> Fraction:
    """Return the time of a block of interleaved codewords on the line in ps, exactly; 0 without FEC.

    Parameters
    ----------
    fec, rate_bps
        Code and port rate (800 Gb/s, not the coded 850).
    depth
        Codewords interleaved; 0 = the usual number for the port rate.

    Raises
    ------
    InputError
        ``depth`` is 0 and there is no such port rate.
    """
    if fec is Fec.NONE:
        return Fraction(0)
    interleave = depth or usual_depth(rate_bps)
    return Fraction(interleave * CODES[fec].bits * 10**12) / (CODED_RATE * rate_bps)


def fec_time_exact_ps(fec: Fec, rate_bps: int, depth: int = 0) -> Fraction:
    """Return block time + 35 ns decode + 3 ns encode in ps, exactly; 0 without FEC. RS-272 at 800G and depth 4: 50 800 ps.

    Parameters and errors as `block_time_exact_ps`.
    """
    if fec is Fec.NONE:
        return Fraction(0)
    return block_time_exact_ps(fec, rate_bps, depth) + FEC_DECODE_PS + FEC_ENCODE_PS


def fec_time_ps(fec: Fec, rate_bps: int, depth: int = 0) -> int:
    """Return `fec_time_exact_ps` rounded up to whole ps."""
    return ceil(fec_time_exact_ps(fec, rate_bps, depth))
