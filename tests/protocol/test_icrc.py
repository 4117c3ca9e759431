"""ICRC and FCS."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_reference import crc32_bitwise

from scalefab.protocol.icrc import FcsState, fcs, fcs_state, icrc, poison, poisoned

LOAD = bytes.fromhex(
    "012c000000000005002c003b88b50300000500070000000004503f0000110000000000012345678021c0aef4000000000000000000000000000000008ebfcb5b"
)
TAG = bytes.fromhex("81006005")


def test_profile_frame() -> None:
    assert icrc(LOAD, 40) == int.from_bytes(LOAD[40:44], "little") == 0xF4AEC021
    assert fcs(LOAD[:60]) == int.from_bytes(LOAD[60:], "little")
    assert fcs_state(LOAD) is FcsState.GOOD


def test_standard_check_value() -> None:
    assert fcs(b"123456789") == 0xCBF43926


@given(st.binary(min_size=24, max_size=80), st.binary(max_size=8))
def test_icrc_is_the_bitwise_crc_of_the_masked_bytes(data: bytes, after: bytes) -> None:
    masked = bytearray(data)
    masked[14] |= 0x7F
    masked[15] |= 0xFF
    assert icrc(data + after, len(data)) == crc32_bitwise(bytes(masked))
    assert icrc(data[:12] + TAG + data[12:] + after, len(data), tagged=True) == icrc(data, len(data))


def test_every_covered_bit_counts_and_no_masked_one() -> None:
    right = icrc(LOAD, 40)
    for bit in range(40 * 8):
        changed = bytearray(LOAD)
        changed[bit // 8] ^= 0x80 >> bit % 8
        masked = 14 * 8 < bit < 16 * 8  # bit 112, ar, is covered
        assert (icrc(changed, 40) == right) is masked, bit


def test_icrc_does_not_change_the_frame_and_takes_any_buffer() -> None:
    buffer = bytearray(LOAD)
    assert icrc(buffer, 40) == icrc(memoryview(LOAD), 40) == icrc(LOAD, 40)
    assert buffer == LOAD


@pytest.mark.parametrize(("size", "end", "tagged"), [(23, 23, False), (64, 20, False), (39, 40, False), (43, 40, True)])
def test_icrc_refuses_what_it_cannot_cover(size: int, end: int, tagged: bool) -> None:
    with pytest.raises(ValueError, match="covers"):
        icrc(bytes(size), end, tagged)


def test_poison() -> None:
    frame = bytearray(LOAD)
    frame[60:] = b"\xa5\xa5\xa5\xa5"
    assert fcs_state(frame) is FcsState.BAD
    poison(frame)
    assert fcs_state(frame) is FcsState.POISONED
    assert bytes(a ^ b for a, b in zip(frame[60:], LOAD[60:], strict=True)) == b"\xff" * 4
    assert poisoned(poisoned(0x12345678)) == 0x12345678
    with pytest.raises(ValueError, match="no FCS"):
        poison(bytearray(3))


@pytest.mark.parametrize("size", range(4))
def test_too_short_for_an_fcs(size: int) -> None:
    assert fcs_state(bytes(size)) is FcsState.BAD
