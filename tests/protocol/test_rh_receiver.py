"""RH's receiver against a model that counts without wrapping: every state and every frame of a 3-bit space."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalefab.protocol import reliability as rh
from scalefab.protocol import rh_receiver as rx
from scalefab.protocol.rh_receiver import Taken

BITS, SPACE, HALF = 3, 8, 4
NACKED_PS = 7_000


def records(expected: int, *, gap: int = 0, ahead: int = 0, closed: bool = False, unacked: int = 0) -> tuple[Any, Any]:
    s: Any = np.zeros(1, rh.SESSION).view(np.recarray)[0]
    r: Any = np.zeros(1, rx.REPAIR).view(np.recarray)[0]
    s.expected, s.gap, s.unacked = expected, gap, unacked
    s.rx_state = rh.SPACE_CLOSED if closed else rh.SPACE_OPEN
    r.ahead_psn, r.nack_ps = ahead % SPACE, NACKED_PS
    return s, r


def values(s: Any, r: Any) -> dict[str, int]:
    return {name: int(record[name]) for record in (s, r) for name in record.dtype.names}


def test_every_open_state_and_frame() -> None:
    for expected in range(SPACE):
        for told in (None, *range(1, HALF)):  # distance of the last frame ahead, None = no gap is told
            for distance in range(-HALF, HALF):
                for late in (False, True):
                    s, r = records(expected, gap=told is not None, ahead=expected + (told or 0), unacked=1)
                    before = values(s, r)
                    now_ps = NACKED_PS + rx.NACK_AGAIN_PS - (not late)
                    psn = (expected + distance) % SPACE
                    what = rx.on_data(s, r, psn, BITS, now_ps)
                    changed = {name: value for name, value in values(s, r).items() if value != before[name]}
                    changed.pop("since_ps", 0)
                    if distance == 0:
                        assert what == Taken.ACCEPT
                        gap = {"gap": 0} if told is not None else {}
                        assert changed == {"expected": (expected + 1) % SPACE, "unacked": 2} | gap
                    elif distance < 0:
                        assert what == Taken.DUPLICATE
                        assert changed == {"duplicates": 1, "unacked": 2}
                    else:
                        again = told is None or distance <= told or late
                        assert what == (Taken.GAP_NACK if again else Taken.GAP)
                        assert int(r.ahead_psn) == psn and changed["gaps"] == 1 and int(s.gap) == 1
                        assert int(r.nack_ps) == (now_ps if again else NACKED_PS)
                        assert int(r.nacks) == again


def test_a_closed_space_takes_nothing() -> None:
    for expected in range(SPACE):
        for psn in range(SPACE):
            s, r = records(expected, closed=True)
            before = values(s, r)
            assert rx.on_data(s, r, psn, BITS, 0) == Taken.CLOSED
            assert values(s, r) == before | {"closed_drops": 1}


def test_a_nack_acknowledges_and_leaves_nothing_due() -> None:
    s, r = records(3)
    assert rx.on_data(s, r, 3, BITS, 0) == Taken.ACCEPT
    assert rx.on_data(s, r, 6, BITS, 0) == Taken.GAP_NACK
    assert rx.on_reply_sent(s, BITS) == 3
    assert not rh.ack_alone_due(s, 1, 0, 1 << 50)


def test_a_run_that_lost_its_head_is_told_and_one_that_did_not_is_silent() -> None:
    s, r = records(0)
    told = [int(rx.on_data(s, r, psn, rh.PSN_BITS, 0)) for psn in (1, 2, 3)]
    assert told == [Taken.GAP_NACK, Taken.GAP, Taken.GAP]
    told = [int(rx.on_data(s, r, psn, rh.PSN_BITS, 1)) for psn in (1, 2, 3, 4)]  # sent again, 0 is lost again
    assert told == [Taken.GAP_NACK, Taken.GAP, Taken.GAP, Taken.GAP]
    told = [int(rx.on_data(s, r, psn, rh.PSN_BITS, 2)) for psn in (0, 1, 2, 4)]  # the next time 3 is lost
    assert told == [Taken.ACCEPT, Taken.ACCEPT, Taken.ACCEPT, Taken.GAP_NACK]


def test_a_gap_of_half_the_space_across_the_wrap() -> None:
    s, r = records(65_000)
    s.expected = 65_000
    assert rx.on_data(s, r, (65_000 + 32_767) % 65_536, rh.PSN_BITS, 0) == Taken.GAP_NACK
    assert rx.on_data(s, r, (65_000 + 32_768) % 65_536, rh.PSN_BITS, 0) == Taken.DUPLICATE
