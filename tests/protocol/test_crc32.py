"""The compiled CRC gives what zlib and the codec's ICRC give."""

from __future__ import annotations

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scalefab.compiled import compiled_entry
from scalefab.protocol.crc32 import crc_bytes, icrc_bytes
from scalefab.protocol.icrc import icrc


@compiled_entry
def crc_of(data: np.ndarray, begin: int, end: int, crc: int) -> int:
    return crc_bytes(data, begin, end, crc)


@compiled_entry
def icrc_of(data: np.ndarray, begin: int, end: int) -> int:
    return icrc_bytes(data, begin, end)


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


@given(st.binary(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_it_is_zlibs(data: bytes, a: int, b: int) -> None:
    begin, end = sorted((min(a, len(data)), min(b, len(data))))
    assert crc_of(array(data), begin, end, 0) == zlib.crc32(data[begin:end])


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_it_can_be_continued(first: bytes, second: bytes) -> None:
    begun = crc_of(array(first), 0, len(first), 0)
    assert crc_of(array(second), 0, len(second), begun) == zlib.crc32(first + second)


@given(st.binary(min_size=24, max_size=300), st.integers(0, 9))
def test_the_icrc_is_the_codecs(frame: bytes, begin: int) -> None:
    assert icrc_of(array(bytes(begin) + frame), begin, begin + len(frame)) == icrc(frame, len(frame))


def test_the_profiles_frame_has_its_icrc() -> None:
    load = bytes.fromhex("012c000000000005002c003b88b50300000500070000000004503f0000110000000000012345678021c0aef4")
    assert int(icrc_of(array(load), 0, len(load) - 4)).to_bytes(4, "little") == load[-4:]
