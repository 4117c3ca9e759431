"""Threads of programs: what their text means, what becomes of it in the graph, and what is refused."""

from __future__ import annotations

import pytest

from scalefab.errors import InputError
from scalefab.protocol.layout import Order, Scope
from scalefab.protocol.opcodes import AtomicOp
from scalefab.protocol.profile import Kind
from scalefab.workload.build import build_graph
from scalefab.workload.programtext import TextError, parse_instruction, parse_thread
from scalefab.workload.spec import Instruction, Program, Thread, WorkloadSpec

READ = {
    "store 2:0x1000 5": Instruction(Kind.STORE, 2, 0x1000, 8, 5),
    "store.release.posted 2:64 bytes=64B": Instruction(Kind.STORE, 2, 64, 64, posted=True, order=Order.RELEASE),
    "load.acquire 3:0": Instruction(Kind.LOAD, 3, 0, 8, order=Order.ACQUIRE),
    "put 1:0 4KiB value=-1": Instruction(Kind.PUT, 1, 0, 4096, -1),
    "put_signal 1:0 4KiB 0x9000 2 do=add": Instruction(
        Kind.PUT_SIGNAL, 1, 0, 4096, flag_address=0x9000, flag_value=2, flag_add=True
    ),
    "get 1:0 1MiB": Instruction(Kind.GET, 1, 0, 1 << 20),
    "fence": Instruction(Kind.FENCE),
    "fence 3": Instruction(Kind.FENCE, 3, scope=Scope.GPU),
    "wait 1.5us": Instruction(Kind.COMPUTE, wait_ps=1_500_000),
}


@pytest.mark.parametrize("text", READ)
def test_instructions_are_read(text: str) -> None:
    assert parse_instruction(text, {}) == READ[text]


def test_atomics_and_places_are_read() -> None:
    one = parse_instruction("compare_swap x 3 7", {"x": (2, 64)})
    assert (one.dst, one.address, one.atomic) == (2, 64, one.atomic) and one.atomic is not None
    assert (one.atomic.operation, one.atomic.compare, one.atomic.value) == (AtomicOp.COMPARE_SWAP, 3, 7)
    assert parse_thread("1: wait 1us;; load x;", {"x": (2, 64)}).instructions[1].dst == 2


WRONG = {
    "stor 2:0 5": "no instruction 'stor'",
    "store 2 5": "'2' in 'store 2 5' is no target",
    "store 2:0": "'store 2:0' lacks its value",
    "store 2:0 5 6": "'6' in 'store 2:0 5 6' is read by nothing",
    "store.rel 2:0 5": "no '.rel' in 'store.rel 2:0 5'",
    "store.acquire.posted 2:0 5": "'store.acquire.posted 2:0 5' has no answer that later operations could wait for",
    "load.posted 2:0": "'load.posted 2:0' without an answer brings nothing back",
    "load 2:0 value=3": "'value' in 'load 2:0 value=3' is read by nothing",
    "put 2:0 4Kib": "'4Kib' in 'put 2:0 4Kib': ",
    "put 2:0 4KiB value=1 value=2": "'value' in 'put 2:0 4KiB value=1 value=2' is given twice",
    "fence.release": "'.release' in 'fence.release' is read by nothing",
    "wait 5": "'5' in 'wait 5': ",
    "add 2:0 0x10000000000000000": "'0x10000000000000000' in 'add 2:0 0x10000000000000000' does not fit 64 bits",
    "put_signal 2:0 64B 0 1 do=sub": "do=sub in 'put_signal 2:0 64B 0 1 do=sub'",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_told(text: str) -> None:
    with pytest.raises(TextError) as caught:
        parse_instruction(text, {})
    assert caught.value.message.startswith(WRONG[text])


@pytest.mark.parametrize("text", ["", "x: load 1:0", "load 1:0"])
def test_a_thread_begins_with_its_gpu(text: str) -> None:
    with pytest.raises(TextError, match="does not begin with a GPU"):
        parse_thread(text)


def graph(*threads: str) -> object:
    program = Program("p", threads=tuple(parse_thread(text) for text in threads))
    return build_graph(WorkloadSpec((program,)), 4, 1984)


def test_only_order_makes_edges() -> None:
    free = graph("0: store 1:0 1; load 2:0; add 3:0 1")
    assert free.edges == 0  # type: ignore[attr-defined]
    fenced = graph("0: store 1:0 1; load 2:0; fence; load 1:0; load 2:0")
    assert [Kind(int(k)) for k in fenced.kind] == [Kind.STORE, Kind.LOAD, Kind.FENCE, Kind.FENCE, Kind.JOIN, Kind.LOAD, Kind.LOAD]  # type: ignore[attr-defined]
    assert fenced.edges == 4  # type: ignore[attr-defined]
    nothing = graph("0: fence; load 1:0")
    assert [Kind(int(k)) for k in nothing.kind] == [Kind.LOAD]  # type: ignore[attr-defined]


def test_all_problems_of_a_program_are_told_at_once() -> None:
    threads = (
        Thread(9, (Instruction(Kind.LOAD, 1, 0, 8),)),
        Thread(1, (Instruction(Kind.LOAD, 1, 0, 8), Instruction(Kind.PUT, 2, 4, 64, 5), Instruction(Kind.STORE, 2, 0, 4, 5))),
        Thread(0, (Instruction(Kind.PUT_SIGNAL, 1, 0, 64, flag_address=4), Instruction(Kind.FENCE, 7, scope=Scope.GPU))),
    )
    with pytest.raises(InputError) as caught:
        build_graph(WorkloadSpec((Program("p", threads=threads),)), 4, 1984)
    assert [problem.message for problem in caught.value.problems] == [
        "9 is no endpoint",
        "GPU 1 to itself does not use the network",
        "a value of 64B at 0x4",
        "a value of a STORE of 4B",
        "a flag at 0x4",
        "7 is no endpoint",
    ]
