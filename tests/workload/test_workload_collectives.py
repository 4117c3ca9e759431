import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload_domain import Buffers, graph_of, random_order

from scalefab.errors import InputError
from scalefab.protocol.profile import Kind
from scalefab.workload.parts import shares
from scalefab.workload.spec import Algorithm, Collective, CollectiveKind

RING, DIRECT = Algorithm.RING, Algorithm.DIRECT
ALL_REDUCE, ALL_GATHER = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER
REDUCE_SCATTER, ALL_TO_ALL, BROADCAST = CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL, CollectiveKind.BROADCAST


def collective(kind, algorithm=DIRECT, size=1 << 20, endpoints=64, **more):
    return graph_of(Collective("c", kind=kind, algorithm=algorithm, size_bytes=size, **more), endpoints=endpoints)


@settings(max_examples=40)
@given(st.integers(2, 9), st.integers(1, 5000), st.integers(1, 3), st.integers(0, 99))
def test_ring_all_reduce_sums_every_contribution_once(ranks, size, slices, seed):
    chunks = ranks * slices
    graph = collective(ALL_REDUCE, RING, size, ranks, chunks=chunks)
    by = shares(size, chunks)
    used = np.flatnonzero(by > 0)
    hops = len(graph) // len(used)
    assert hops == 2 * (ranks - 1)
    buffers = Buffers(ranks, chunks)
    for i in random_order(graph, seed):
        hop, block = divmod(i, len(used))
        assert graph.bytes[i] == by[used[block]]
        move = buffers.add if hop < ranks - 1 else buffers.copy
        move(int(graph.src[i]), int(graph.dst[i]), int(used[block]))
    for rank in range(ranks):
        for block in used:
            assert buffers.held[rank][block] == dict.fromkeys(range(ranks), 1)


@settings(max_examples=40)
@given(st.integers(2, 9), st.integers(1, 5000), st.integers(0, 99))
def test_direct_all_reduce_sums_every_contribution_once(ranks, size, seed):
    graph = collective(ALL_REDUCE, DIRECT, size, ranks)
    by = shares(size, ranks)
    joins = np.flatnonzero(graph.kind == Kind.JOIN)
    buffers = Buffers(ranks, ranks)
    for i in random_order(graph, seed):
        src, dst = int(graph.src[i]), int(graph.dst[i])
        if graph.kind[i] == Kind.JOIN:
            continue
        if i < joins[0]:
            assert graph.bytes[i] == by[dst]
            buffers.add(src, dst, dst)
        else:
            assert graph.bytes[i] == by[src]
            buffers.copy(src, dst, src)
    for rank in range(ranks):
        for block in np.flatnonzero(by > 0):
            assert buffers.held[rank][block] == dict.fromkeys(range(ranks), 1)


@settings(max_examples=30)
@given(st.integers(2, 9), st.integers(1, 5000), st.integers(0, 99))
def test_ring_reduce_scatter_and_all_gather_leave_the_right_blocks(ranks, size, seed):
    by = shares(size, ranks)
    used = np.flatnonzero(by > 0)
    scatter = collective(REDUCE_SCATTER, RING, size, ranks)
    buffers = Buffers(ranks, ranks)
    for i in random_order(scatter, seed):
        buffers.add(int(scatter.src[i]), int(scatter.dst[i]), int(used[i % len(used)]))
    for block in used:
        assert buffers.held[block][block] == dict.fromkeys(range(ranks), 1)
    gather = collective(ALL_GATHER, RING, size, ranks)
    buffers = Buffers(ranks, ranks)
    for i in random_order(gather, seed):
        buffers.copy(int(gather.src[i]), int(gather.dst[i]), int(used[i % len(used)]))
    for rank in range(ranks):
        for block in used:
            assert buffers.held[rank][block] == {int(block): 1}


@given(st.integers(2, 8), st.integers(1, 4000), st.integers(0, 7), st.integers(1, 12), st.integers(0, 99))
def test_ring_broadcast_reaches_all(ranks, size, root, chunks, seed):
    root %= ranks
    graph = collective(BROADCAST, RING, size, ranks, root=root, chunks=chunks)
    used = int((shares(size, chunks) > 0).sum())
    buffers = Buffers(ranks, used)
    for i in random_order(graph, seed):
        buffers.copy(int(graph.src[i]), int(graph.dst[i]), i % used)
    assert all(held == {root: 1} for rank in buffers.held for held in rank)


@settings(max_examples=40)
@given(
    st.sampled_from(list(CollectiveKind)),
    st.sampled_from(list(Algorithm)),
    st.integers(2, 12),
    st.integers(1, 100_000),
    st.booleans(),
)
def test_bytes_are_exact(kind, algorithm, ranks, size, store):
    """Over all ranks a collective moves (n-1) x size, an all-reduce twice that; each operation has its own place."""
    if kind is ALL_TO_ALL and algorithm is RING:
        return
    operation = Kind.STORE if store else Kind.PUT
    graph = collective(kind, algorithm, size, ranks, operation=operation)
    passes = 2 if kind is ALL_REDUCE else 1
    assert graph.bytes.sum() == passes * (ranks - 1) * size
    moving = graph.bytes > 0
    places = list(zip(graph.dst[moving].tolist(), graph.address[moving].tolist(), strict=True))
    assert len(set(places)) == len(places)
    assert not np.any(graph.address % 4096)
    (group,) = graph.groups
    assert group.size_bytes == size and group.ranks == ranks


def test_bus_factors_are_those_of_nccl_tests():
    factor = {}
    for kind in CollectiveKind:
        (group,) = collective(kind).groups
        factor[kind] = (group.bus_numerator, group.bus_denominator)
    assert factor == {
        ALL_REDUCE: (126, 64),
        ALL_GATHER: (63, 64),
        REDUCE_SCATTER: (63, 64),
        ALL_TO_ALL: (63, 64),
        BROADCAST: (1, 1),
    }


def test_w3_is_126_dependent_steps_of_4_mib_a_rank():
    graph = collective(ALL_REDUCE, RING, 256 << 20, chunks=64)
    assert len(graph) == 126 * 64 and set(graph.bytes.tolist()) == {4 << 20}
    assert graph.edges == 125 * 64
    assert graph.waits.sum() == graph.edges and set(graph.waits[64:].tolist()) == {1}
    first = graph.src[:64].tolist()
    assert first == list(range(64))  # chunk r starts at rank r


def test_all_to_all_1_mib_a_pair():
    graph = collective(ALL_TO_ALL, size=64 << 20)
    assert len(graph) == 64 * 63 and set(graph.bytes.tolist()) == {1 << 20} and graph.edges == 0
    assert graph.dst[:3].tolist() == [1, 2, 3] and graph.dst[63:66].tolist() == [2, 3, 4]
    assert set(graph.posted.tolist()) == {1}


def test_first_ranks_only():
    graph = collective(ALL_GATHER, size=1 << 16, ranks=4)
    assert len(graph) == 12 and graph.src.max() == 3 and graph.dst.max() == 3


def test_direct_joins_cost_no_square_of_edges():
    graph = collective(ALL_REDUCE)
    assert graph.edges == 2 * 64 * 63
    assert int((graph.kind == Kind.JOIN).sum()) == 64


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        ({"ranks": 65}, "ranks", "65 ranks"),
        ({"ranks": 1}, "ranks", "1 ranks"),
        ({"size": 0}, "size", "0 bytes"),
        ({"operation": Kind.LOAD}, "operation", "a collective by load"),
        ({"operation": Kind.STORE, "transaction_bytes": 256, "size": 1000}, "size", "not whole transactions of 256 B"),
        ({"transaction_bytes": 256}, "transaction", "is read by nothing"),
        ({"chunks": 64}, "chunks", "the algorithm is direct"),
        ({"algorithm": RING, "chunks": 65}, "chunks", "65 chunks for 64 ranks"),
        ({"kind": BROADCAST, "root": 64}, "root", "root 64 takes no part"),
        ({"kind": ALL_TO_ALL, "algorithm": RING}, "algorithm", "no ring"),
    ],
)
def test_broken_collectives_name_their_setting(more, key, message):
    with pytest.raises(InputError) as caught:
        collective(**({"kind": ALL_REDUCE} | more))
    (problem,) = caught.value.problems
    assert message in problem.message and problem.key.endswith(f".{key}") and problem.key.startswith("workload[0].")
