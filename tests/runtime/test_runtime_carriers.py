"""Carriers move whole records in order between processes; faults and captures stand in front of any of them."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalefab.capture.dissect import dissect_line
from scalefab.capture.dissection import Kind
from scalefab.capture.reader import read_capture
from scalefab.errors import InputError
from scalefab.protocol.codec import encode
from scalefab.protocol.frame import ack_frame
from scalefab.runtime.faulty import Faults, FaultyCarrier
from scalefab.runtime.ring import HEADER_BYTES, NOTHING, TOO_SHORT, Ring
from scalefab.runtime.shm import End, ShmCarrier, shared_folder
from scalefab.runtime.traced import TracedCarrier


def ring(capacity: int = 1024) -> Ring:
    return Ring(np.zeros(HEADER_BYTES + capacity, np.uint8))


@given(st.lists(st.one_of(st.binary(max_size=100), st.none()), max_size=60))
def test_a_ring_is_a_queue_of_bytes(steps: list[bytes | None]) -> None:
    one, model, buffer = ring(256), list[bytes](), np.zeros(200, np.uint8)
    for step in steps:  # None: take one
        if step is None:
            size = one.pop(buffer)
            assert (size == NOTHING) if not model else buffer[:size].tobytes() == model.pop(0)
        elif one.push(step):
            model.append(step)
        else:
            assert sum(8 + -(-len(record) // 8) * 8 for record in model) + 8 + len(step) > 128  # at most a wrap is lost
    while model:
        size = one.pop(buffer)
        assert buffer[:size].tobytes() == model.pop(0)
    assert one.pop(buffer) == NOTHING


def test_a_record_that_does_not_fit_the_buffer_stays() -> None:
    one, buffer = ring(), np.zeros(100, np.uint8)
    assert one.push(b"x" * 60)
    assert one.pop(buffer[:59]) == TOO_SHORT and one.pop(buffer) == 60


def test_what_a_ring_refuses() -> None:
    with pytest.raises(ValueError, match="a record of 505 bytes in a ring for 504"):
        ring().push(bytes(505))
    with pytest.raises(ValueError, match="are no ring"):
        Ring(np.zeros(HEADER_BYTES + 100, np.uint8))


CHILD = """
import sys
from pathlib import Path
from scalefab.runtime.shm import End, ShmCarrier

carrier = ShmCarrier(Path(sys.argv[1]), End.B)
left = int(sys.argv[2])
while left:
    record = carrier.receive()
    if record is not None:
        while not carrier.send(record[::-1]):
            pass
        left -= 1
"""


def shared(tmp_path: Path) -> Path:
    return shared_folder() / f"scalefab-test-{tmp_path.name}-{time.monotonic_ns()}"


def test_two_processes_exchange_records_whole_and_in_order(tmp_path: Path) -> None:
    count, rng = 5_000, np.random.default_rng(1)
    records = [rng.integers(0, 256, int(size), np.uint8).tobytes() for size in rng.integers(8, 2100, count)]
    path = shared(tmp_path)
    carrier = ShmCarrier(path, End.A, 1 << 15)  # it wraps and is full often
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(count)])
    try:
        back: list[bytes] = []
        at, deadline = 0, time.monotonic() + 60
        while len(back) < count and time.monotonic() < deadline:
            if at < count and carrier.send(records[at]):
                at += 1
            record = carrier.receive()
            if record is not None:
                back.append(record)
        assert back == [record[::-1] for record in records]
        assert child.wait(10) == 0
    finally:
        child.kill()
        carrier.close()
    assert not path.exists()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = shared(tmp_path)
    carrier = ShmCarrier(path, End.A)
    try:
        with pytest.raises(InputError, match="cannot be made"):
            ShmCarrier(path, End.A)
    finally:
        carrier.close()
    with pytest.raises(InputError, match="cannot be opened"):
        ShmCarrier(path, End.B)
    other = tmp_path / "other"
    for content in (b"", b"x" * 8192):
        other.write_bytes(content)
        with pytest.raises(InputError, match="no file of this carrier"):
            ShmCarrier(other, End.B)


class Kept:
    """A carrier that keeps what is sent, with room for so many."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.sent: list[bytes] = []
        self.room = room

    def send(self, record: bytes) -> bool:
        if len(self.sent) >= self.room:
            return False
        self.sent.append(record)
        return True

    def receive(self) -> bytes | None:
        return None

    def close(self) -> None:
        self.room = 1 << 30


def numbered(count: int) -> list[bytes]:
    return [number.to_bytes(8, "big") for number in range(count)]


def test_faults_are_as_frequent_as_asked_and_the_same_for_a_seed() -> None:
    faults = Faults(loss=0.05, corruption=0.04, duplication=0.03, reordering=0.02)
    seen = []
    for seed in (7, 7, 8):
        inner = Kept()
        carrier = FaultyCarrier(inner, faults, seed, lambda: 0)
        for record in numbered(20_000):
            assert carrier.send(record)
        carrier.close()
        seen.append(inner.sent)
    counts = carrier.counts
    assert seen[0] == seen[1] != seen[2]
    for found, asked in ((counts.lost, 0.05), (counts.corrupted, 0.04), (counts.duplicated, 0.03), (counts.reordered, 0.02)):
        assert found == pytest.approx(20_000 * asked, rel=0.15)
    assert len(inner.sent) == 20_000 - counts.lost + counts.duplicated
    right = set(numbered(20_000))
    wrong = [record for record in inner.sent if record not in right]
    assert len(wrong) <= counts.corrupted + counts.duplicated


def test_without_faults_nothing_changes_and_each_alone_does_what_it_says() -> None:
    for faults, check in (
        (Faults(), lambda sent: sent == numbered(100)),
        (Faults(loss=1.0), lambda sent: sent == []),
        (Faults(duplication=1.0), lambda sent: Counter(sent) == Counter(dict.fromkeys(numbered(100), 2))),
        (Faults(corruption=1.0), lambda sent: all(bin(int.from_bytes(a) ^ n).count("1") == 1 for n, a in enumerate(sent))),
        (Faults(reordering=1.0), lambda sent: sent == [numbered(100)[n ^ 1] for n in range(100)]),
    ):
        inner = Kept()
        carrier = FaultyCarrier(inner, faults, 1, lambda: 0)
        for record in numbered(100):
            assert carrier.send(record)
        carrier.close()
        assert check(inner.sent), faults


def test_late_records_come_when_their_time_has_come() -> None:
    now, inner = [0], Kept()
    carrier = FaultyCarrier(inner, Faults(lateness=1.0, late_ns=500), 1, lambda: now[0])
    assert carrier.send(b"12345678") and carrier.receive() is None and inner.sent == []
    now[0] = 499
    assert carrier.receive() is None and inner.sent == []
    now[0] = 500
    assert carrier.receive() is None and inner.sent == [b"12345678"]


def test_a_record_that_waits_for_the_next_one_does_not_wait_for_ever() -> None:
    now, inner = [0], Kept()
    carrier = FaultyCarrier(inner, Faults(reordering=1.0, late_ns=500), 1, lambda: now[0])
    assert carrier.send(b"12345678") and carrier.receive() is None and inner.sent == []
    now[0] = 500
    assert carrier.receive() is None and inner.sent == [b"12345678"]


def test_what_finds_no_room_at_the_end_is_counted() -> None:
    inner = Kept(room=0)
    carrier = FaultyCarrier(inner, Faults(lateness=1.0), 1, lambda: 0)
    assert carrier.send(b"12345678")
    carrier.close()
    assert carrier.counts.dropped == 1 and inner.sent == []


def test_a_full_carrier_keeps_what_was_drawn() -> None:
    inner = Kept(room=1)
    carrier = FaultyCarrier(inner, Faults(duplication=1.0), 1)
    first, second = numbered(2)
    assert carrier.send(first) and not carrier.send(second)  # the copy of the first still waits
    inner.room = 4
    assert carrier.send(second) and inner.sent == [first, first, second, second]


@pytest.mark.parametrize("wrong", [{"loss": 1.5}, {"corruption": -0.1}, {"late_ns": -1}])
def test_faults_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Faults(**wrong)  # type: ignore[arg-type]


def test_a_capture_holds_what_passed(tmp_path: Path) -> None:
    record = bytes.fromhex("fb55555555555555d5")[:8] + encode(ack_frame(1, 2, 0, 7))
    inner, stream = Kept(room=1), io.BytesIO()
    carrier = TracedCarrier(inner, stream, "gpu1.port0", lambda: 1_000)
    assert carrier.send(record) and not carrier.send(record) and carrier.receive() is None
    carrier.close()
    file = tmp_path / "c.pcapng"
    file.write_bytes(stream.getvalue())
    (packet,) = read_capture(file)
    assert packet.data == record and packet.t_ps == 1_000_000
    assert dissect_line(packet.data).kind is not Kind.OTHER
