"""Path choice against the profile's formulas in Python's unbounded integers."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalefab.protocol import multipath as mp
from scalefab.protocol.frame import Oefh
from scalefab.protocol.layout import OEFH

GOLDEN = 0x9E3779B97F4A7C15
ADDRESS = st.integers(0, (1 << 57) - 1)
ENDPOINT = st.integers(0, 1023)


def formula(address: int, dst: int) -> int:
    return (((address >> 12) ^ (dst << 45)) * GOLDEN) % (1 << 64) >> 48


@settings(max_examples=500, deadline=None)
@given(ADDRESS, ENDPOINT)
@example((1 << 57) - 1, 1023)
@example(0, 1023)
@example((1 << 57) - 1, 0)
@example(0, 0)
def test_page_hash_is_the_profiles_formula(address: int, dst: int) -> None:
    """With 64-bit integers: an intermediate that overflowed would warn when interpreted, and warnings are errors here."""
    assert int(mp.page_hash(np.int64(address), np.int64(dst))) == formula(address, dst)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1))
@example((1 << 32) - 1, (1 << 32) - 1)
def test_halves_of_a_product(a: int, b: int) -> None:
    assert int(mp._mul_lo32(np.int64(a), np.int64(b))) == a * b % (1 << 32)
    assert int(mp._mul_hi32(np.int64(a), np.int64(b))) == a * b >> 32


@given(ADDRESS, ENDPOINT, st.integers(0, 4095))
@settings(max_examples=100, deadline=None)
def test_a_page_has_one_hash(address: int, dst: int, offset: int) -> None:
    page = address & ~4095
    assert mp.page_hash(page, dst) == mp.page_hash(page + offset, dst)


def test_pages_spread_over_paths() -> None:
    """4096 consecutive pages on 8 paths: Fibonacci hashing keeps every path within 5 % of its share."""
    counts = np.zeros(8, np.int64)
    for page in range(4096):
        counts[mp.bound_path(mp.page_hash(page << 12, 5), 8)] += 1
    assert abs(counts - 512).max() <= 25


def test_golden_frame_carries_the_hash_of_its_page() -> None:
    assert mp.entropy(0, 0, 0, mp.page_hash(0x1_2345_6780, 300)) == 0x3B


def test_bound_path_is_the_formula_and_shares_evenly() -> None:
    for paths in (1, 2, 3, 7, 8, 16):
        found = [mp.bound_path(h, paths) for h in range(0, 65_536, 7)]
        assert found == [h * paths // 65_536 for h in range(0, 65_536, 7)]
        assert found == sorted(found)
        assert (found[0], mp.bound_path(65_535, paths)) == (0, paths - 1)


@given(st.integers(0, 65_535), st.integers(0, 1023))
@settings(max_examples=200, deadline=None)
@example(65_535, 1023)
def test_fallback_weight(h: int, path: int) -> None:
    assert int(mp.fallback_weight(np.int64(h), np.int64(path))) == ((h ^ (257 * path)) * 0x9E37) % 65_536


def test_sprayed_count_counts_sprayed_paths() -> None:
    for paths in range(1, 9):
        for offset in range(10):
            for packets in range(20):
                expected = [0] * paths
                for packet in range(packets):
                    expected[mp.sprayed_path(packet, offset, paths)] += 1
                found = [mp.sprayed_count(packets, offset, paths, path) for path in range(paths)]
                assert found == expected, (paths, offset, packets)
                assert sum(found) == packets


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 31), st.integers(1, 64))
@settings(max_examples=100, deadline=None)
def test_sprayed_counts_sum_to_the_packets_and_differ_by_one_at_most(packets: int, offset: int, paths: int) -> None:
    found = [mp.sprayed_count(packets, offset, paths, path) for path in range(paths)]
    assert sum(found) == packets
    assert max(found) - min(found) <= 1


@given(st.integers(0, 15), st.integers(0, 3), st.integers(0, 15), st.integers(0, 65_535))
@settings(max_examples=100, deadline=None)
def test_entropy_stands_where_the_layout_says(stack: int, port: int, uplink: int, h: int) -> None:
    word = mp.entropy(stack, port, uplink, h)
    field = OEFH.field("entropy")
    parts = {p.name: word >> (field.bit + field.width - p.bit - p.width) & ((1 << p.width) - 1) for p in field.parts}
    assert parts == {"stack": stack, "port": port, "uplink": uplink, "hash": h % 64}
    assert Oefh(0, 0, word).path_id == mp.path_id(stack, port, uplink) == word >> 6


def test_policies_are_the_compiled_numbers() -> None:
    assert [int(p) for p in mp.Spray] == [mp.SPRAY_HASH, mp.SPRAY_ROUND_ROBIN, mp.SPRAY_LEAST_QUEUED, mp.SPRAY_SINGLE]
