"""PFC: thresholds over all levels of a buffer, pause times, and the head-room that makes it lossless."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from scalefab.protocol import pfc
from scalefab.protocol.limits import LinkShape, line_time_ps, pfc_headroom_bytes
from scalefab.protocol.pfc import Due

RATE = 800 * 10**9
XON, XOFF, BUFFER = 3, 6, 10


def receiver(occupancy: int, paused: int = 0, due: int = 0) -> Any:
    r = np.zeros(1, pfc.RECEIVER).view(np.recarray)[0]
    r.occupancy_bytes, r.xon_bytes, r.xoff_bytes, r.buffer_bytes = occupancy, XON, XOFF, BUFFER
    r.paused, r.due, r.quanta = paused, due, 100
    return r


def sender() -> Any:
    return np.zeros(1, pfc.SENDER).view(np.recarray)[0]


@pytest.mark.parametrize(("paused", "due"), [(0, Due.NOTHING), (0, Due.XOFF), (1, Due.NOTHING), (1, Due.XON)])
def test_receiver_over_all_levels(paused: int, due: Due) -> None:
    for level in range(BUFFER + 1):
        for size in range(1, 5):
            r = receiver(level, paused, due)
            taken = level + size <= BUFFER
            assert bool(pfc.on_packet(r, size)) == taken
            after = level + size if taken else level
            assert (int(r.occupancy_bytes), int(r.drops)) == (after, not taken)
            expected = due
            if taken and after >= XOFF:
                expected = Due.NOTHING if paused else Due.XOFF
            assert Due(int(r.due)) is expected
        for size in range(1, level + 1):
            r = receiver(level, paused, due)
            pfc.on_free(r, size)
            expected = due
            if level - size <= XON:
                expected = Due.XON if paused else Due.NOTHING
            assert Due(int(r.due)) is expected


def test_pause_is_told_again_before_it_ends() -> None:
    r, t = receiver(XOFF, due=Due.XOFF), sender()
    assert pfc.may_send(t, 0)
    quanta = int(pfc.on_told(r, 1_000))
    pfc.on_pause(t, quanta, RATE, 2_000)
    until_ps = 2_000 + 100 * 512 * 10**12 // RATE
    assert not pfc.may_send(t, until_ps - 1)
    assert pfc.may_send(t, until_ps)
    again_ps = int(pfc.refresh_due_ps(r, RATE))
    assert again_ps == 1_000 + 100 * 512 * 10**12 // RATE // 2
    assert not pfc.on_refresh(r, RATE, again_ps - 1)
    assert pfc.on_refresh(r, RATE, again_ps)
    assert (Due(int(r.due)), int(pfc.on_told(r, again_ps))) == (Due.XOFF, 100)
    pfc.on_free(r, 4)
    assert int(pfc.refresh_due_ps(r, RATE)) == -1  # XON goes instead
    assert int(pfc.on_told(r, again_ps + 1)) == 0
    pfc.on_pause(t, 0, RATE, again_ps + 5)
    assert pfc.may_send(t, again_ps + 5)
    assert (int(t.pauses), int(t.resumes), int(r.pauses)) == (1, 1, 3)
    assert int(pfc.refresh_due_ps(r, RATE)) == -1


def test_a_quantum_is_512_bit_times_rounded_up() -> None:
    assert pfc.quantum_ps(1, RATE) == 640
    assert pfc.quantum_ps(3, 7 * 10**11) == -(-3 * 512 * 10**12 // (7 * 10**11))
    assert pfc.quantum_ps(pfc.QUANTA_MAX, 100 * 10**9) == 65_535 * 5_120


@pytest.mark.parametrize("cable_ps", [4_600 * 3, 5_000 * 500])
@pytest.mark.parametrize("short_by", [0, 8_192])
def test_head_room_is_what_still_comes(cable_ps: int, short_by: int) -> None:
    """A sender at full rate, the worst moment for XOFF: head-room as computed loses nothing and is nearly used up."""
    link = LinkShape(RATE, cable_ps)
    size, wire_ps = 2_048, line_time_ps(2_068, RATE)
    xoff = 20 * size
    r, t = receiver(0), sender()
    r.xoff_bytes, r.xon_bytes, r.quanta = xoff, 0, pfc.QUANTA_MAX
    r.buffer_bytes = xoff + pfc_headroom_bytes(link) - short_by
    one_way_ps = cable_ps + link.phy_ps // 2
    arriving: deque[int] = deque()
    now_ps = pause_ps = 0
    while not pause_ps or arriving:
        if pfc.may_send(t, now_ps):
            arriving.append(now_ps + wire_ps + one_way_ps)
        now_ps += wire_ps
        while arriving and arriving[0] <= now_ps:
            at_ps = arriving.popleft()
            pfc.on_packet(r, size)
            if r.due == Due.XOFF:  # behind a largest frame that has just begun
                leave_ps = at_ps + wire_ps
                pause_ps = leave_ps + line_time_ps(84, RATE) + one_way_ps
                pfc.on_told(r, leave_ps)
        if pause_ps and now_ps >= pause_ps and not int(t.pauses):
            pfc.on_pause(t, pfc.QUANTA_MAX, RATE, pause_ps)
    over = int(r.peak_bytes) - xoff
    if short_by == 0:
        assert int(r.drops) == 0
        assert over <= pfc_headroom_bytes(link) < over * 1.02 + 3 * size
    else:
        assert int(r.drops) > 0
