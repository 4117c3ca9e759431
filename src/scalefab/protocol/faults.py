"""Which frames a link loses: a counter-based generator, one substream a link, and thresholds to compare with; integers only.

``loses(key, number, thresholds[wire_bytes])`` answers for frame ``number`` of a link: the same link, seed and number give the
same answer on every machine, whatever other links do and in whatever order they are asked.

- Generator: Philox-2x32-10 (Salmon et al., SC 2011; pub), as in Random123. Products go by halves, so that no integer leaves 63
  bits and compiled and interpreted code agree.
- Substream: 63 bits of BLAKE2b over (seed, name, index) (own): 32 are the key, 31 are mixed into the counter's high word, so
  that any two of 10^5 links share a stream with a probability of 5e-10.
- Thresholds: loss probability x 2^62, rounded to nearest, from `fec_loss.frame_loss`, one for each length of a frame on the line.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .fec_codes import CODES, Fec
from .fec_loss import LineErrors, coded_loss, codeword_failure, uncoded_loss
from .profile import WIRE_EXTRA_BYTES

I8 = NDArray[np.int64]

DRAW_BITS = 62
_ROUNDS = 10
_MULTIPLIER = 0xD256D193  # Philox-2x32's M
_WEYL = 0x9E3779B9  # and its key increment
_M32 = 0xFFFFFFFF
_M16 = 0xFFFF


def substream_key(seed: int, name: str, index: int) -> int:
    """Return the key of substream (seed, name, index), such as (1, "fault", link): 63 bits, never negative."""
    text = f"{seed}/{name}/{index}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


@compiled
def philox(low: int, high: int, key: int) -> tuple[int, int]:
    """Return Philox-2x32-10 of the counter (``low``, ``high``) under ``key``: two words of 32 bits."""
    for _ in range(_ROUNDS):
        bottom = _MULTIPLIER * (low & _M16)
        top = _MULTIPLIER * (low >> 16) + (bottom >> 16)  # the product's bits 16 and up, below 2^49
        low, high = ((top >> 16) ^ key ^ high) & _M32, ((top & _M16) << 16) | (bottom & _M16)
        key = (key + _WEYL) & _M32
    return low, high


@compiled
def draw(key: int, number: int) -> int:
    """Return value ``number`` (0 and up) of a substream: uniform over 0 .. 2^62 - 1."""
    first, second = philox(number & _M32, (number >> 32) ^ (key >> 32), key & _M32)
    return (first << 30) | (second >> 2)


@compiled
def loses(key: int, number: int, threshold: int) -> bool:
    """Whether frame ``number`` of the link with that key is lost, ``threshold`` = its probability x 2^62."""
    return threshold > 0 and draw(key, number) < threshold


def threshold_of(probability: float) -> int:
    """Return a probability as what `loses` compares with."""
    return min(1 << DRAW_BITS, round(probability * (1 << DRAW_BITS)))


def loss_thresholds(fec: Fec, line: LineErrors, depth: int, frame_max: int) -> I8:
    """Return the threshold of every length on the line.

    Parameters
    ----------
    fec, line, depth
        Code, errors of the line before it, interleave.
    frame_max
        Largest frame, bytes; a tag's 4 B may come on top.

    Returns
    -------
    int64[frame_max + 25]
        Read-only; index = frame + 20 B of preamble and gap. Links of one kind share it.

    Raises
    ------
    InputError
        An interleave that is not offered.
    """
    sizes = range(frame_max + 4 + WIRE_EXTRA_BYTES + 1)
    if fec is Fec.NONE:
        chances = [uncoded_loss(line, size) if size else 0.0 for size in sizes]
    else:
        failure = codeword_failure(fec, line, depth)
        chances = [coded_loss(CODES[fec], failure, size, depth) for size in sizes]
    table = np.array([threshold_of(chance) for chance in chances], np.int64)
    table.setflags(write=False)
    return table
