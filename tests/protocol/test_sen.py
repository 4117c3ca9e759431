"""SEN: what a switch tells and when, what an endpoint makes of it, which paths it concerns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalefab.protocol import multipath, paths, sen, tiers
from scalefab.protocol.layout_control import ControlType, Tier
from scalefab.protocol.sen import Group, Hearing

US = 1_000_000
LINK = (ControlType.PORT_DOWN, ControlType.PORT_UP, ControlType.DEGRADED, ControlType.DRAIN)
CONGESTION = (ControlType.CONGESTION_ON, ControlType.CONGESTION_OFF)
BITS = 3


def record(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)[0]


def heard(**fields: int) -> Any:
    h = record(sen.HEARD)
    for name, value in fields.items():
        h[name] = value
    return h


# --- switch ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*LINK, *CONGESTION])
def test_three_copies_then_repetitions(kind: ControlType) -> None:
    t = record(sen.TELLING)
    assert sen.copy_due_ps(t) == -1
    sen.on_change(t, kind, 0b0101, 9, 40 * US)
    times = []
    for _ in range(6):
        times.append(int(sen.copy_due_ps(t)) - 40 * US)
        sen.on_copy_sent(t)
    again = 5 * US if kind in (ControlType.CONGESTION_ON, ControlType.DEGRADED) else 100 * US
    assert times == [0, US, 2 * US, 2 * US + again, 2 * US + 2 * again, 2 * US + 3 * again]
    assert (int(t.event), int(t.vc_mask)) == (9, 0b0101)


def test_a_change_between_copies_is_told_at_once() -> None:
    t = record(sen.TELLING)
    sen.on_change(t, ControlType.PORT_DOWN, 15, 1, 0)
    sen.on_copy_sent(t)
    sen.on_change(t, ControlType.PORT_UP, 15, 2, 300)
    assert (int(sen.copy_due_ps(t)), int(t.copies), int(t.kind)) == (300, 0, ControlType.PORT_UP)


def test_thresholds_of_congestion() -> None:
    on, off = int(ControlType.CONGESTION_ON), int(ControlType.CONGESTION_OFF)
    for told in (0, off, on):
        for queued in range(101):
            crossed = int(sen.crossed(told, queued, 100))
            if told != on:
                assert crossed == (on if queued > 75 else 0)
            else:
                assert crossed == (off if queued < 25 else 0)


def test_events_count_up_and_wrap() -> None:
    assert sen.next_event(0, sen.EVENT_BITS) == 1
    assert sen.next_event((1 << 32) - 1, sen.EVENT_BITS) == 0


# --- endpoint ----------------------------------------------------------------------------------------------------------


def test_every_event_number_and_kind() -> None:
    for known in (False, True):
        for last in range(8):
            for event in range(8):
                for before in (0, *LINK):
                    for kind in LINK:
                        h = heard(known=known, event=last, kind=before, heard_ps=3)
                        ahead = (event - last) % 8
                        what = sen.on_sen(h, kind, 15, event, BITS, 77)
                        if known and ahead >= 4:
                            assert what == Hearing.OLD
                            assert (int(h.event), int(h.kind), int(h.heard_ps)) == (last, before, 3)
                            continue
                        same = known and not ahead and kind == before
                        assert what == (Hearing.SAME if same else Hearing.ACT)
                        assert (int(h.event), int(h.kind), int(h.heard_ps)) == (event, kind, 77)


def test_three_copies_are_acted_on_once() -> None:
    h = record(sen.HEARD)
    told = [int(sen.on_sen(h, ControlType.PORT_DOWN, 15, 12, sen.EVENT_BITS, t * US)) for t in range(3)]
    assert told == [Hearing.ACT, Hearing.SAME, Hearing.SAME]
    assert sen.on_sen(h, ControlType.PORT_UP, 15, 13, sen.EVENT_BITS, 3 * US) == Hearing.ACT
    assert sen.on_sen(h, ControlType.PORT_DOWN, 15, 12, sen.EVENT_BITS, 4 * US) == Hearing.OLD
    assert h.kind == ControlType.PORT_UP


@pytest.mark.parametrize("kind", [*LINK, *CONGESTION])
def test_silence_ends_congestion_and_degradation_only(kind: ControlType) -> None:
    h = record(sen.HEARD)
    sen.on_sen(h, kind, 15, 1, sen.EVENT_BITS, US)
    assert not sen.on_silence(h, 11 * US)
    ends = kind in (ControlType.CONGESTION_ON, ControlType.DEGRADED)
    assert bool(sen.on_silence(h, 11 * US + 1)) is ends
    assert not sen.on_silence(h, 12 * US)
    assert sen.on_sen(h, kind, 15, 1, sen.EVENT_BITS, 12 * US) == (Hearing.ACT if ends else Hearing.SAME)


def test_repetitions_break_the_silence() -> None:
    """Told as a switch tells it, every second repetition may be lost: 5 us against 10 us."""
    t, h = record(sen.TELLING), record(sen.HEARD)
    sen.on_change(t, ControlType.CONGESTION_ON, 1, 4, 0)
    for copy in range(20):
        now_ps = int(sen.copy_due_ps(t))
        assert not sen.on_silence(h, now_ps)
        if copy < 3 or copy % 2:
            sen.on_sen(h, t.kind, t.vc_mask, t.event, sen.EVENT_BITS, now_ps)
        sen.on_copy_sent(t)


def test_groups() -> None:
    assert {int(sen.group_of(kind)) for kind in LINK} == {Group.LINK}
    assert {int(sen.group_of(kind)) for kind in CONGESTION} == {Group.CONGESTION}


def test_what_a_state_means_for_a_path() -> None:
    expected = {
        ControlType.PORT_DOWN: (paths.DOWN, paths.DOWN),
        ControlType.DRAIN: (paths.DRAIN, paths.DRAIN),
        ControlType.PORT_UP: (0, 0),
        ControlType.DEGRADED: (paths.DEGRADED, 0),
        ControlType.CONGESTION_ON: (paths.CONGESTED, 0),
        ControlType.CONGESTION_OFF: (0, 0),
    }
    for kind, (told, other) in expected.items():
        h = heard(kind=kind, vc_mask=0b100)
        assert (int(sen.path_state(h, 2)), int(sen.path_state(h, 0))) == (told, other)
    assert sen.path_state(heard(), 0) == 0


def test_whom_an_attached_port_concerns() -> None:
    h = heard(tier=Tier.ATTACHED, plane=9, stack=3, stack_port=2, first_dst=40, dst_count=1)
    for dst in (39, 40, 41):
        for stack in (2, 3):
            for port in range(4):
                path = multipath.path_id(stack, port, 5)
                assert bool(sen.affects(h, dst, path, 9)) is ((dst, stack, port) == (40, 3, 2))


@pytest.mark.parametrize("tier", [Tier.UPLINK, Tier.SPINE_DOWN])
@pytest.mark.parametrize("uplinks", [1, 3, 16])
def test_whom_an_uplink_concerns(tier: Tier, uplinks: int) -> None:
    """Exactly those paths that a leaf sends over the uplink of that index."""
    index = uplinks - 1
    h = heard(tier=tier, plane=2, first_dst=64, dst_count=64, uplink=index, uplinks=uplinks)
    for dst in range(0, 256, 3):
        for uplink in range(tiers.UPLINK_IDS):
            for plane in (1, 2):
                path = multipath.path_id(1, 0, uplink)
                over = tiers.leaf_uplink(dst, uplink, uplinks) == index
                assert bool(sen.affects(h, dst, path, plane)) is (plane == 2 and 64 <= dst < 128 and over)
