"""Random words for the FEC tests, few where nothing is compiled, and an independent codec to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalefab.compiled import jit_enabled
from scalefab.protocol.fec import ReedSolomon

Symbols = NDArray[np.uint16]


def some(compiled: int, interpreted: int = 2) -> int:
    """Return how many words a test takes."""
    return compiled if jit_enabled() else interpreted


def messages(coder: ReedSolomon, count: int, seed: int) -> Symbols:
    return np.random.default_rng(seed).integers(0, 1024, (count, coder.code.k), np.uint16)


def spoilt(word: Symbols, errors: int, seed: int) -> Symbols:
    """Return words with exactly ``errors`` wrong symbols each."""
    random = np.random.default_rng(seed)
    received = word.copy()
    for row in received:
        row[random.permutation(len(row))[:errors]] ^= random.integers(1, 1024, errors, np.uint16)
    return received


def reedsolo_codec(coder: ReedSolomon) -> Any:
    import reedsolo

    return reedsolo.RSCodec(coder.code.parity, nsize=coder.code.n, fcr=0, prim=0x409, generator=2, c_exp=10)
