import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_domain import predecessors

from scalefab.errors import InputError
from scalefab.protocol.profile import VC_BULK, VC_REQUEST, Kind
from scalefab.workload.builder import GraphBuilder, default_transaction, page_aligned
from scalefab.workload.parts import rotated_pairs, shares


def builder(endpoints: int = 16, mtu: int = 1984) -> tuple[GraphBuilder, int]:
    b = GraphBuilder(mtu, endpoints)
    return b, b.group("test", "test", 0, 2)


def one(kind: Kind, size: int, chunk: int = 0, address: int = 0, src: int = 0, dst: int = 1, posted: int = 0) -> None:
    b, group = builder()
    b.operations(kind, [src], [dst], [size], group=group, chunk=chunk, address=address, posted=posted)
    b.build()


def test_columns_and_defaults():
    b, group = builder()
    puts = b.operations(Kind.PUT, [0, 1], [1, 2], [10, 20], group=group, address=[0, 4096])
    loads = b.operations(Kind.LOAD, 3, [4, 5, 6], 64, group=group, chunk=64, posted=0, start_ps=7)
    computed = b.compute([9], 123, group=group)
    b.edges(puts, computed)
    graph = b.build()
    assert puts.tolist() == [0, 1] and loads.tolist() == [2, 3, 4] and computed.tolist() == [5]
    assert graph.kind.tolist() == [Kind.PUT] * 2 + [Kind.LOAD] * 3 + [Kind.COMPUTE]
    assert graph.vc.tolist() == [VC_BULK] * 2 + [VC_REQUEST] * 3 + [0]
    assert graph.bytes.tolist() == [10, 20, 64, 64, 64, 0]
    assert graph.start_ps.tolist() == [0, 0, 7, 7, 7, 0]
    assert graph.src.tolist() == [0, 1, 3, 3, 3, 9] and graph.dst.tolist() == [1, 2, 4, 5, 6, 9]
    assert graph.compute_ps.tolist() == [0] * 5 + [123]
    assert set(graph.stack.tolist()) == {-1}
    assert graph.waits.tolist() == [0] * 5 + [2]
    with pytest.raises(ValueError, match="read-only"):
        graph.bytes[0] = 1


def test_join_costs_n_plus_m_edges():
    b, group = builder()
    src, dst = rotated_pairs(16)
    before = b.operations(Kind.PUT, src, dst, 100, group=group)
    gate = b.join(before, group=group)
    after = b.operations(Kind.PUT, src, dst, 100, group=group)
    b.edges(gate, after)
    graph = b.build()
    assert graph.edges == 2 * 240
    assert graph.waits[gate[0]] == 240 and graph.src[gate[0]] == -1


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40))
def test_successors_hold_exactly_the_edges(pairs):
    pairs = [(a, b) for a, b in pairs if a < b]
    b, group = builder()
    b.operations(Kind.PUT, 0, 1, np.ones(20, np.int64), group=group)
    for first, second in pairs:
        b.edges([first], [second])
    graph = b.build()
    seen = [(i, int(j)) for i in range(20) for j in graph.succ[graph.succ_ptr[i] : graph.succ_ptr[i + 1]]]
    assert sorted(seen) == sorted(pairs)
    assert [len(p) for p in predecessors(graph)] == graph.waits.tolist()


def test_edges_against_the_order_of_the_arrays_are_fine_but_a_circle_is_not():
    b, group = builder()
    ids = b.operations(Kind.PUT, 0, 1, [1, 1, 1], group=group)
    b.edges(ids[[2, 1]], ids[[1, 0]])
    assert b.build().waits.tolist() == [1, 1, 0]
    b.edges(ids[0], ids[2])
    with pytest.raises(InputError, match="3 operations wait on each other in a circle"):
        b.build()


def test_million_operations_are_quick_and_small():
    src, dst = rotated_pairs(1024)
    tracemalloc.start()
    begin = time.perf_counter()
    b, group = builder(1024)
    b.operations(Kind.PUT, src, dst, 65_536, group=group, address=src.astype(np.int64) * 65_536)
    graph = b.build()
    wall_s = time.perf_counter() - begin
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(graph) == 1024 * 1023
    assert wall_s < 3
    assert peak < 150e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: one(Kind.PUT, 1, src=16), "source 16 is no endpoint; expected 0 .. 15"),
        (lambda: one(Kind.PUT, 1, dst=-1), "target -1 is no endpoint"),
        (lambda: one(Kind.PUT, 0), "a PUT of 0 bytes"),
        (lambda: one(Kind.PUT, 5, src=1), "from GPU 1 to itself"),
        (lambda: one(Kind.PUT, 5, address=(1 << 57) - 4), "out of range"),
        (lambda: one(Kind.LOAD, 64, 0), "transactions of 0 bytes"),
        (lambda: one(Kind.LOAD, 96, 96), "a LOAD transaction of 96 bytes; expected a power of two"),
        (lambda: one(Kind.STORE, 1024, 1024), "a STORE transaction of 1024 bytes"),
        (lambda: one(Kind.STORE, 100, 64), "a STORE transaction of 36 bytes"),
        (lambda: one(Kind.LOAD, 64, 64, address=32), "address 32 is not a multiple of 64 B"),
        (lambda: one(Kind.LOAD, 64, 64, posted=1), "a LOAD without an answer"),
        (lambda: one(Kind.ATOMIC, 16, 16), "an ATOMIC of 16 bytes; expected 4B or 8B"),
        (lambda: one(Kind.ATOMIC, 8, 8, address=4), "not aligned to 8 B"),
        (lambda: one(Kind.REDUCE, 6, 6), "a REDUCE of 6 bytes"),
        (lambda: one(Kind.REDUCE, 384 * 11, 384), "crosses a 4 KiB page"),
    ],
)
def test_what_the_profile_forbids_is_named(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
    assert all(problem.key == "test" for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("kind", "size", "chunk", "address"),
    [
        (Kind.LOAD, 1, 1, 3),
        (Kind.LOAD, 512, 512, 512),
        (Kind.STORE, 80, 64, 64),
        (Kind.ATOMIC, 64, 8, 8),
        (Kind.REDUCE, 384, 384, 4),
        (Kind.REDUCE, 8192, 512, 0),
        (Kind.REDUCE, 384 * 2, 384, 4096 - 384),
    ],
)
def test_what_the_profile_allows_passes(kind, size, chunk, address):
    one(kind, size, chunk, address)


def test_large_operations_become_messages_of_65536_packets():
    b, group = builder(mtu=1984)
    largest = 65_536 * 1984
    b.operations(Kind.PUT, 0, 1, [largest, largest + 1, 10], group=group)
    b.operations(Kind.PUT, 0, 1, [largest, 10], group=group, chunk=[4096, 10])
    assert b.build().chunk.tolist() == [0, largest, 0, 4096, 10]


def test_all_problems_come_at_once():
    with pytest.raises(InputError) as caught:
        one(Kind.PUT, 0, src=20, dst=20)
    assert len(caught.value.problems) == 4  # two ids, the same GPU, no bytes


def test_nothing_asked_is_an_error():
    with pytest.raises(InputError, match="asks for nothing"):
        builder()[0].build()


@given(st.integers(0, 10**9), st.integers(1, 1024), st.sampled_from([1, 4, 256]))
def test_shares_are_exact_and_even(size, parts, unit):
    by = shares(size - size % unit, parts, unit)
    assert by.sum() == size - size % unit
    assert by.max() - by.min() in (0, unit)


@given(st.integers(2, 40))
def test_senders_in_lockstep_never_meet(ranks):
    src, dst = rotated_pairs(ranks)
    assert sorted(zip(src.tolist(), dst.tolist(), strict=True)) == [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    by_step = dst.reshape(ranks, ranks - 1).T
    assert all(len(set(targets.tolist())) == ranks for targets in by_step)


@pytest.mark.parametrize(
    ("kind", "size", "chunk"),
    [(Kind.LOAD, 64, 64), (Kind.LOAD, 1 << 20, 256), (Kind.STORE, 100, 4), (Kind.ATOMIC, 64, 8), (Kind.PUT, 64, 0)],
)
def test_default_transaction(kind, size, chunk):
    assert default_transaction(kind, size) == chunk


def test_pages():
    assert [page_aligned(n) for n in (0, 1, 4096, 4097)] == [0, 4096, 4096, 8192]
