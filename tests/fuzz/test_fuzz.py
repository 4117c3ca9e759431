"""The fuzzers' loops, shortly; the long run is marked and its output kept under docs/evidence."""

from __future__ import annotations

import random

import pytest
from corpus import check_bytes, frames, link_forms, seal
from mutate import mutated, run

from scalefab.protocol.endpoint import Endpoint
from scalefab.protocol.frame import WireFormat
from scalefab.protocol.memory import Memory
from scalefab.protocol.target import Target
from scalefab.protocol.windows import Rights, Window


def test_twenty_thousand_mutated_inputs() -> None:
    seen = run(20_000, 7)
    assert sum(seen.values()) == 20_000 and seen["value"] > 1000


@pytest.mark.long
def test_ten_million_mutated_inputs() -> None:
    assert sum(run(10_000_000, 1).values()) == 10_000_000


def test_all_decoders_take_all_starts() -> None:
    for data in frames() + link_forms():
        check_bytes(data, WireFormat())


def test_an_endpoint_has_a_verdict_for_any_frame() -> None:
    rng = random.Random(11)
    windows = {0: Window(0, 0, 1 << 17, Rights.ALL), 7: Window(0, 0, 1 << 16, Rights.READ | Rights.WRITE)}
    endpoint = Endpoint(300, Target(Memory(bytearray(1 << 17), windows)), partitions=range(1024))
    starts, taken = frames(), 0
    for _ in range(5000):
        data = mutated(rng.choice(starts), rng)
        if len(data) >= 64:
            data[0:2] = (300).to_bytes(2)
            data[6:8] = bytes([data[16] & 3, data[17]])
            data[18:20] = rng.choice([bytes([0, rng.randrange(4)]), data[18:20]])
        seal(data)
        received = endpoint.receive(bytes(data))
        taken += received.verdict == "ACCEPT"
        assert received.verdict == "ACCEPT" or endpoint.counters[received.verdict] > 0
    assert taken > 50
