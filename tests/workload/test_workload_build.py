import numpy as np
import pytest
from workload_domain import graph_of, predecessors

from scalefab.errors import InputError
from scalefab.protocol.profile import Kind
from scalefab.workload.spec import Collective, Pattern


def put(name, after=None, **more):
    return Pattern(name, after, bytes=64, **more)


def ancestors(graph, i):
    before = predecessors(graph)
    seen, todo = set(), [i]
    while todo:
        for p in before[todo.pop()]:
            if p not in seen:
                seen.add(p)
                todo.append(p)
    return seen


def test_entries_follow_each_other_by_default():
    graph = graph_of(put("a", repeat=2), Collective("b", size_bytes=6400), endpoints=8)
    joins = np.flatnonzero(graph.kind == Kind.JOIN)
    assert len(joins) == 1 and graph.edges == 1 + 1 + 56  # a's own, into the JOIN, out of it
    assert all({0, 1, int(joins[0])} == ancestors(graph, i) for i in range(3, len(graph)))


def test_after_nothing_and_after_several():
    graph = graph_of(put("a"), put("b", ()), put("c", ()), put("d", ("a", "c")), endpoints=4)
    names = [graph.groups[g].name for g in graph.group]
    moves = {graph.groups[graph.group[i]].name: i for i in range(len(graph)) if graph.kind[i] == Kind.PUT}
    assert graph.waits[[moves["a"], moves["b"], moves["c"]]].tolist() == [0, 0, 0]
    assert {moves["a"], moves["c"]} == {i for i in ancestors(graph, moves["d"]) if graph.kind[i] == Kind.PUT}
    assert set(names) == {"a", "b", "c", "d"}


def test_an_entry_may_wait_for_a_later_one():
    graph = graph_of(put("late", ("early",)), put("early", ()), endpoints=4)
    moves = {graph.groups[graph.group[i]].name: i for i in range(len(graph)) if graph.kind[i] == Kind.PUT}
    assert moves["early"] in ancestors(graph, moves["late"])


def test_no_join_where_nobody_waits():
    assert not np.any(graph_of(Collective("a", size_bytes=640), endpoints=8).kind == Kind.JOIN)


def test_two_that_wait_for_one_share_its_join():
    graph = graph_of(Collective("a", size_bytes=640), put("b", ("a",)), put("c", ("a",)), endpoints=8)
    assert int((graph.kind == Kind.JOIN).sum()) == 1


def test_start_times_reach_the_operations():
    graph = graph_of(put("a", start_ps=5), put("b", start_ps=9), endpoints=4)
    assert graph.start_ps[graph.kind == Kind.PUT].tolist() == [5, 9]


@pytest.mark.parametrize(
    ("phases", "key", "text"),
    [
        ([put("warmup"), put("main", ("warmpu",))], "workload[1].after", "no entry 'warmpu'; did you mean 'warmup'?"),
        ([put("a"), put("a")], "workload[1].name", "the name 'a' is workload[0]'s already"),
        ([put("a", ("a",))], "workload[0].after", "'a' waits on itself"),
        ([put("a", ("b",)), put("b", ("a",))], "workload[0].after", "'a', 'b' wait on each other in a circle"),
        ([], "workload", "asks for nothing"),
    ],
)
def test_broken_order(phases, key, text):
    with pytest.raises(InputError) as caught:
        graph_of(*phases, endpoints=4)
    (problem,) = caught.value.problems
    assert problem.key == key and text in str(problem)


def test_problems_of_all_entries_come_together():
    with pytest.raises(InputError) as caught:
        graph_of(put("a", dst=9), put("b"), put("c", src=7), endpoints=4)
    assert [p.key for p in caught.value.problems] == ["workload[0].point_to_point.dst", "workload[2].point_to_point.src"]
