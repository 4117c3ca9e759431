"""Go-back-N closed forms against plain random experiments with LLR's and RH's own transition functions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from scalefab.protocol import goodput, llr, rh_receiver, rh_sender
from scalefab.protocol import reliability as reliable

G = 10**9
NACK_FRAMES, TIMER_FRAMES = 12, 60


def test_forms_agree_where_they_must() -> None:
    for loss in (0.0, 1e-5, 1e-3, 0.1, 0.9):
        assert goodput.llr(loss, 9, 9) == pytest.approx(goodput.go_back_n(loss, 9))
        assert goodput.llr(loss, 9, 50) <= goodput.llr(loss, 9, 9)
    assert goodput.go_back_n(0.0, 100) == 1
    assert goodput.go_back_n(0.5, 1) == 0.5  # a loss costs its own frame time only


def test_rh_is_the_textbook_form_where_followers_and_answers_arrive() -> None:
    for loss in (0.0, 1e-5, 1e-3, 1e-2):
        assert goodput.rh(loss, 60) == pytest.approx(goodput.go_back_n(loss, 60), rel=1e-4)
        assert goodput.rh(loss, 60, loss, 242) <= goodput.rh(loss, 60)
    assert goodput.rh(0.5, 1) == pytest.approx(1 / 3)  # a lost frame, and on average one more until the gap is seen


def test_frames_wasted_by_hand() -> None:
    # 2048 B at 800G: 20.68 ns a frame; 113.8 ns a way and an ordered set of 80 ps: 227.68 ns = 11.01 frames
    assert goodput.nack_frames(2_048, 800 * G, 113_800) == 2 + 12
    assert goodput.nack_frames(2_048, 800 * G, 113_800, lost=False) == 1 + 12
    assert goodput.nack_frames(2_048, 800 * G, 0) == 2 + 1
    assert goodput.timer_frames(2_048, 800 * G, 20_680_000, 10) == pytest.approx(1010)


@pytest.mark.parametrize("loss", [1e-3, 1e-2])
def test_llr_loses_what_the_form_says(loss: float) -> None:
    """One frame a slot, a lost one told by the next; answers come back after a fixed number of slots."""
    frames = 30_000
    measured, timer_frames = _experiment(loss, frames)
    assert measured == pytest.approx(goodput.llr(loss, NACK_FRAMES, timer_frames), rel=0.01)


def _experiment(loss: float, frames: int) -> tuple[float, float]:
    draw = random.Random(7)
    t: Any = np.zeros(1, llr.SENDER).view(np.recarray)[0]
    r: Any = np.zeros(1, llr.RECEIVER).view(np.recarray)[0]
    t.frames_max, t.bytes_max, t.replays_max, t.timer_limit_ps = 100, 1000, llr.NO_REPLAY_LIMIT, TIMER_FRAMES
    bits = llr.SEQUENCE_BITS
    llr.on_link_up(t, 0, 0)
    llr.on_init(r, 0, 0)
    llr.on_reply_sent(r, llr.INIT_ECHO, bits)
    llr.on_init_echo(t, 0, 0)
    delay = NACK_FRAMES - 2
    back: list[tuple[int, int, int]] = []
    slot = delivered = 0
    while delivered < frames:
        while back and back[0][0] <= slot:
            _, reply, seq = back.pop(0)
            freed = max(0, int(llr.freed_by(t, seq, bits)))
            (llr.on_ack if reply == llr.ACK else llr.on_nack)(t, seq, freed, bits, slot)
        llr.on_timer(t, slot)
        seq = int(llr.next_replay(t, bits, slot + 1))
        if seq < 0 and llr.may_send(t, 1, bits):
            seq = int(llr.on_send(t, 1, bits, slot))
        if seq >= 0 and draw.random() >= loss:
            delivered += llr.on_frame(r, seq, llr.GOOD, bits) == llr.ACCEPT
            reply = int(llr.reply_due(r))
            if reply:
                back.append((slot + 1 + delay, reply, int(llr.on_reply_sent(r, reply, bits))))
        slot += 1
    return delivered / slot, NACK_FRAMES + TIMER_FRAMES - 1


FRAME_PS = 20_680  # 2048 B at 800G


@pytest.mark.parametrize("loss", [1e-3, 1e-2])
@pytest.mark.parametrize("answers_are_lost", [False, True])
def test_rh_loses_what_the_form_says(loss: float, answers_are_lost: bool) -> None:
    frames, one_way = 30_000, 26
    again = -(-rh_receiver.NACK_AGAIN_PS // FRAME_PS)
    q = loss if answers_are_lost else 0.0
    measured = _end_to_end(loss, q, frames, one_way)
    assert measured == pytest.approx(goodput.rh(loss, 2 + 2 * one_way, q, again), rel=0.015)


def _end_to_end(loss: float, answer_loss: float, frames: int, one_way: int) -> float:
    """One frame a slot; a frame and an answer arrive ``one_way`` slots later; ACKs as the profile paces them."""
    draw = random.Random(11)
    s: Any = np.zeros(1, reliable.SESSION).view(np.recarray)[0]
    r: Any = np.zeros(1, rh_sender.RETRY).view(np.recarray)[0]
    q: Any = np.zeros(1, rh_receiver.REPAIR).view(np.recarray)[0]
    s.window, s.srtt_ps = reliable.WINDOW_FRAMES, rh_sender.SRTT_FIRST_PS
    bits = reliable.PSN_BITS
    there: list[tuple[int, int]] = []
    back: list[tuple[int, bool, int]] = []
    slot = delivered = 0
    while delivered < frames:
        now_ps = slot * FRAME_PS
        while there and there[0][0] <= slot:
            what = rh_receiver.on_data(s, q, there.pop(0)[1], bits, now_ps)
            delivered += what == rh_receiver.ACCEPT
            nack = what == rh_receiver.GAP_NACK
            if nack or reliable.ack_alone_due(s, reliable.ACK_EVERY_FRAMES, reliable.ACK_DELAY_PS, now_ps):
                psn = int(rh_receiver.on_reply_sent(s, bits))
                if draw.random() >= answer_loss:
                    back.append((slot + one_way, nack, psn))
        while back and back[0][0] <= slot:
            _, nack, psn = back.pop(0)
            (rh_sender.on_nack if nack else rh_sender.on_ack)(s, r, psn, bits, now_ps)
        rh_sender.on_timer(s, r, bits, now_ps, rh_sender.TRIES_MAX, rh_sender.EXPIRIES_MAX)
        psn = int(rh_sender.next_resend(s, r, bits, now_ps))
        if psn < 0 and rh_sender.may_send(s, r, bits):
            psn = int(rh_sender.on_send(s, bits, now_ps))
        if psn >= 0 and draw.random() >= loss:
            there.append((slot + 1 + one_way, psn))
        slot += 1
    assert r.timeouts == 0
    return delivered / slot
