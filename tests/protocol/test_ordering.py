"""Fences, acquire and release, signals: what waits for what."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from scalefab.protocol import ordering, path_change, rh_receiver, rh_sender
from scalefab.protocol import reliability as rh
from scalefab.protocol.layout import Order


def record(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)[0]


def test_order_bits() -> None:
    assert {order for order in Order if ordering.releases(order)} == {Order.RELEASE, Order.ACQ_REL}
    assert {order for order in Order if ordering.acquires(order)} == {Order.ACQUIRE, Order.ACQ_REL}


def test_a_fence_waits_for_every_space_and_every_earlier_response_in_any_order() -> None:
    events = ["space", "space", "op 0", "op 1"]
    for order in set(itertools.permutations(events)):
        i, f = record(ordering.ISSUED), record(ordering.FENCE)
        serials = {f"op {n}": int(ordering.on_issue(i, Order.RELAXED, False)) for n in range(2)}
        ordering.on_issue(i, Order.RELAXED, True)  # posted: its FENCE covers it
        ordering.begin_fence(f, i, 2)
        later = int(ordering.on_issue(i, Order.RELAXED, False))
        for count, event in enumerate(order):
            assert not ordering.is_done(f)
            assert not ordering.on_earlier(f, later)
            done = ordering.on_fence_rsp(f, 1) if event == "space" else ordering.on_earlier(f, serials[event])
            assert bool(done) is (count == 3)
        assert ordering.is_done(f)


def test_a_fence_with_nothing_under_way_still_asks_once() -> None:
    i, f = record(ordering.ISSUED), record(ordering.FENCE)
    assert not ordering.is_done(f)
    ordering.begin_fence(f, i, 0)
    assert not ordering.is_done(f)
    assert ordering.on_fence_rsp(f, 1)


def test_a_fence_begun_anew_counts_only_its_new_answers() -> None:
    i, f = record(ordering.ISSUED), record(ordering.FENCE)
    ordering.begin_fence(f, i, 2)
    ordering.on_fence_rsp(f, 1)
    ordering.begin_anew(f, 1)  # path change: the other space is closed, its operations are on this one now
    assert not ordering.on_fence_rsp(f, 1)
    assert ordering.on_fence_rsp(f, 2)
    assert not ordering.on_fence_rsp(f, 2)


def test_later_operations_wait_for_an_acquire() -> None:
    for order in Order:
        i = record(ordering.ISSUED)
        ordering.on_issue(i, order, False)
        assert bool(ordering.may_issue(i)) is (order not in (Order.ACQUIRE, Order.ACQ_REL))
        assert bool(ordering.on_response(i, order)) is (order in (Order.ACQUIRE, Order.ACQ_REL))
        assert ordering.may_issue(i) and i.unanswered == 0


def test_which_spaces_need_a_fence() -> None:
    s = record(rh.SESSION)
    s.window = 4
    assert not ordering.needs_fence(s, 0, 16)
    assert ordering.needs_fence(s, 1, 16)
    rh_sender.on_send(s, 16, 0)
    assert ordering.needs_fence(s, 0, 16)


@pytest.mark.parametrize("start", [0, 65_533])
def test_a_space_that_a_fence_has_settled_is_not_closed(start: int) -> None:
    s, r = record(rh.SESSION), record(rh_sender.RETRY)
    s.window, s.next_psn, s.una_psn, r.fenced_psn = 8, start, start, start
    data, fence = (int(rh_sender.on_send(s, 16, 0)) for _ in range(2))
    rh_sender.on_ack(s, r, fence, 16, 1)
    assert path_change.must_close(s, r, 16)
    ordering.on_fenced(r, fence, 16)
    assert not path_change.must_close(s, r, 16)
    ordering.on_fenced(r, data, 16)  # an older answer changes nothing
    assert not path_change.must_close(s, r, 16)
    rh_sender.on_send(s, 16, 2)
    assert path_change.must_close(s, r, 16)


def test_answers_wait_until_all_that_was_accepted_is_visible() -> None:
    q = record(rh_receiver.REPAIR)
    for visible_ps in (700, 900, 800):
        ordering.on_visible(q, visible_ps)
    assert ordering.answer_ps(q, 750) == 900
    assert ordering.answer_ps(q, 1000) == 1000


def test_a_signal_comes_behind_all_bytes_of_its_message_in_any_order() -> None:
    for order in itertools.permutations(range(4)):
        m = record(ordering.MESSAGE)
        for count, index in enumerate(order):
            whole = ordering.on_packet(m, index, index == 3, 100 * (index + 1) + 1000 * count)
            assert bool(whole) is (count == 3)
        assert int(m.visible_ps) == 3000 + 100 * (order[3] + 1)
