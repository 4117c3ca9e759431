import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload_domain import GB, fabric, graph_of

from scalefab.compiled import jit_enabled
from scalefab.protocol.profile import Kind
from scalefab.workload.bounds import DEPENDENCY_CHAIN, PLANES, SINK_PORTS, SOURCE_PORTS, TARGET_MEMORY, bound
from scalefab.workload.builder import GraphBuilder
from scalefab.workload.flows import flow_bytes
from scalefab.workload.frames import alone_frames, alone_wire_bytes, items
from scalefab.workload.spec import Algorithm, Collective, CollectiveKind, MoeLayer, MoeModel, Pattern, Routing

W1 = Collective("w1", size_bytes=64 << 20)  # 1 MiB a pair
W3 = Collective("w3", kind=CollectiveKind.ALL_REDUCE, algorithm=Algorithm.RING, size_bytes=256 << 20, chunks=64)


def cut(found, name):
    return next(c for c in found.cuts if c.name == name)


def bound_of(*phases, on=None, pack=True, **more):
    on = on or fabric(**more)
    return bound(graph_of(*phases, endpoints=on.endpoints, mtu=on.spec.mtu), on, pack=pack)


@pytest.mark.parametrize(("frame_max", "ps"), [(4160, 671_569_920), (2048, 683_265_240)])
@pytest.mark.parametrize("pack", [True, False])
def test_w1_is_63_mib_and_its_headers_over_one_port(frame_max, ps, pack):
    found = bound_of(W1, frame_max=frame_max, pack=pack)
    assert found.ps == ps and found.cut == SOURCE_PORTS
    assert [cut(found, name).ps for name in (SOURCE_PORTS, SINK_PORTS, PLANES)] == [ps] * 3
    if frame_max == 2048:
        assert ps == 63 * 1_084_548 * 10


@pytest.mark.parametrize("frame_max", [2048, 4160])
def test_w3_is_126_steps_one_after_the_other(frame_max):
    on = fabric(frame_max=frame_max)
    found = bound_of(W3, on=on)
    packets = -(-(4 << 20) // on.spec.mtu)
    step_bytes = (4 << 20) + packets * 68 - 12  # headers, preamble, gap; no gap after the last
    chain_ps = 126 * (10 * step_bytes + 300_000)
    assert found.cut == DEPENDENCY_CHAIN and found.ps == chain_ps
    efficiency = (4 << 20) / ((4 << 20) + packets * 68)
    assert 1.0 < found.ps / (5_284_823_040 / efficiency) < 1.015
    assert "126 operations in a row" in cut(found, DEPENDENCY_CHAIN).detail


def test_idle_load_round_trip_of_the_profile():
    found = bound_of(Pattern("load", operation=Kind.LOAD, bytes=64), count=2, idle=True)
    assert found.ps == 1_107_040 and found.cut == DEPENDENCY_CHAIN


@pytest.mark.parametrize(
    ("rate_gbps", "kind", "posted", "ps"),
    [
        # 40 + 1000 B of packet and frame, 8 B preamble; COMPLETION 64 + 8 B; one way 477.6 ns, memory 150 ns
        (800, Kind.PUT, True, 477_600 + 150_000 + 10 * 1056),
        (800, Kind.PUT, False, 2 * 477_600 + 150_000 + 10 * 1056 + 720),
        (800, Kind.GET, False, 2 * 477_600 + 150_000 + 720 + 10 * 1048),
        # at 100 Gb/s a frame is longer than the switch's latency: it is stored whole, then sent
        (100, Kind.PUT, True, None),
    ],
)
def test_one_operation_alone(rate_gbps, kind, posted, ps):
    on = fabric(2, idle=True, rate_bps=rate_gbps * GB, frame_max=9216)
    size = 1000 if ps else 4096
    found = bound_of(Pattern("p", operation=kind, bytes=size, posted=posted), on=on)
    if ps is None:
        links = 2 * int(on.port_delay_ps[0])  # both directions alike
        ps = 50_000 + links + 2 * 80 * (4144 + 8) + 50_000 + 150_000
    assert found.ps == ps


def test_a_chain_of_operations_is_their_sum():
    one = bound_of(Pattern("p", bytes=5000, repeat=1), count=2, idle=True).ps
    assert bound_of(Pattern("p", bytes=5000, repeat=7), count=2, idle=True).ps == 7 * one


def test_a_later_start_moves_the_bound():
    at_zero = bound_of(W1).ps
    assert bound_of(Collective("late", size_bytes=64 << 20, start_ps=12_345)).ps == at_zero + 12_345


def test_more_ports_share_the_load():
    one = bound_of(W1, ports=1)
    eight = bound_of(W1, ports=8, planes=8)
    assert eight.ps == -(-one.ps // 8)


def test_serial_phases_add_up():
    """Incast to one GPU, then another: the second begins when the first is in."""
    first = Pattern("a", pattern="incast", bytes=1 << 20, dst=0, posted=True)
    second = Pattern("b", pattern="incast", bytes=1 << 20, dst=1, posted=True)
    alone = bound_of(first, count=16)
    both = bound_of(first, second, count=16)
    assert alone.cut == SINK_PORTS and both.cut == SINK_PORTS
    assert both.ps >= 2 * alone.ps
    assert both.ps < 2 * alone.ps + 1_000_000
    together = bound_of(first, Pattern("b", (), pattern="incast", bytes=1 << 20, dst=1, posted=True), count=16)
    assert together.ps < 1.1 * alone.ps


def test_skewed_moe_adds_dispatch_and_combine():
    model = MoeModel("m", "deepseek_v3", 7168, 64, 4, 1, 1, 1, 0)
    on = fabric(16)
    spec = MoeLayer("moe", model=model, tokens_per_gpu=64, routing=Routing.ZIPF, zipf_exponent=1.5, expert_compute_ps=3_000_000)
    graph = graph_of(spec, endpoints=16)
    found = bound(graph, on, pack=True)
    puts = graph.kind == Kind.PUT
    arrive = np.bincount(graph.dst[puts & (graph.group == 0)], graph.bytes[puts & (graph.group == 0)])
    leave = np.bincount(graph.src[puts & (graph.group == 1)], graph.bytes[puts & (graph.group == 1)])
    hot = int(np.argmax(leave))
    assert found.ps > 10 * (arrive[hot] + leave[hot]) + 3_000_000
    assert found.ps < 10.5 * (arrive[hot] + leave[hot]) + 5_000_000


def test_slow_memory_binds():
    found = bound_of(Pattern("p", pattern="incast", bytes=1 << 20, posted=True), count=9, memory_Bps=50 * GB)
    assert found.cut == TARGET_MEMORY
    exact_ps = 8 * (1 << 20) * 20  # 20 ps a byte
    assert exact_ps - 2048 * 20 - 20_480 <= found.ps <= exact_ps


def test_reads_count_on_the_way_back():
    found = bound_of(Pattern("p", pattern="incast", operation=Kind.GET, bytes=1 << 20, dst=0), count=9)
    data = (1 << 20) + 529 * 60  # RDMA_READ_RSP: TH 8
    source = cut(found, SOURCE_PORTS)
    assert source.ps == 8 * data * 10 and "GPU 0 sends" in source.detail


def test_answers_of_stores_count():
    posted = Pattern("p", pattern="incast", operation=Kind.STORE, bytes=1 << 16, transaction_bytes=64, posted=True, dst=0)
    answered = Pattern("p", pattern="incast", operation=Kind.STORE, bytes=1 << 16, transaction_bytes=64, dst=0)
    out = [cut(bound_of(p, count=9), SOURCE_PORTS) for p in (posted, answered)]
    assert "GPU 0" not in out[0].detail
    packed = -(-1024 * 80 // 2000)  # 25 stores of 80 B a frame
    assert out[0].ps == 10 * (1024 * 80 + 52 * packed)
    one_each = bound_of(answered, count=9, pack=False)
    assert cut(one_each, SOURCE_PORTS).ps == 10 * max(1024 * (112 + 20), 8 * 1024 * 84)


@pytest.mark.skipif(not jit_enabled(), reason="a speed test of compiled code")
def test_million_operations_in_two_seconds():
    on = fabric(1024, ports=8, planes=8)
    graph = graph_of(Collective("w2", size_bytes=1024 << 16), endpoints=1024)
    bound(graph, on, pack=True)  # compiles
    begin = time.perf_counter()
    found = bound(graph, on, pack=True)
    assert time.perf_counter() - begin < 2
    assert found.ps == -(-1023 * (65_536 + 34 * 68) * 10 // 8)


# -- packing -----------------------------------------------------------------------------------------------------------------

KINDS = [Kind.LOAD, Kind.STORE, Kind.REDUCE, Kind.ATOMIC, Kind.PUT, Kind.GET, Kind.SEND]
LIMITS = {2048: 1984, 4160: 4096, 9216: 4096, 1518: 1408}


@st.composite
def operations(draw):
    kind = draw(st.sampled_from(KINDS))
    if kind is Kind.ATOMIC:
        return kind, 8 * draw(st.integers(1, 300)), 8
    if kind in (Kind.PUT, Kind.GET, Kind.SEND):
        return kind, draw(st.integers(1, 40_000)), draw(st.sampled_from([0, 100, 1500, 7392]))
    chunk = 1 << draw(st.integers(2, 9))
    return kind, chunk * draw(st.integers(1, 200)), chunk


def bodies(operation, mtu, answer):
    """Item sizes in order, written out from the profile's table."""
    kind, size, chunk = operation

    def pieces(total, step):
        return [min(step, total - i) for i in range(0, total, step)]

    def pad(n):
        return (n + 7) // 8 * 8

    if kind in (Kind.PUT, Kind.GET, Kind.SEND):
        messages = pieces(size, chunk or size)
        if answer == (kind is Kind.GET):
            return [(8 if answer else 16) + pad(packet) for m in messages for packet in pieces(m, mtu)]
        return [8 if answer else 24 for _ in messages]
    if answer:
        return [8 + (pad(t) if kind is Kind.LOAD else 8 if kind is Kind.ATOMIC else 0) for t in pieces(size, chunk)]
    return [16 + (0 if kind is Kind.LOAD else 8 if kind is Kind.ATOMIC else pad(t)) for t in pieces(size, chunk)]


def packed_bytes(sizes, limit):
    """What a sender needs that fills frames in order."""
    frames, free = [], 0
    for size in sizes:
        if size > free:
            frames.append(0)
            free = limit
        frames[-1] += size
        free -= size
    return sum(max(64, 32 + body) + 20 for body in frames), len(frames)


@settings(max_examples=150, deadline=None)
@given(operations(), st.sampled_from(list(LIMITS)), st.integers(0, 1))
def test_items_are_those_of_the_profile(operation, frame_max, answer):
    kind, size, chunk = operation
    mtu, limit = LIMITS[frame_max], frame_max - 32
    b0, n0, b1, n1, b2, n2 = runs = items(int(kind), size, chunk, mtu, answer)
    expected = bodies(operation, mtu, answer)
    assert sorted([b0] * n0 + [b1] * n1 + [b2] * n2) == sorted(expected)
    wire, frames = packed_bytes(expected, limit)
    assert alone_wire_bytes(*runs, limit, 1) <= wire
    if n1 == 0:
        assert alone_frames(*runs, limit) == frames  # one message: exact
    unpacked = sum(max(64, 32 + body) + 20 for body in expected)
    assert alone_wire_bytes(*runs, limit, 0) == unpacked


@settings(max_examples=150, deadline=None)
@given(st.lists(operations(), min_size=1, max_size=6), st.sampled_from(list(LIMITS)), st.integers(0, 1000))
def test_no_order_of_packing_beats_the_flow_bound(several, frame_max, seed):
    """Operations of one pair, their items shuffled at will and packed: no fewer bytes than counted, in total and added up."""
    mtu, limit = LIMITS[frame_max], frame_max - 32
    b = GraphBuilder(mtu, 2)
    group = b.group("g", "g", 0, 2)
    for kind, size, chunk in several:
        b.operations(kind, 0, 1, size, chunk=chunk, posted=0, group=group)
    graph = b.build()
    n = len(graph)
    request, answer, out, into = (np.zeros(k, np.int64) for k in (n, n, 2, 2))
    columns = (graph.kind, graph.src, graph.dst, graph.bytes, graph.chunk, graph.posted)
    one_leaf = (np.zeros(2, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64))
    flow_bytes(*columns, 2, mtu, limit, 1, request, answer, out, into, *one_leaf)
    assert out.tolist() == into[::-1].tolist()
    rng = np.random.default_rng(seed)
    sent = [0, 0]
    for side in (0, 1):
        vcs = {}
        for operation in several:
            bulk = operation[0] in (Kind.PUT, Kind.SEND) if side == 0 else operation[0] is Kind.GET
            vcs.setdefault(bulk, []).extend(bodies(operation, mtu, side))
        for sizes in vcs.values():
            options = [sizes, sorted(sizes), sorted(sizes)[::-1], rng.permutation(sizes).tolist()]
            sent[side] += min(packed_bytes(option, limit)[0] for option in options)
    assert out[0] <= sent[0] and out[1] <= sent[1]
    assert request.sum() <= out[0] and answer.sum() <= out[1]
    assert out[0] >= 0.9 * sent[0] - 200  # and it is tight


@settings(max_examples=60, deadline=None)
@given(st.lists(operations(), min_size=1, max_size=5), st.sampled_from(list(LIMITS)))
def test_packing_never_raises_the_bound(several, frame_max):
    on = fabric(2, ports=2, planes=2, frame_max=frame_max, idle=True)
    b = GraphBuilder(on.spec.mtu, 2)
    group = b.group("g", "g", 0, 2)
    ids = [b.operations(kind, 0, 1, size, chunk=chunk, posted=0, group=group)[0] for kind, size, chunk in several]
    for before, after in zip(ids[::2], ids[1::2], strict=False):
        b.edges(before, after)
    graph = b.build()
    packed, unpacked = bound(graph, on, pack=True), bound(graph, on, pack=False)
    assert packed.ps <= unpacked.ps
    assert packed.ps == max(c.ps for c in packed.cuts) and packed.cut == packed.cuts[0].name
