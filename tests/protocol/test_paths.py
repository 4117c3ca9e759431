"""Path choice under failures, against the profile's formulas in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol import multipath as mp
from scalefab.protocol import paths, rh_sender
from scalefab.protocol import reliability as rh
from scalefab.protocol.paths import PathState

STATES = st.sampled_from(
    [
        PathState.LIVE,
        PathState.DOWN,
        PathState.DRAIN,
        PathState.ERROR,
        PathState.DEGRADED,
        PathState.CONGESTED,
        PathState.DOWN | PathState.CONGESTED,
    ]
)
PATHS = st.lists(st.tuples(st.integers(0, 1023), STATES), min_size=1, max_size=9, unique_by=lambda one: one[0])
HASH = st.integers(0, 65_535)


def arrays(of: list[tuple[int, PathState]]) -> tuple[Any, Any, int]:
    """Lay the pair's paths out behind three others, in flat arrays."""
    of = sorted(of)
    ids = np.array([999, 998, 997] + [path for path, _ in of], np.int16)
    states = np.array([4, 4, 4] + [int(state) for _, state in of], np.int8)
    return ids, states, len(of)


def plain(of: list[tuple[int, PathState]], h: int, bound: bool) -> int:
    """Return the index by the words of section 5."""
    of = sorted(of)
    live = [i for i, (_, state) in enumerate(of) if not state & (PathState.DOWN | PathState.DRAIN | PathState.ERROR)]
    counted = [i for i in live if not of[i][1] or h % 4 == 0] or live
    home = h * len(of) // 65_536
    if bound and home in counted:
        return home
    weights = {i: (h ^ (257 * of[i][0])) * 0x9E37 % 65_536 for i in counted}
    return min(weights, key=lambda i: (-weights[i], of[i][0])) if counted else -1


@settings(max_examples=300, deadline=None)
@given(PATHS, HASH)
def test_buckets_and_their_fall_back(of: list[tuple[int, PathState]], h: int) -> None:
    ids, states, n = arrays(of)
    assert paths.chosen_path(h, ids, states, 3, n) == plain(of, h, True)
    assert paths.fallback_path(h, ids, states, 3, n) == plain(of, h, False)


@settings(max_examples=100, deadline=None)
@given(PATHS, st.data())
def test_buckets_on_live_paths_never_move(of: list[tuple[int, PathState]], data: st.DataObject) -> None:
    """Whatever path goes down, a bucket on another path stays; when it is back, so are its buckets."""
    ids, states, n = arrays(of)
    states[3:] = 0
    down = data.draw(st.integers(0, n - 1))
    hashes = range(0, 65_536, 997)
    before = [int(paths.chosen_path(h, ids, states, 3, n)) for h in hashes]
    states[3 + down] = PathState.DOWN
    during = [int(paths.chosen_path(h, ids, states, 3, n)) for h in hashes]
    assert all(was == now for was, now in zip(before, during, strict=True) if was != down)
    assert down not in during
    states[3 + down] = 0
    assert [int(paths.chosen_path(h, ids, states, 3, n)) for h in hashes] == before


def test_a_dead_paths_buckets_spread_over_the_others() -> None:
    ids = np.arange(8, dtype=np.int16)
    states = np.zeros(8, np.int8)
    states[2] = PathState.ERROR
    homeless = [h for h in range(65_536) if mp.bound_path(h, 8) == 2]
    counts = Counter(int(paths.chosen_path(h, ids, states, 0, 8)) for h in homeless[::8])
    assert len(counts) == 7 and 2 not in counts


def test_a_congested_path_keeps_a_quarter_of_its_buckets() -> None:
    ids = np.arange(4, dtype=np.int16)
    states = np.array([0, PathState.CONGESTED, 0, 0], np.int8)
    at_home = [h for h in range(65_536) if mp.bound_path(h, 4) == 1]
    kept = [h for h in at_home if paths.chosen_path(h, ids, states, 0, 4) == 1]
    assert kept == [h for h in at_home if h % 4 == 0]


@settings(max_examples=100, deadline=None)
@given(PATHS, HASH, st.data())
def test_answers_take_the_path_of_what_they_answer(of: list[tuple[int, PathState]], tag: int, data: st.DataObject) -> None:
    ids, states, n = arrays(of)
    index = data.draw(st.integers(0, n - 1))
    live = not int(states[3 + index]) & paths.NOT_LIVE
    assert paths.answer_path(index, tag, ids, states, 3, n) == (index if live else plain(of, tag, False))


@settings(max_examples=100, deadline=None)
@given(PATHS, st.integers(0, 1000), st.integers(0, 100))
def test_round_robin_gives_reduced_paths_a_quarter(of: list[tuple[int, PathState]], turn: int, offset: int) -> None:
    _, states, n = arrays(of)
    counts: Counter[int] = Counter()
    end = turn - turn % (4 * n) + 4 * n * 5  # whole rounds of four
    turn = end - 4 * n * 4
    while True:
        turn = int(paths.spray_turn(states, 3, n, turn, offset))
        if turn < 0 or turn >= end:
            break
        counts[int(mp.sprayed_path(turn, offset, n))] += 1
        turn += 1
    for i in range(n):
        state = int(states[3 + i])
        assert counts[i] == (0 if state & paths.NOT_LIVE else 4 if state else 16)


def test_round_robin_without_faults_takes_every_turn() -> None:
    states = np.zeros(5, np.int8)
    assert [int(paths.spray_turn(states, 0, 5, turn, 3)) for turn in range(40)] == list(range(40))


def test_least_queued_counts_reduced_paths_fourfold() -> None:
    states = np.array([0, PathState.CONGESTED, 0, PathState.DOWN], np.int8)
    assert paths.least_queued(states, np.array([500, 100, 700, 0]), 0, 4, 64) == 0  # 564, 4 x 164, 764
    assert paths.least_queued(states, np.array([700, 100, 700, 0]), 0, 4, 64) == 1
    assert paths.least_queued(states, np.array([300, 900, 300, 0]), 0, 4, 64) == 0  # a tie: the lowest
    assert paths.least_queued(np.array([1, 2], np.int8), np.zeros(2), 0, 2, 64) == -1


def test_single_takes_the_first_live_path() -> None:
    assert paths.single_path(np.array([1, 4, 16, 0], np.int8), 0, 4) == 2
    assert paths.single_path(np.array([1, 4], np.int8), 0, 2) == -1


def test_a_bucket_leaves_a_live_path_only_when_all_there_is_settled() -> None:
    s: Any = np.zeros(1, rh.SESSION).view(np.recarray)[0]
    r: Any = np.zeros(1, rh_sender.RETRY).view(np.recarray)[0]
    assert paths.bucket_may_move(s, r, 16)  # nothing was ever sent there
    s.window = 8
    rh_sender.on_send(s, 16, 0)
    assert not paths.bucket_may_move(s, r, 16)
    rh_sender.on_ack(s, r, 0, 16, 1)
    assert not paths.bucket_may_move(s, r, 16)  # accepted is not visible
    r.fenced_psn = 1
    assert paths.bucket_may_move(s, r, 16)
    s.state = rh.SPACE_CLOSED
    assert not paths.bucket_may_move(s, r, 16)


def test_states_are_the_compiled_numbers() -> None:
    for state in PathState:
        assert int(state) == getattr(paths, state.name)
