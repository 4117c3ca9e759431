"""Random and mutated frames against the decoders, single core: ``python tests/fuzz/mutate.py --count 10000000``.

Six frames of eight get right checksums, so that what lies behind them is reached. Every answer must be a value (one in sixteen is
encoded and decoded again) or one WireError, in less than 10 ms of processor time for inputs of up to 10 KB.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from corpus import LINK_CHECKS, WIRES, again_alike, check_error, frames, link_forms, seal

from scalefab.errors import WireError
from scalefab.protocol.codec import decode, decode_raw
from scalefab.protocol.frame import Frame
from scalefab.protocol.icrc import fcs

SLOW_NS = 10_000_000
INPUT_MAX = 10_240


def mutated(base: bytes, rng: random.Random) -> bytearray:
    """Return a frame with a few changes, most of them in its headers."""
    data = bytearray(base)
    for _ in range(rng.randrange(1, 5)):
        what, size = rng.random(), len(data)
        if what < 0.55 and size:
            data[rng.randrange(min(size, 48))] ^= 1 << rng.randrange(8)
        elif what < 0.75 and size:
            data[rng.randrange(size)] = rng.choice((0, 1, 0x7F, 0x80, 0xFB, 0xFF, rng.randrange(256)))
        elif what < 0.85 and size > 8:  # a length of total_length's kind, mostly a legal one
            total = rng.choice((28, 36, 44, 60, 68, size - 4, size & ~7 | 4, rng.randrange(65_536)))
            data[8:10] = (total & 0xFFFF).to_bytes(2, "big")
        elif what < 0.92:
            del data[rng.randrange(size + 1) :]
        elif what < 0.97:
            data += rng.randbytes(rng.randrange(1, 300))
        elif size > 40:
            start = rng.randrange(24, size)
            data[start:start] = data[24 : 24 + 8 * rng.randrange(1, 8)]
    return data


def run(count: int, seed: int) -> Counter[str]:
    """Try ``count`` inputs; print what is found and return how often each answer came."""
    rng, seen = random.Random(seed), Counter[str]()
    starts, forms = frames(), link_forms()
    slowest, largest, begun = 0, 0, time.monotonic()
    for i in range(count):
        kind = i & 15
        if kind == 15:
            data = bytes(mutated(rng.choice(forms), rng))
            call = rng.choice(LINK_CHECKS)
        else:
            raw = bytearray(rng.randbytes(rng.randrange(INPUT_MAX if kind == 14 else 200))) if kind > 12 else None
            fresh = mutated(rng.choice(starts), rng) if raw is None else raw
            if kind % 8 == 2:  # a link's FCS is right, the end's ICRC is not
                fresh[-4:] = fcs(fresh[:-4]).to_bytes(4, "little")
            elif kind % 8:
                seal(fresh)
            data, call = bytes(fresh), decode_raw if kind == 7 else decode
        wire = WIRES[i % 3]
        before = time.thread_time_ns()
        try:
            value = call(data) if kind == 15 else call(data, wire)
        except WireError as error:
            took = time.thread_time_ns() - before
            check_error(error, len(data))
            seen[error.reason] += 1
        except Exception:
            print(f"finding: seed {seed}, input {i}, {call}: {data.hex()}", flush=True)
            raise
        else:
            took = time.thread_time_ns() - before
            seen["value"] += 1
            if kind < 15 and i % 16 == 0:
                again_alike(value if isinstance(value, Frame) else value[0], wire)
        if took > slowest:
            slowest, largest = took, len(data)
            if took > SLOW_NS:
                gc.collect()
                again = time.thread_time_ns()
                with suppress(WireError):
                    call(data) if kind == 15 else call(data, wire)
                assert time.thread_time_ns() - again < SLOW_NS, f"slow: {data.hex()}"
    took_s = time.monotonic() - begun
    print(f"seed {seed}: {count} inputs in {took_s:.0f} s ({took_s / count * 1e6:.1f} us each), no finding")
    print(f"slowest answer {slowest / 1e6:.3f} ms of processor time, for {largest} bytes")
    for name, number in seen.most_common():
        print(f"{name:>10} {number:>10}")
    return seen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    run(options.count, options.seed)
