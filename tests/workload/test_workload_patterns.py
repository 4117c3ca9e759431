import itertools

import numpy as np
import pytest
from workload_domain import graph_of

from scalefab.errors import InputError
from scalefab.protocol.profile import Kind
from scalefab.workload.spec import Pattern


def pattern(name="point_to_point", **more):
    return graph_of(Pattern("p", pattern=name, **({"bytes": 4096} | more)), endpoints=8)


@pytest.mark.parametrize(
    ("kind", "size", "chunk", "posted"),
    [
        (Kind.LOAD, 64, 64, False),
        (Kind.STORE, 4096, 256, True),
        (Kind.ATOMIC, 8, 8, False),
        (Kind.REDUCE, 512, 256, False),
        (Kind.PUT, 5000, 0, False),
        (Kind.GET, 5000, 0, False),
        (Kind.SEND, 5000, 0, True),
    ],
)
def test_point_to_point_of_each_kind(kind, size, chunk, posted):
    graph = pattern(operation=kind, bytes=size, posted=posted, src=2, dst=5, repeat=3, address=8192)
    assert graph.kind.tolist() == [kind] * 3 and graph.bytes.tolist() == [size] * 3
    assert graph.src.tolist() == [2] * 3 and graph.dst.tolist() == [5] * 3
    assert graph.chunk.tolist() == [chunk] * 3 and set(graph.posted.tolist()) == {int(posted)}
    step = -(-size // 8) * 8
    assert graph.address.tolist() == [8192 + step * i for i in range(3)]
    assert graph.succ.tolist() == [1, 2] and graph.waits.tolist() == [0, 1, 1]
    (group,) = graph.groups
    assert (group.size_bytes, group.ranks, group.bus_numerator, group.bus_denominator) == (3 * size, 2, 1, 1)


def test_permutation():
    graph = pattern("permutation", shift=3, repeat=2)
    assert graph.src.tolist() == [*range(8), *range(8)]
    assert np.array_equal(graph.dst, (graph.src + 3) % 8)
    assert graph.edges == 8 and graph.waits.tolist() == [0] * 8 + [1] * 8


def test_incast_gives_each_source_its_own_pages():
    graph = pattern("incast", dst=2, bytes=100, repeat=2)
    assert set(graph.dst.tolist()) == {2} and sorted(graph.src[:7].tolist()) == [0, 1, 3, 4, 5, 6, 7]
    places = sorted(zip(graph.address.tolist(), graph.bytes.tolist(), strict=True))
    assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(places))
    assert len(set((graph.address[:7] // 4096).tolist())) == 7
    assert graph.groups[0].size_bytes == 7 * 100 * 2 and graph.groups[0].ranks == 8


def test_an_address_is_taken_as_it_stands():
    assert pattern(operation=Kind.LOAD, bytes=64, address=0x1_2345_6780).address.tolist() == [0x1_2345_6780]


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        ({"name": "permutatoin"}, "", "no pattern 'permutatoin'"),
        ({"src": 8}, "src", "8 is no endpoint"),
        ({"src": 1, "dst": 1}, "dst", "to itself"),
        ({"name": "permutation", "shift": 8}, "shift", "sends to itself"),
        ({"name": "incast", "dst": 5, "ranks": 4}, "dst", "target 5 takes no part"),
        ({"bytes": 0}, "bytes", "0 bytes"),
        ({"repeat": 0}, "repeat", "0 repeats"),
        ({"transaction_bytes": 64}, "transaction", "read by nothing"),
        ({"operation": Kind.LOAD, "bytes": 96, "transaction_bytes": 96}, "", "a LOAD transaction of 96 bytes"),
    ],
)
def test_broken_patterns_name_their_setting(more, key, message):
    with pytest.raises(InputError) as caught:
        pattern(**more)
    (problem,) = caught.value.problems
    assert message in problem.message and problem.key.startswith("workload[0].") and problem.key.endswith(key)


def test_near_miss_of_a_pattern():
    with pytest.raises(InputError, match="did you mean 'permutation'"):
        pattern("permutatoin")
