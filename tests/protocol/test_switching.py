"""Fair choice and cut-through against plain models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol import switching


@pytest.mark.parametrize(
    ("first_in", "last_in", "latency", "expected"), [(0, 10, 250, 250), (0, 300, 250, 300), (100, 350, 250, 350), (7, 7, 0, 7)]
)
def test_cut_through_waits_for_the_last_bit_and_the_look_up(first_in: int, last_in: int, latency: int, expected: int) -> None:
    assert switching.first_bit_out_ps(first_in, last_in, latency) == expected


def test_lowest_bit_of_every_single_and_double_bit_word() -> None:
    for low in range(32):
        for high in range(low, 32):
            assert switching.lowest_bit(1 << low | 1 << high) == low


@settings(deadline=None)  # the first call may compile
@given(st.integers(1, 4), st.data())
def test_next_input_is_the_first_waiting_one_after_the_last(words: int, data: st.DataObject) -> None:
    inputs = words * 32
    waiting = data.draw(st.sets(st.integers(0, inputs - 1)))
    last = data.draw(st.integers(-1, inputs - 1))
    bits = np.zeros((2, words), np.int64)
    for index in waiting:
        switching.mark_waiting(bits, 1, index)
    expected = next((i % inputs for i in range(last + 1, last + 1 + inputs) if i % inputs in waiting), -1)
    assert switching.next_input(bits, 1, words, last) == expected
    assert not bits[0].any()
    for index in waiting:
        switching.mark_empty(bits, 1, index)
    assert not bits.any()


def test_inputs_that_always_wait_are_served_in_turn() -> None:
    bits = np.zeros((1, 2), np.int64)
    waiting = [0, 5, 31, 32, 63]
    for index in waiting:
        switching.mark_waiting(bits, 0, index)
    served, last = [], -1
    for _ in range(15):
        last = switching.next_input(bits, 0, 2, last)
        served.append(last)
    assert served == waiting * 3


@settings(deadline=None)
@given(st.lists(st.integers(64, 2048), min_size=3, max_size=3), st.integers(0, 2), st.integers(1, 7))
def test_vcs_share_by_bytes_whatever_their_frame_sizes(sizes: list[int], turn: int, ready: int) -> None:
    deficits = np.zeros((1, 4), np.int64)
    sent = [0, 0, 0]
    for _ in range(3_000):
        vc = switching.byte_turn(deficits, 0, turn, ready, 2068)
        assert ready & (1 << vc)
        deficits[0, vc] -= sizes[vc]
        sent[vc] += sizes[vc]
        turn = vc
    shares = [sent[vc] for vc in range(3) if ready & (1 << vc)]
    assert max(shares) - min(shares) <= 2 * 2068 + max(sizes)
    assert all(sent[vc] == 0 for vc in range(3) if not ready & (1 << vc))


def test_no_vc_ready() -> None:
    assert switching.byte_turn(np.zeros((1, 4), np.int64), 0, 0, 0, 2068) == -1
