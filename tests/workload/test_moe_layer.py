import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload_domain import graph_of

from scalefab.errors import InputError
from scalefab.protocol.profile import Kind
from scalefab.workload.moe import token_bytes, token_counts
from scalefab.workload.routing import Dealer, choices, popularity, substream
from scalefab.workload.spec import MoeLayer, MoeModel, Precision, Routing


def model(experts=256, top_k=8, groups=1, top_groups=1, hidden=7168):
    return MoeModel("m", "deepseek_v3", hidden, experts, top_k, 58, 61, 2048, 1, groups, top_groups)


def layer(tokens=64, routing=Routing.BALANCED, **more):
    of = {key: more.pop(key) for key in ("experts", "top_k", "groups", "top_groups", "hidden") if key in more}
    return MoeLayer("moe", model=model(**of), tokens_per_gpu=tokens, routing=routing, **more)


def chosen(spec, ranks):
    return np.concatenate(list(choices(spec, ranks)))


GROUPED = [(256, 8, 8, 4), (160, 6, 8, 3), (64, 6, 8, 4), (24, 5, 4, 3), (16, 3, 4, 4), (12, 2, 6, 3), (128, 11, 16, 8)]


@pytest.mark.parametrize("routing", Routing)
@pytest.mark.parametrize(("experts", "top_k", "groups", "top_groups"), [*GROUPED, (256, 8, 1, 1), (60, 4, 1, 1), (8, 8, 1, 1)])
def test_experts_are_distinct_and_within_their_groups(routing, experts, top_k, groups, top_groups):
    picks = chosen(layer(50, routing, experts=experts, top_k=top_k, groups=groups, top_groups=top_groups), 5)
    assert picks.shape == (250, top_k) and picks.min() >= 0 and picks.max() < experts
    assert all(len(set(row)) == top_k for row in picks.tolist())
    assert all(len(set(row)) <= top_groups for row in (picks // (experts // groups)).tolist())


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 60), st.integers(1, 6), st.integers(0, 5))
def test_balanced_gives_every_expert_the_same_number_of_tokens(tokens, top_k, experts, ranks, seed):
    top_k = min(top_k, experts)
    count = np.bincount(chosen(layer(tokens, experts=experts, top_k=top_k, seed=seed), ranks).ravel(), minlength=experts)
    assert count.max() - count.min() <= 1


def test_balanced_is_exact_on_each_gpu_when_it_divides():
    for picks in choices(layer(64), 8):
        assert set(np.bincount(picks.ravel(), minlength=256).tolist()) == {2}


@pytest.mark.parametrize(("experts", "top_k", "groups", "top_groups"), GROUPED)
def test_balanced_within_groups_differs_by_little(experts, top_k, groups, top_groups):
    spec = layer(97, experts=experts, top_k=top_k, groups=groups, top_groups=top_groups)
    count = np.bincount(chosen(spec, 7).ravel(), minlength=experts)
    assert count.max() - count.min() <= 2


def test_deepseek_groups_balance_exactly():
    count = np.bincount(chosen(layer(64, groups=8, top_groups=4), 4).ravel(), minlength=256)
    assert set(count.tolist()) == {8}


@given(st.integers(1, 12), st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(0, 9))
def test_dealt_hands_have_no_pair(size, hands, seed):
    hands = np.minimum(np.array(hands, np.int64), size)
    dealer = Dealer(size, np.random.default_rng(seed))
    half = len(hands) // 2
    flat = np.concatenate((dealer.deal(hands[:half]), dealer.deal(hands[half:])))
    assert len(flat) == hands.sum()
    for hand in np.split(flat, np.cumsum(hands)[:-1]):
        assert len(set(hand.tolist())) == len(hand)
    count = np.bincount(flat, minlength=size)
    assert count.max() - count.min() <= 1


def test_zipf_is_as_skewed_as_it_says():
    spec = layer(4096, Routing.ZIPF, experts=64, top_k=1, zipf_exponent=1.0, seed=3)
    count = np.bincount(chosen(spec, 16).ravel(), minlength=64)
    weight = popularity(64, 1.0, 3)
    expected = weight / weight.sum() * count.sum()
    assert np.all(np.abs(count - expected) < 6 * np.sqrt(expected))  # six standard deviations
    assert sorted(np.round(weight.max() / weight)) == list(range(1, 65))


def test_zipf_draws_without_replacement_like_one_by_one():
    """Second picks of a two-expert draw follow the weights that are left."""
    spec = layer(30_000, Routing.ZIPF, experts=3, top_k=2, zipf_exponent=1.0)
    weight = popularity(3, 1.0, 0)
    p = weight / weight.sum()
    seen = Counter(tuple(sorted(row)) for row in chosen(spec, 2).tolist())
    for a, b in ((0, 1), (0, 2), (1, 2)):
        expected = 60_000 * (p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b]))
        assert abs(seen[a, b] - expected) < 6 * np.sqrt(expected)


@pytest.mark.parametrize("routing", Routing)
def test_same_seed_same_tokens(routing):
    first, again, other = (token_counts(layer(32, routing, seed=s), 8) for s in (5, 5, 6))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_substreams_are_apart():
    draws = {
        substream(*path).integers(1 << 60)
        for path in [(1, "routing"), (2, "routing"), (1, "path"), (1, "routing", 0), (1, "routing", 1)]
    }
    assert len(draws) == 5


@pytest.mark.parametrize("routing", Routing)
@pytest.mark.parametrize("ranks", [3, 8])
def test_copies_by_hand(routing, ranks):
    """Counts against a token-by-token walk, experts placed contiguously."""
    for dedup in (True, False):
        spec = layer(20, routing, experts=32, top_k=4, dedup=dedup)
        expected = np.zeros((ranks, ranks), int)
        for rank, picks in enumerate(choices(spec, ranks)):
            for row in picks:
                targets = [int(e) * ranks // 32 for e in row]
                for target in set(targets) if dedup else targets:
                    expected[rank, target] += 1
        assert np.array_equal(token_counts(spec, ranks), expected)


@pytest.mark.parametrize(("precision", "size"), [(Precision.FP8, 7168 + 4 * 56), (Precision.BF16, 14336)])
def test_token_bytes(precision, size):
    assert token_bytes(7168, precision) == size
    assert token_bytes(130, Precision.FP8) == 130 + 8


@pytest.mark.parametrize("routing", Routing)
@pytest.mark.parametrize("dedup", [True, False])
@pytest.mark.parametrize("compute_ps", [0, 777])
def test_combine_mirrors_dispatch(routing, dedup, compute_ps):
    spec = layer(16, routing, experts=64, top_k=6, dedup=dedup, expert_compute_ps=compute_ps)
    graph = graph_of(spec, endpoints=8)
    counts = token_counts(spec, 8)
    moved = {"moe.dispatch": {}, "moe.combine": {}}
    for i in np.flatnonzero(graph.kind == Kind.PUT):
        name = graph.groups[graph.group[i]].name
        assert graph.bytes[i] % graph.chunk[i] == 0
        moved[name][int(graph.src[i]), int(graph.dst[i])] = int(graph.bytes[i] // graph.chunk[i])
    pairs = {(a, b): int(counts[a, b]) for a in range(8) for b in range(8) if a != b and counts[a, b]}
    assert moved["moe.dispatch"] == pairs
    assert moved["moe.combine"] == {(b, a): n for (a, b), n in pairs.items()}
    assert set(graph.chunk[graph.kind == Kind.PUT].tolist()) == {7392, 14336}
    computed = graph.kind == Kind.COMPUTE
    assert set(graph.compute_ps[computed].tolist()) == ({compute_ps} if compute_ps else set())
    away = counts * ~np.eye(8, dtype=bool)
    busiest = max(away.sum(0).max(), away.sum(1).max())
    assert [group.size_bytes for group in graph.groups] == [busiest * 7392, busiest * 14336]


def test_combine_waits_for_the_arrivals_at_its_gpu_only():
    graph = graph_of(layer(16, expert_compute_ps=5), endpoints=8)
    ready = {i: set() for i in range(len(graph))}
    for i in range(len(graph)):  # numbers are in topological order
        for j in graph.succ[graph.succ_ptr[i] : graph.succ_ptr[i + 1]]:
            assert j > i
            ready[int(j)] |= ready[i] | {i}
    puts = np.flatnonzero(graph.kind == Kind.PUT)
    into = {rank: {int(i) for i in puts if graph.group[i] == 0 and graph.dst[i] == rank} for rank in range(8)}
    for i in puts:
        if graph.group[i] == 1:
            assert {p for p in ready[int(i)] if graph.kind[p] == Kind.PUT} == into[int(graph.src[i])]


@pytest.mark.parametrize(
    ("more", "ranks", "key", "message"),
    [
        (
            {"experts": 8, "top_k": 2},
            64,
            "ranks",
            "64 GPUs for 8 experts of m: an expert is not split over GPUs; expected ranks: 8 or fewer",
        ),
        ({"tokens": 0}, 8, "tokens_per_gpu", "0 tokens"),
        ({"tokens": 1 << 30}, 64, "tokens_per_gpu", "fewer tokens"),
        ({"seed": -1}, 8, "seed", "seed -1"),
        ({"zipf_exponent": -0.5}, 8, "zipf_exponent", "exponent -0.5"),
        ({"top_k": 300}, 8, "model.top_k", "300 experts a token of 256"),
        ({"expert_compute_ps": -1}, 8, "expert_compute", "-1 ps"),
    ],
)
def test_broken_layers_name_their_setting(more, ranks, key, message):
    with pytest.raises(InputError) as caught:
        graph_of(layer(**more), endpoints=ranks)
    (problem,) = caught.value.problems
    assert problem.key == f"workload[0].moe.{key}" and message in str(problem)


def test_first_ranks_only():
    graph = graph_of(dataclasses.replace(layer(8), ranks=4), endpoints=8)
    assert graph.src.max() == 3
