"""``python -m benchmarks FEC``: encoder and decoder of the three codes, message bits a second of one core.

Measured on one EPYC core (goals: encode 1.5 Gb/s, decode at three symbol errors 300 Mb/s):

| Gb/s | encode | decode, 0 errors | 3 errors | t errors | t + 1, given up |
| --- | --- | --- | --- | --- | --- |
| RS-272 | 3.4 | 3.2 | 1.3 | 0.83 | 0.93 |
| RS-528 | 3.4 | 3.3 | 1.5 | 0.97 | 1.05 |
| RS-544 | 3.0 | 2.8 | 1.1 | 0.46 | 0.51 |
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import Check

CASE = "FEC"
TITLE = "Reed-Solomon codes, 1000 words a call"
_WORDS = 1000  # 272 000 symbols: the words stay in the second cache, as between a link's stages
_BATCHES = 20
_ENCODE_GOAL, _DECODE_GOAL = 1.5e9, 300e6


def run(repeat: int) -> tuple[dict[str, Any], tuple[Check, ...]]:
    """Return the figures as a flat object and the goals beside them."""
    from scalefab.protocol.fec import RS272, RS528, RS544

    random = np.random.default_rng(1)
    flat: dict[str, Any] = {"case": CASE}
    checks: list[Check] = []
    for coder in (RS272, RS528, RS544):
        code = coder.code
        bits = _WORDS * code.message_bits
        message = random.integers(0, 1024, (_WORDS, code.k), np.uint16)
        word = coder.encode(message)
        key = code.name.replace("-", "").lower()
        rate = flat[f"{key}_encode_bps"] = bits / _fastest(lambda c=coder, m=message: c.encode(m), repeat)
        checks.append(Check(f"{code.name} encode", _ENCODE_GOAL / 1e9, float("inf"), rate / 1e9, "Gb/s"))
        for errors in (0, 3, code.t, code.t + 1):
            received = word.copy()
            for row in received:
                row[random.permutation(code.n)[:errors]] ^= random.integers(1, 1024, errors, np.uint16)
            rate = flat[f"{key}_decode_{errors}_bps"] = bits / _fastest(lambda c=coder, r=received: c.decode(r), repeat)
            goal = _DECODE_GOAL if errors <= 3 else 0.0
            checks.append(Check(f"{code.name} decode, {errors} errors", goal / 1e9, float("inf"), rate / 1e9, "Gb/s"))
    return flat, tuple(checks)


def _fastest(call: Callable[[], object], repeat: int) -> float:
    """Return the seconds of the fastest call; the first one, which loads the kernel, does not count."""
    call()
    best = float("inf")
    for _ in range(_BATCHES * repeat):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best
