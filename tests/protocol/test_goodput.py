"""Go-back-N closed forms against a plain random experiment with LLR's own transition functions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from scalefab.protocol import goodput, llr

G = 10**9
NACK_FRAMES, TIMER_FRAMES = 12, 60


def test_forms_agree_where_they_must() -> None:
    for loss in (0.0, 1e-5, 1e-3, 0.1, 0.9):
        assert goodput.llr(loss, 9, 9) == pytest.approx(goodput.go_back_n(loss, 9))
        assert goodput.llr(loss, 9, 50) <= goodput.llr(loss, 9, 9)
    assert goodput.go_back_n(0.0, 100) == 1
    assert goodput.go_back_n(0.5, 1) == 0.5  # a loss costs its own frame time only


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
