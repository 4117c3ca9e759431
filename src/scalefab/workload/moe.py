"""Dispatch and combine of one MoE layer as operations: one PUT for each pair of GPUs, one message for each token.

Experts stand contiguously: expert e lives on GPU e x ranks // experts. A token goes to every GPU that holds one of its experts,
once with ``dedup``, else once for each expert; tokens whose experts are at home do not travel. When all tokens for a GPU are
there (JOIN), it computes (COMPUTE) and sends every result back the way its token came: combine mirrors dispatch.

A token on the wire (DeepSeek-V3 technical report, DeepEP): FP8 = 1 B an element and a 4 B scale for each 128; BF16 = 2 B an
element.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError, Problem
from ..protocol.profile import Kind
from .builder import GraphBuilder, page_aligned
from .graph import I4, I8
from .models import model_problems
from .parts import Part, rank_count, rotated_pairs
from .routing import choices
from .spec import MoeLayer, Precision

MAX_CHOICES = 1 << 31  # tokens x ranks x top_k; above, the routing alone takes minutes
_SCALE_ELEMENTS = 128
_SCALE_BYTES = 4


def token_bytes(hidden: int, precision: Precision) -> int:
    """Return the bytes of one token of ``hidden`` elements on the wire, without headers."""
    if precision is Precision.FP8:
        return hidden + _SCALE_BYTES * -(-hidden // _SCALE_ELEMENTS)
    return 2 * hidden


def token_counts(layer: MoeLayer, ranks: int) -> I8:
    """Return how many token copies each rank sends to each, at home included; shape (ranks, ranks), [source, target]."""
    place = (np.arange(layer.model.experts, dtype=np.int64) * ranks // layer.model.experts).astype(np.int32)
    counts = np.zeros((ranks, ranks), np.int64)
    for rank, experts in enumerate(choices(layer, ranks)):
        target = place[experts]
        if layer.dedup:
            target.sort(axis=1)
            first = np.ones(target.shape, np.bool_)
            first[:, 1:] = target[:, 1:] != target[:, :-1]
            target = target[first]
        counts[rank] = np.bincount(target.ravel(), minlength=ranks)
    return counts


def busiest_bytes(sent: I8) -> int:
    """Return the most bytes that one rank moves over the network in one direction; ``sent`` = [source, target], shape (n, n).

    The size that a group shows, so that algbw = what the busiest rank moves. DeepEP's tests count what a rank receives, its own
    tokens too; those that stay at home are left out here, so that the figure compares with a line rate.
    """
    away = sent.copy()
    np.fill_diagonal(away, 0)
    return int(max(away.sum(axis=0).max(), away.sum(axis=1).max()))


def add_moe(builder: GraphBuilder, layer: MoeLayer, key: str) -> Part:
    """Append dispatch and combine of a layer, as groups ``<name>.dispatch`` and ``<name>.combine``.

    Parameters
    ----------
    builder
        Where they go; its ``endpoints`` is the fabric's count.
    layer
        What is asked; ``ranks`` 0 = all endpoints.
    key
        Dotted path of the entry's settings, for messages.

    Raises
    ------
    InputError
        With every problem found; more ranks than experts among them.
    """
    ranks = _checked_ranks(builder, layer, key)
    counts = token_counts(layer, ranks)
    model = layer.model
    out_bytes, back_bytes = token_bytes(model.hidden, layer.dispatch), token_bytes(model.hidden, layer.combine)
    dispatch = builder.group(f"{layer.name}.dispatch", "moe_dispatch", busiest_bytes(counts * out_bytes), ranks)
    combine = builder.group(f"{layer.name}.combine", "moe_combine", busiest_bytes(counts.T * back_bytes), ranks)

    src, dst = rotated_pairs(ranks)
    sent = _puts(builder, src, dst, counts[src, dst], out_bytes, dispatch, layer.start_ps)
    if not len(sent):
        raise InputError([Problem("no token leaves its GPU", "more tokens or more experts a token", key=f"{key}.tokens_per_gpu")])
    moved = counts[src, dst] > 0
    hosts = np.unique(dst[moved])
    ready = np.full(ranks, -1, np.int32)
    ready[hosts] = builder.joins(hosts, group=dispatch)
    builder.edges(sent, ready[dst[moved]])
    if layer.expert_compute_ps:
        computed = builder.compute(hosts, layer.expert_compute_ps, group=combine)
        builder.edges(ready[hosts], computed)
        ready[hosts] = computed
    returned = _puts(builder, src, dst, counts[dst, src], back_bytes, combine, 0)
    builder.edges(ready[src[counts[dst, src] > 0]], returned)
    return Part(sent, returned, combine)


def _puts(builder: GraphBuilder, src: I4, dst: I4, tokens: I8, each_bytes: int, group: int, start_ps: int) -> I4:
    some = tokens > 0
    if not bool(some.any()):
        return np.empty(0, np.int32)
    size = tokens[some] * each_bytes
    stride = page_aligned(int(size.max()))
    base = builder.region(stride * (int(src.max()) + 1))  # in the target's memory, one place for each source
    address = base + src[some].astype(np.int64) * stride
    return builder.operations(
        Kind.PUT, src[some], dst[some], size, group=group, address=address, chunk=each_bytes, posted=1, start_ps=start_ps
    )


def _checked_ranks(builder: GraphBuilder, layer: MoeLayer, key: str) -> int:
    problems: list[Problem] = model_problems(layer.model, f"{key}.model")
    ranks = rank_count(layer.ranks, builder.endpoints, key, problems)
    if layer.tokens_per_gpu < 1:
        problems.append(Problem(f"{layer.tokens_per_gpu} tokens", "at least 1", key=f"{key}.tokens_per_gpu"))
    elif layer.tokens_per_gpu * ranks * layer.model.top_k > MAX_CHOICES:
        problems.append(Problem(f"{layer.tokens_per_gpu} tokens on {ranks} GPUs", "fewer tokens", key=f"{key}.tokens_per_gpu"))
    if layer.seed < 0:
        problems.append(Problem(f"seed {layer.seed}", "0 or more", key=f"{key}.seed"))
    if layer.expert_compute_ps < 0:
        problems.append(Problem(f"{layer.expert_compute_ps} ps", "0 or more", key=f"{key}.expert_compute"))
    if not 0.0 <= layer.zipf_exponent <= 10.0:
        problems.append(Problem(f"exponent {layer.zipf_exponent}", "0 .. 10", key=f"{key}.zipf_exponent"))
    if ranks > layer.model.experts >= 1:
        whose = layer.model.name or "the model"
        message = f"{ranks} GPUs for {layer.model.experts} experts of {whose}: an expert is not split over GPUs"
        problems.append(Problem(message, f"ranks: {layer.model.experts} or fewer", key=f"{key}.ranks"))
    if problems:
        raise InputError(problems)
    return ranks
