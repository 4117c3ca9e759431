"""Closing and opening a space: every state and input of both ends, then the story of a path that dies and comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalefab.protocol import path_change as pc
from scalefab.protocol import reliability as rh
from scalefab.protocol import rh_receiver as rx
from scalefab.protocol import rh_sender as tx
from scalefab.protocol.path_change import AskTimer, Request
from scalefab.protocol.reliability import Space

BITS, SPACE, WINDOW = 3, 8, 3
NONCE_BITS, NONCES = 3, 8


def record(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)[0]


def sender(state: Space, una: int = 0, flying: int = 0, fenced: int = 0, nonce: int = 0) -> tuple[Any, Any, Any]:
    s, r, a = record(rh.SESSION), record(tx.RETRY), record(pc.ASK)
    s.state, s.una_psn, s.next_psn, s.window = state, una, (una + flying) % SPACE, WINDOW
    s.trouble, r.resending, r.expiries, r.tries = 1, flying > 0, 2, 1
    r.fenced_psn, a.nonce = fenced, nonce
    return s, r, a


def test_what_must_be_closed_in_every_state() -> None:
    for state in Space:
        for una in range(SPACE):
            for flying in range(WINDOW + 1):
                for fenced in range(SPACE):
                    s, r, _ = sender(state, una, flying, fenced)
                    unsettled = flying > 0 or fenced != (una + flying) % SPACE
                    expected = {Space.OPEN: unsettled, Space.OPENING: True}.get(state, False)
                    assert bool(pc.must_close(s, r, BITS)) is expected


def test_begin_close_in_every_state() -> None:
    for state in Space:
        s, r, a = sender(state, 6, 2, nonce=1)
        begun = state in (Space.OPEN, Space.OPENING)
        assert bool(pc.begin_close(s, r, a, 5)) is begun
        assert s.state == (Space.CLOSING if begun else state)
        assert (int(a.nonce), int(a.asks)) == ((5, 0) if begun else (1, 0))
        assert not tx.may_send(s, r, BITS)


def test_closed_over_all_states() -> None:
    for state in Space:
        for una in range(SPACE):
            for flying in range(WINDOW + 1):
                for psn in range(SPACE):
                    for nonce in (3, 4):
                        s, r, a = sender(state, una, flying, nonce=3)
                        names = [(una - 1 + k) % SPACE for k in range(flying + 1)]
                        freed = int(pc.on_closed(s, r, a, psn, nonce, BITS, 0))
                        if state is not Space.CLOSING or nonce != 3 or (flying and psn not in names):
                            assert freed == -1 and s.state == state and rh.in_flight(s, BITS) == flying
                            continue
                        assert freed == (names.index(psn) if flying else 0)
                        following = (una + flying) % SPACE
                        assert (s.state, int(s.una_psn), int(s.next_psn)) == (Space.CLOSED, following, following)
                        assert (int(s.trouble), int(r.resending), int(r.expiries), int(r.tries)) == (0, 0, 0, 0)
                        assert int(r.fenced_psn) == following  # CLOSED means visible


def test_open_and_opened_in_every_state() -> None:
    for state in Space:
        s, _, a = sender(state, 2)
        assert bool(pc.begin_open(s, a, 7)) is (state is Space.CLOSED)
        for nonce in (6, 7):
            s, _, a = sender(state, 2, nonce=7)
            opened = bool(pc.on_opened(s, a, nonce))
            assert opened is (state is Space.OPENING and nonce == 7)
            assert s.state == (Space.OPEN if opened else state)


@pytest.mark.parametrize("closed", [False, True])
def test_requests_over_all_nonces(closed: bool) -> None:
    for known in range(NONCES):
        for nonce in range(NONCES):
            ahead = (nonce - known) % NONCES
            expected = Request.REPEATED if not ahead else Request.ACTED if ahead < NONCES // 2 else Request.IGNORED
            for psn in range(SPACE):
                s, q = record(rh.SESSION), record(rx.REPAIR)
                s.rx_state, s.expected, s.gap, s.unacked, q.nonce = rh.SPACE_CLOSED if closed else 0, 5, 1, 2, known
                assert pc.on_open(s, q, psn, nonce, NONCE_BITS) == expected
                opened = closed and expected is Request.ACTED
                assert int(s.expected) == (psn if opened else 5)
                assert int(s.rx_state) == (rh.SPACE_OPEN if opened or not closed else rh.SPACE_CLOSED)
                assert int(q.nonce) == (nonce if expected is Request.ACTED else known)
            s, q = record(rh.SESSION), record(rx.REPAIR)
            s.rx_state, s.expected, q.nonce = rh.SPACE_CLOSED if closed else 0, 5, known
            assert pc.on_close(s, q, nonce, NONCE_BITS) == expected
            assert int(s.rx_state) == (rh.SPACE_CLOSED if closed or expected is Request.ACTED else rh.SPACE_OPEN)
            assert pc.closed_psn(s, BITS) == 4


def test_a_question_is_asked_eight_times_over_a_path() -> None:
    a = record(pc.ASK)
    s, r, _ = sender(Space.OPEN, 0, 1)
    pc.begin_close(s, r, a, 1)
    for path in (17, 64):
        for time in range(1, 9):
            now_ps = time * pc.ASK_PS
            pc.on_asked(a, path, now_ps)
            assert pc.on_ask_timer(a, now_ps + pc.ASK_PS - 1) == AskTimer.NOT_YET
            assert pc.on_ask_timer(a, now_ps + pc.ASK_PS) == (AskTimer.AGAIN if time < 8 else AskTimer.PATH_ERROR)


def test_nonces_count_up_and_wrap() -> None:
    assert pc.next_nonce(0, 32) == 1
    assert pc.next_nonce((1 << 32) - 1, 32) == 0
    assert record(pc.ASK).nonce.dtype.itemsize == 8


def test_a_path_dies_and_comes_back() -> None:
    """Five frames, two of them accepted, one acknowledged; the others go elsewhere, and what is still in flight is behind."""
    bits = rh.PSN_BITS
    s, r, a, q = record(rh.SESSION), record(tx.RETRY), record(pc.ASK), record(rx.REPAIR)
    s.window, s.next_psn, s.una_psn, s.expected = 16, 65_534, 65_534, 65_534
    sent = [int(tx.on_send(s, bits, 0)) for _ in range(5)]
    assert sent == [65_534, 65_535, 0, 1, 2]
    assert [int(rx.on_data(s, q, psn, bits, 0)) for psn in sent[:2]] == [rx.ACCEPT, rx.ACCEPT]
    tx.on_ack(s, r, 65_534, bits, 1)

    assert pc.must_close(s, r, bits)
    pc.begin_close(s, r, a, 1)
    assert pc.on_close(s, q, 1, 32) == Request.ACTED
    psn = int(pc.closed_psn(s, bits))
    assert psn == 65_535
    assert rx.on_data(s, q, 0, bits, 0) == rx.CLOSED  # it was delayed, and will be sent elsewhere
    behind = int(rh.in_flight(s, bits)) - int(pc.on_closed(s, r, a, psn, 1, bits, 2))
    assert behind == 3
    assert pc.on_closed(s, r, a, psn, 1, bits, 2) == -1  # the same answer once more
    assert not pc.must_close(s, r, bits)

    assert pc.begin_open(s, a, 2)
    assert pc.on_open(s, q, int(s.next_psn), 2, 32) == Request.ACTED
    assert pc.on_opened(s, a, 2)
    assert rx.on_data(s, q, 1, bits, 0) == rx.DUPLICATE  # still in flight from before: behind
    psn = int(tx.on_send(s, bits, 3))
    assert psn == 3 and rx.on_data(s, q, psn, bits, 3) == rx.ACCEPT
    assert pc.on_close(s, q, 1, 32) == Request.IGNORED  # a CLOSE of long ago
    assert pc.on_open(s, q, 3, 2, 32) == Request.REPEATED and int(s.expected) == 4


def test_a_path_that_dies_while_it_is_opened_is_closed_again() -> None:
    """Its OPEN never came, so the receiver speaks of an older PSN; nothing is in flight, and that is all that counts."""
    s, r, a, q = record(rh.SESSION), record(tx.RETRY), record(pc.ASK), record(rx.REPAIR)
    s.window = 4
    for _ in range(3):
        tx.on_send(s, 16, 0)
    pc.begin_close(s, r, a, 1)
    pc.on_close(s, q, 1, 32)
    assert pc.on_closed(s, r, a, int(pc.closed_psn(s, 16)), 1, 16, 0) == 0
    pc.begin_open(s, a, 2)
    assert pc.must_close(s, r, 16) and pc.begin_close(s, r, a, 3)
    assert pc.on_close(s, q, 3, 32) == Request.ACTED
    assert pc.on_open(s, q, 3, 2, 32) == Request.IGNORED  # the OPEN comes after all
    assert pc.on_closed(s, r, a, int(pc.closed_psn(s, 16)), 3, 16, 0) == 0
    assert s.state == Space.CLOSED
