"""The second wall: nothing that is still asked for is forgotten, nothing old is taken for new."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol import result_cache as rc
from scalefab.protocol.profile import Opcode
from scalefab.protocol.result_cache import ResponseTimer
from scalefab.protocol.tags import Tags


def cache() -> np.ndarray:
    return np.zeros((3, rc.RESULTS_MAX), np.int64)


def test_results_are_of_one_source_and_one_tag() -> None:
    tags = cache()
    assert rc.lookup(tags, 1, 0x8005) == -1 and rc.lookup(tags, 1, 0) == -1
    slot = rc.keep(tags, 1, 0x8005)
    assert rc.lookup(tags, 1, 0x8005) == slot == 5
    assert rc.lookup(tags, 2, 0x8005) == -1
    assert rc.lookup(tags, 1, 0x8045) == -1  # same slot
    rc.pass_by(tags, 1, 0x8045)
    assert rc.lookup(tags, 1, 0x8005) == -1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 0x7FFF), st.lists(st.tuples(st.booleans(), st.integers(0, 63)), min_size=1, max_size=400))
def test_every_open_atomic_is_remembered_and_no_new_one_is_known(first: int, steps: list[tuple[bool, int]]) -> None:
    """A source that takes tags as `tags` allows, a target that executes at once, answers that come in any order."""
    source, tags = Tags(first), cache()
    waiting: list[tuple[int, Opcode]] = []
    for is_atomic, which in steps:
        opcode = Opcode.ATOMIC if is_atomic else Opcode.RDMA_WRITE
        while not source.may_take(opcode):
            source.release(waiting.pop(which % len(waiting))[0])
        tag = source.take(opcode)
        assert rc.lookup(tags, 0, tag) == -1
        (rc.keep if is_atomic else rc.pass_by)(tags, 0, tag)
        waiting.append((tag, opcode))
        for tag, opcode in waiting:
            assert (rc.lookup(tags, 0, tag) >= 0) is (opcode is Opcode.ATOMIC)
        if which % 3 and len(waiting) > 1:
            source.release(waiting.pop(which % len(waiting))[0])


def test_a_whole_turn_of_tags_never_hits() -> None:
    source, tags = Tags(), cache()
    for number in range(0x8000 + 200):
        atomic = number % 1000 == 0
        tag = source.take(Opcode.ATOMIC if atomic else Opcode.RDMA_WRITE)
        assert rc.lookup(tags, 0, tag) == -1
        (rc.keep if atomic else rc.pass_by)(tags, 0, tag)
        source.release(tag)


def test_a_request_without_response_is_asked_once_more() -> None:
    for asked_again in (False, True):
        last = ResponseTimer.TIMED_OUT if asked_again else ResponseTimer.ASK_AGAIN
        assert rc.on_response_timer(asked_again, 5, 5 + rc.RESPONSE_PS - 1) == ResponseTimer.NOT_YET
        assert rc.on_response_timer(asked_again, 5, 5 + rc.RESPONSE_PS) == last
