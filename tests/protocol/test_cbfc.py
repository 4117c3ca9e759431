"""CBFC's counters over all states and inputs at small widths, and two ends over a channel of CF_UPDATEs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol import cbfc

BITS, UPDATE_BITS = 5, 3  # counters modulo 32, updates modulo 8


def sender(consumed: int, freed: int, limit: int) -> Any:
    record = np.zeros(1, cbfc.SENDER).view(np.recarray)
    record[0].consumed, record[0].freed, record[0].limit = consumed, freed, limit
    return record[0]


def receiver(consumed: int, freed: int, reported: int) -> Any:
    record = np.zeros(1, cbfc.RECEIVER).view(np.recarray)
    record[0].consumed, record[0].freed, record[0].reported = consumed, freed, reported
    return record[0]


@pytest.mark.parametrize(
    ("size", "overhead", "credit", "expected"),
    [(64, 0, 64, 1), (65, 0, 64, 2), (2048, 0, 64, 32), (9216, 0, 64, 144), (64, -16, 64, 1), (64, 127, 64, 3), (64, 0, 2048, 1)],
)
def test_credits_of_a_packet(size: int, overhead: int, credit: int, expected: int) -> None:
    assert cbfc.credits_needed(size, overhead, credit) == expected


@pytest.mark.parametrize("limit", [1, 4, 7])
def test_sender_over_all_states_and_inputs(limit: int) -> None:
    for freed in range(1 << BITS):
        for out in range(limit + 1):
            consumed = (freed + out) % (1 << BITS)
            assert cbfc.used(sender(consumed, freed, limit), BITS) == out
            for n in range(1, limit + 2):
                record = sender(consumed, freed, limit)
                assert bool(cbfc.may_send(record, n, BITS)) == (out + n <= limit)
                if out + n <= limit:
                    cbfc.on_send(record, n, BITS)
                    assert (int(record.consumed), int(record.freed)) == ((consumed + n) % (1 << BITS), freed)
            for low in range(1 << UPDATE_BITS):
                record = sender(consumed, freed, limit)
                d = (low - freed) % (1 << UPDATE_BITS)
                if d <= out:
                    assert cbfc.on_update(record, low, BITS, UPDATE_BITS) == d
                    assert (int(record.freed), int(record.errors)) == ((freed + d) % (1 << BITS), 0)
                else:  # more came back than was out: a CF_ERROR changes nothing
                    assert cbfc.on_update(record, low, BITS, UPDATE_BITS) == -1
                    assert (int(record.freed), int(record.errors)) == (freed, 1)
                assert int(record.consumed) == consumed


def test_receiver_over_all_states_and_inputs() -> None:
    size = 1 << BITS
    for freed in range(size):
        for behind in range(4):
            for holding in range(4):
                record = receiver((freed + holding) % size, freed, (freed - behind) % size)
                assert cbfc.unreported(record, BITS) == behind
                assert cbfc.held(record, BITS) == holding
                assert cbfc.on_report(record, UPDATE_BITS) == freed % (1 << UPDATE_BITS)
                assert cbfc.unreported(record, BITS) == 0
                cbfc.on_receive(record, 2, BITS)
                assert cbfc.held(record, BITS) == holding + 2 == int(record.peak)
                cbfc.on_free(record, holding + 2, BITS)
                assert cbfc.held(record, BITS) == 0
                assert int(record.peak) == holding + 2


@settings(deadline=None)
@given(
    st.integers(1, 7),
    st.integers(0, (1 << 20) - 1),
    st.lists(st.tuples(st.sampled_from(["send", "free", "report", "arrive"]), st.integers(1, 7)), max_size=200),
)
def test_two_ends_never_overrun_the_buffer_and_recover_every_credit(limit: int, start: int, steps: list[tuple[str, int]]) -> None:
    tx, rx = sender(start, start, limit), receiver(start, start, start)
    buffer: list[int] = []
    updates: list[int] = []
    for step, n in steps:
        if step == "send" and cbfc.may_send(tx, n, 20):
            cbfc.on_send(tx, n, 20)
            cbfc.on_receive(rx, n, 20)
            buffer.append(n)
        elif step == "free" and buffer:
            cbfc.on_free(rx, buffer.pop(0), 20)
        elif step == "report" and cbfc.unreported(rx, 20):
            updates.append(int(cbfc.on_report(rx, 15)))
        elif step == "arrive" and updates:
            assert cbfc.on_update(tx, updates.pop(0), 20, 15) >= 0
        assert sum(buffer) <= limit
        assert sum(buffer) == cbfc.held(rx, 20)
        assert sum(buffer) <= cbfc.used(tx, 20)
    while buffer:
        cbfc.on_free(rx, buffer.pop(0), 20)
    if cbfc.unreported(rx, 20):
        updates.append(int(cbfc.on_report(rx, 15)))
    for low in updates:
        assert cbfc.on_update(tx, low, 20, 15) >= 0
    assert cbfc.used(tx, 20) == 0


# ---- limits of a port, CC_UPDATE, refresh, best effort ----------------------------------------------------------------------


def test_credits_per_port_over_all_states() -> None:
    for out in range(5):
        for others in range(5):
            for n in range(1, 4):
                vc, port = sender(out, 0, 7), sender(out + others, 0, 6)
                may = out + n <= 7 and out + others + n <= 6
                assert bool(cbfc.may_send_port(vc, port, n, BITS)) == may
                cbfc.on_send_port(vc, port, n, BITS)
                assert (int(vc.consumed), int(port.consumed)) == (out + n, out + others + n)
            for low in range(1 << UPDATE_BITS):
                vc, port = sender(out, 0, 7), sender(out + others, 0, 6)
                back = int(cbfc.on_update_port(vc, port, low, BITS, UPDATE_BITS))
                assert back == (low if low <= out else -1)
                assert (int(vc.freed), int(port.freed)) == (max(back, 0), max(back, 0))
                assert int(vc.errors) == (back < 0)


def test_cc_update_over_all_states_and_values() -> None:
    size = 1 << BITS
    for consumed in range(size):
        for holding in range(4):
            for said in range(size):
                record = receiver(consumed, (consumed - holding) % size, (consumed - holding) % size)
                ahead = [(consumed + k) % size for k in range(1, size // 2)]
                back = ahead.index(said) + 1 if said in ahead else 0
                assert int(cbfc.on_cc_update(record, said, BITS)) == back
                assert int(record.consumed) == (said if back else consumed)
                assert cbfc.held(record, BITS) == holding  # what lies in the buffer stays there
                assert cbfc.unreported(record, BITS) == back  # and a CF_UPDATE is due


def test_cc_update_repairs_what_was_lost_and_nothing_else() -> None:
    tx, rx = sender(0, 0, 20), receiver(0, 0, 0)
    for k in range(4):
        cbfc.on_send(tx, 2, BITS)
        if k != 1:  # one packet is lost for good
            cbfc.on_receive(rx, 2, BITS)
            cbfc.on_free(rx, 2, BITS)
    cbfc.on_update(tx, cbfc.on_report(rx, UPDATE_BITS), BITS, UPDATE_BITS)
    assert cbfc.used(tx, BITS) == 2
    assert cbfc.on_cc_update(rx, cbfc.cc_value(tx), BITS) == 2
    assert cbfc.on_cc_update(rx, cbfc.cc_value(tx), BITS) == 0  # once more changes nothing
    cbfc.on_update(tx, cbfc.on_report(rx, UPDATE_BITS), BITS, UPDATE_BITS)
    assert cbfc.used(tx, BITS) == 0
    assert int(rx.consumed) == int(tx.consumed)


@settings(deadline=None)
@given(st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1))
def test_each_lossless_vc_is_in_one_cc_update_that_suits_it(lossless: int, eligible: int) -> None:
    seen: list[int] = []
    for wanted in (True, False):
        for part in (0, 1):
            mask = int(cbfc.cc_vcs(lossless, eligible, wanted, part))
            vcs = [vc for vc in range(32) if mask >> vc & 1]
            assert len(vcs) <= cbfc.CC_VCS_MAX
            assert all(bool(eligible >> vc & 1) == wanted for vc in vcs)
            assert part == 0 or not vcs or len(seen) >= cbfc.CC_VCS_MAX
            assert sorted(vcs) == vcs
            seen += vcs
    assert sorted(seen) == [vc for vc in range(32) if lossless >> vc & 1]


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=32), st.integers(0, (1 << 32) - 1), st.integers(-1, 31))
def test_the_most_unreported_vc_is_told_first(freed: list[int], mask: int, skip: int) -> None:
    records = np.zeros(len(freed), cbfc.RECEIVER).view(np.recarray)
    records.freed = freed
    asked = [(-n, vc) for vc, n in enumerate(freed) if n and vc != skip and mask >> vc & 1]
    assert cbfc.most_unreported(records, len(freed), mask, skip, BITS) == (min(asked)[1] if asked else -1)


def test_refresh_best_effort_room_and_constants() -> None:
    assert not cbfc.refresh_due(100, 50, 149)
    assert cbfc.refresh_due(100, 50, 150)
    for holding in range(5):
        for n in range(1, 4):
            assert bool(cbfc.has_room(receiver(holding, 0, 0), n, 4, BITS)) == (holding + n <= 4)
    assert (cbfc.REFRESH_BYTES, cbfc.CC_INTERVAL_PS, cbfc.CF_SPACING_BYTES) == (262_144, 256_000_000, 6_400)
