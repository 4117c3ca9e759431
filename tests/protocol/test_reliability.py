"""RH against a model that counts without wrapping: every state and input of a 3-bit space, then the wrap of the real one."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol import path_change, rh_receiver, rh_sender
from scalefab.protocol import reliability as rh
from scalefab.protocol.reliability import OnAck, OnData

BITS = 3
SPACE = 1 << BITS
HALF = SPACE // 2


def session(**fields: int) -> Any:
    s = np.zeros(1, rh.SESSION).view(np.recarray)[0]
    s.window = HALF
    for name, value in fields.items():
        s[name] = value
    return s


def values(s: Any) -> dict[str, int]:
    return {name: int(s[name]) for name in rh.SESSION.names}


def changed(s: Any, before: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in values(s).items() if value != before[name]}


# --- sender ------------------------------------------------------------------------------------------------------------


def test_every_sender_state_and_acknowledgement() -> None:
    for una in range(SPACE):
        for flying in range(SPACE):
            for n in range(SPACE):
                s = session(una_psn=una, next_psn=(una + flying) % SPACE)
                before = values(s)
                # unwrapped: una - 1 .. next - 1 are in range, and name at most SPACE numbers, so no two look alike
                allowed = [a for a in range(una - 1, una + flying) if a % SPACE == n]
                assert len(allowed) <= 1
                result = rh.on_ack(s, n, BITS)
                if not allowed:
                    assert (result, changed(s, before)) == (OnAck.IGNORED, {"ack_errors": 1})
                    continue
                freed = allowed[0] + 1 - una
                assert result == freed
                assert result >= OnAck.NOTHING
                assert changed(s, before) == ({"una_psn": (una + freed) % SPACE} if freed else {})
                assert rh.in_flight(s, BITS) == flying - freed


def test_every_sender_state_and_a_frame_ready() -> None:
    for una in range(SPACE):
        for flying in range(SPACE):
            for window in range(1, HALF + 1):
                s = session(una_psn=una, next_psn=(una + flying) % SPACE, window=window)
                before = values(s)
                assert rh.in_flight(s, BITS) == flying
                assert bool(rh.may_send(s, BITS)) is (flying < window)
                assert changed(s, before) == {}
                if flying < window:
                    assert rh.on_send(s, BITS) == (una + flying) % SPACE
                    assert changed(s, before) == {"next_psn": (una + flying + 1) % SPACE}
                    assert rh.in_flight(s, BITS) == flying + 1


# --- receiver ----------------------------------------------------------------------------------------------------------


def test_every_receiver_state_and_frame() -> None:
    for expected in range(SPACE):
        for psn in range(SPACE):
            for unacked in (0, 1, 5):
                s = session(expected=expected, unacked=unacked, since_ps=100)
                before = values(s)
                # unwrapped: the number nearest to what is expected, ahead below half a turn, else behind
                distance = next(d for d in range(-HALF, HALF) if (expected + d) % SPACE == psn)
                result = rh.on_data(s, psn, BITS, 900)
                since = {} if unacked else {"since_ps": 900}
                if distance == 0:
                    assert result == OnData.ACCEPT
                    assert changed(s, before) == {"expected": (expected + 1) % SPACE, "unacked": unacked + 1} | since
                elif distance > 0:
                    assert (result, changed(s, before)) == (OnData.GAP, {"gaps": 1})
                else:
                    assert result == OnData.DUPLICATE
                    assert changed(s, before) == {"duplicates": 1, "unacked": unacked + 1} | since


def test_every_reason_for_an_acknowledgement_of_its_own() -> None:
    for unacked in range(4):
        for age in range(4):
            s = session(unacked=unacked, since_ps=1000)
            before = values(s)
            due = bool(rh.ack_alone_due(s, 3, 2, 1000 + age))
            assert due is (unacked == 3 or (unacked > 0 and age >= 2))
            assert changed(s, before) == {}


def test_an_acknowledgement_names_the_last_frame_accepted() -> None:
    for expected in range(SPACE):
        s = session(expected=expected, unacked=3, since_ps=5)
        before = values(s)
        assert rh.on_ack_sent(s, BITS) == (expected - 1) % SPACE
        assert changed(s, before) == {"unacked": 0}
        assert not rh.ack_alone_due(s, 1, 0, 1 << 50)


# --- both --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [BITS, rh.PSN_BITS])
def test_a_lossless_space_wraps(bits: int) -> None:
    turn = 1 << bits
    start = turn - 5
    window = min(turn // 2, 6)
    s = session(next_psn=start, una_psn=start, expected=start, window=window)
    for k in range(40):
        psn = rh.on_send(s, bits)
        assert psn == (start + k) % turn
        assert rh.on_data(s, psn, bits, k) == OnData.ACCEPT
        if k % 3 == 2 or not rh.may_send(s, bits):
            covered = rh.on_ack_sent(s, bits)
            assert covered == (start + k) % turn
            assert rh.on_ack(s, covered, bits) > 0
            assert rh.in_flight(s, bits) == 0
    assert (s.ack_errors, s.duplicates, s.gaps) == (0, 0, 0)
    assert s.next_psn == s.expected == (start + 40) % turn


def test_a_full_window_of_the_wire_is_acknowledged_at_once_across_the_wrap() -> None:
    start = 65_536 - 1000
    s = session(next_psn=start, una_psn=start, expected=start, window=rh.WINDOW_FRAMES)
    sent = 0
    while rh.may_send(s, rh.PSN_BITS):
        assert rh.on_data(s, rh.on_send(s, rh.PSN_BITS), rh.PSN_BITS, 0) == OnData.ACCEPT
        sent += 1
    assert sent == rh.WINDOW_FRAMES == s.unacked
    assert rh.on_ack(s, rh.on_ack_sent(s, rh.PSN_BITS), rh.PSN_BITS) == sent
    assert (s.una_psn, rh.in_flight(s, rh.PSN_BITS)) == (24, 0)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, SPACE - 1),
    st.integers(1, HALF),
    st.lists(
        st.sampled_from(["send", "send", "deliver", "deliver", "lose", "resend", "ack", "take_ack", "lose_ack"]), max_size=120
    ),
)
def test_go_back_n_executes_each_frame_once_in_order(start: int, window: int, steps: list[str]) -> None:
    """Two FIFO wires that lose anything at any time; frames carry their unwrapped number, which the functions never see."""
    s = session(next_psn=start, una_psn=start, expected=start, window=window)
    there: deque[tuple[int, int]] = deque()
    back: deque[tuple[int, int]] = deque()
    sent = executed = freed = 0

    def step(what: str) -> None:
        nonlocal sent, executed, freed
        if what == "send" and rh.may_send(s, BITS):
            there.append((rh.on_send(s, BITS), sent))
            sent += 1
        elif what == "resend":
            there.extend(((start + k) % SPACE, k) for k in range(freed, sent))
        elif what == "lose" and there:
            there.popleft()
        elif what == "deliver" and there:
            psn, number = there.popleft()
            result = rh.on_data(s, psn, BITS, 0)
            order = (number > executed) - (number < executed)
            assert result == {0: OnData.ACCEPT, 1: OnData.GAP, -1: OnData.DUPLICATE}[order]
            executed += result == OnData.ACCEPT
        elif what == "ack" and s.unacked:
            back.append((rh.on_ack_sent(s, BITS), executed))
        elif what == "lose_ack" and back:
            back.popleft()
        elif what == "take_ack" and back:
            covered, upto = back.popleft()
            assert rh.on_ack(s, covered, BITS) == upto - freed
            freed = upto
        assert freed <= executed <= sent <= freed + window
        assert rh.in_flight(s, BITS) == sent - freed

    for what in steps:
        step(what)
    step("resend")  # whatever was lost before, one whole round over good wires ends it
    while there:
        step("deliver")
    step("ack")
    while back:
        step("take_ack")
    assert freed == executed == sent
    assert s.ack_errors == 0


def test_a_session_record_is_wider_than_the_wire() -> None:
    for name in ("next_psn", "una_psn", "expected", "unacked"):
        kind = rh.SESSION.fields[name][0]
        assert kind.kind == "i" and kind.itemsize >= 4
    assert (rh.PSN_BITS, rh.WINDOW_FRAMES, rh.ACK_EVERY_FRAMES, rh.ACK_DELAY_PS) == (16, 1024, 16, 2_000_000)
    assert rh.WINDOW_FRAMES <= np.iinfo(rh.SESSION.fields["window"][0]).max == 32_767


def test_what_is_hot_stays_small() -> None:
    sizes = [dtype.itemsize for dtype in (rh.SESSION, rh_sender.RETRY, rh_receiver.REPAIR, path_change.ASK)]
    assert sizes == [96, 56, 40, 24]  # docs/reliability.md says so
