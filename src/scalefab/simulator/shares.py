"""How operations are divided over sequence spaces: packets and transactions, shares of them, and the spaces that carry these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, Problem
from ..fabric.arrays import Fabric
from ..protocol.multipath import Spray
from ..protocol.operations import MESSAGE_MAX_PACKETS, VC_RESPONSE, Kind
from ..protocol.tiers import sprayed_place
from ..workload.graph import OperationGraph

PAGE_BITS = 12
MESSAGES = (Kind.PUT, Kind.SEND, Kind.PUT_SIGNAL)  # requests on VC 2
SPACES_MAX = 10_000_000
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

I4 = NDArray[np.int32]
I8 = NDArray[np.int64]


def page_hashes(addresses: I8, dst: I8) -> I8:
    """Vectorised `protocol.multipath.page_hash` (same integers)."""
    x = (addresses.astype(np.uint64) >> np.uint64(PAGE_BITS)) ^ (dst.astype(np.uint64) << np.uint64(45))
    with np.errstate(over="ignore"):
        return ((x * _GOLDEN) >> np.uint64(48)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Shares of all operations, grouped by operation: arrays of one length, and CSR pointers of requests and of GET data."""

    op: I4
    path: I4
    index: I4
    stride: I4
    count: I4
    answer: I4
    request_ptr: I4
    data_ptr: I4


def unit_counts(graph: OperationGraph, mtu: int) -> tuple[I8, I8]:
    """Return the packets or transactions that carry each operation, and its messages; FENCE, JOIN and COMPUTE have none."""
    size, chunk = graph.bytes.astype(np.int64), graph.chunk.astype(np.int64)
    bulk = np.isin(graph.kind, (*MESSAGES, Kind.GET))
    network = graph.moving
    message = np.where(
        (chunk <= 0) | (chunk >= size), np.minimum(np.maximum(size, 1), MESSAGE_MAX_PACKETS * mtu), np.maximum(chunk, 1)
    )
    whole = size // message
    rest = size - whole * message
    per = -(-message // mtu)
    packets = whole * per + -(-rest // mtu)
    messages = whole + (rest > 0)
    lsu_chunk = np.maximum(chunk, 1)
    transactions = -(-size // lsu_chunk)
    units = np.where(bulk, packets, transactions)
    parts = np.where(bulk, messages, transactions)
    return np.where(network, units, 0), np.where(network, parts, 0)


def _path_sets(graph: OperationGraph, fabric: Fabric) -> tuple[I8, I8]:
    """Return first path index and number of paths that each operation may use: all, or those of its stack."""
    n = len(graph)
    first, count = np.zeros(n, np.int64), np.full(n, fabric.paths, np.int64)
    bound = np.flatnonzero(graph.stack >= 0)
    if len(bound):
        stacks = graph.stack[bound].astype(np.int64)
        first[bound] = np.searchsorted(fabric.path_stack, stacks, "left")
        count[bound] = np.searchsorted(fabric.path_stack, stacks, "right") - first[bound]
    return first, count


def _expand(counts: I8) -> tuple[I8, I8]:
    """Return (owner, index in owner) for ``counts[i]`` items of each owner i."""
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    start = np.cumsum(counts) - counts
    return owner, np.arange(len(owner), dtype=np.int64) - np.repeat(start, counts)


def _lsu_shares(graph: OperationGraph, ids: I8, units: I8, first: I8, paths: I8) -> tuple[I8, I8, I8, I8]:
    """VC 0: transactions go by the page of their address; one share a page (a page = one path), in order of address."""
    size, chunk, address = graph.bytes[ids], np.maximum(graph.chunk[ids].astype(np.int64), 1), graph.address[ids]
    single = (paths[ids] == 1) | (graph.kind[ids] == Kind.GET)
    chunk = np.where(graph.kind[ids] == Kind.GET, np.maximum(size, 1), chunk)
    pages = np.where(single, 1, ((address + size - 1) >> PAGE_BITS) - (address >> PAGE_BITS) + 1)
    owner, page = _expand(pages)
    page_start = np.where(page == 0, address[owner], ((address[owner] >> PAGE_BITS) + page) << PAGE_BITS)
    # A transaction belongs to the page that its first byte lies in (sizes are powers of two and aligned: none straddles).
    begin = -(-(page_start - address[owner]) // chunk[owner])
    following = np.append(begin[1:], 0)
    last = np.append(owner[1:] != owner[:-1], True) if len(owner) else np.zeros(0, bool)
    count = np.where(last, units[ids][owner], following) - begin
    h = page_hashes(page_start, graph.dst[ids][owner].astype(np.int64))
    path = first[ids][owner] + ((h * paths[ids][owner]) >> 16)
    keep = count > 0
    return ids[owner[keep]], path[keep], begin[keep], count[keep]


def _pair_offsets(graph: OperationGraph, ids: I8, packets: I8) -> I8:
    """Return the packets that earlier operations of the same (src, dst) send: where an operation's round robin goes on."""
    pair = graph.src[ids].astype(np.int64) * (1 << 16) + graph.dst[ids]
    order = np.argsort(pair, kind="stable")
    before = np.cumsum(packets[order]) - packets[order]
    new = np.append(True, np.diff(pair[order]) != 0) if len(order) else np.zeros(0, bool)
    start = np.maximum.accumulate(np.where(new, before, 0)) if len(order) else before
    offsets = np.zeros(len(ids), np.int64)
    offsets[order] = before - start
    return offsets


def _message_shares(graph: OperationGraph, ids: I8, base: I8, n: I8, mtu: int) -> tuple[I8, I8, I8, I8, I8]:
    """Spray.HASH: each message on the path of its own address."""
    size = graph.bytes[ids].astype(np.int64)
    chunk = graph.chunk[ids].astype(np.int64)
    message = np.where((chunk <= 0) | (chunk >= size), size, np.maximum(chunk, 1))
    owner, m = _expand(-(-size // np.maximum(message, 1)))
    first_byte = m * message[owner]
    length = np.minimum(message[owner], size[owner] - first_byte)
    h = page_hashes(graph.address[ids][owner] + first_byte, graph.dst[ids][owner].astype(np.int64))
    path = base[owner] + ((h * n[owner]) >> 16)
    return ids[owner], path, m * -(-message[owner] // mtu), np.ones_like(owner), -(-length // mtu)


def _bulk_shares(
    graph: OperationGraph, ids: I8, units: I8, first: I8, paths: I8, spray: Spray, mtu: int, uplinks: int
) -> tuple[I8, I8, I8, I8, I8]:
    """VC 2: packets go by the policy; returns op, path, index, stride, count."""
    n, base, total = paths[ids], first[ids], units[ids]
    if spray is Spray.HASH:
        return _message_shares(graph, ids, base, n, mtu)
    if spray is Spray.SINGLE or bool((n == 1).all()):
        return ids, base, np.zeros_like(ids), np.ones_like(ids), total
    # each pair starts at a path of its own: short messages of all pairs would else share the first paths
    start = page_hashes(graph.src[ids].astype(np.int64) << PAGE_BITS, graph.dst[ids].astype(np.int64)) * n >> 16
    offset = (_pair_offsets(graph, ids, total) + start) % n
    if spray is Spray.LEAST_QUEUED:
        owner, j = _expand(n)
        stride = np.where(n[owner] > 1, 0, 1)
        return ids[owner], base[owner] + (offset[owner] + j) % n[owner], np.zeros_like(owner), stride, total[owner]
    owner, j = _expand(np.minimum(n, total))
    turn = np.remainder(j + offset[owner], n[owner], dtype=np.int64)
    path = base[owner] + sprayed_place(turn, n[owner] // uplinks, uplinks)
    rounds = total[owner] // n[owner]
    count: I8 = rounds + ((j - rounds) % n[owner] < total[owner] - rounds * n[owner])
    return ids[owner], path, j, n[owner], count


def make_shares(graph: OperationGraph, fabric: Fabric, units: I8, parts: I8, spray: Spray, mtu: int) -> Shares:
    """Divide every operation over the sessions that carry it."""
    first, paths = _path_sets(graph, fabric)
    n = len(graph)
    vc0 = np.flatnonzero(np.isin(graph.kind, (Kind.LOAD, Kind.STORE, Kind.REDUCE, Kind.ATOMIC, Kind.GET)))
    vc2 = np.flatnonzero(np.isin(graph.kind, MESSAGES))
    gets = np.flatnonzero(graph.kind == Kind.GET)
    request_units = np.where(graph.kind == Kind.GET, parts, units)
    a_op, a_path, a_index, a_count = _lsu_shares(graph, vc0, request_units, first, paths)
    b_op, b_path, b_index, b_stride, b_count = _bulk_shares(graph, vc2, units, first, paths, spray, mtu, fabric.uplinks)
    c_op, c_path, c_index, c_stride, c_count = _bulk_shares(graph, gets, units, first, paths, spray, mtu, fabric.uplinks)
    op = np.concatenate([a_op, b_op, c_op])
    answer = np.concatenate([np.zeros(len(a_op) + len(b_op), np.int64), np.ones(len(c_op), np.int64)])
    order = np.lexsort((np.arange(len(op)), answer, op)) if len(a_op) or len(c_op) else np.arange(len(op))

    def joined(a: I8, b: I8, c: I8) -> I4:
        return np.concatenate([a, b, c])[order].astype(np.int32)

    op, answer = op[order], answer[order]
    per_op = np.bincount(op, minlength=n)
    data = np.bincount(op[answer == 1], minlength=n)
    end = np.cumsum(per_op)
    return Shares(
        op=op.astype(np.int32),
        path=joined(a_path, b_path, c_path),
        index=joined(a_index, b_index, c_index),
        stride=joined(np.ones_like(a_op), b_stride, c_stride),
        count=joined(a_count, b_count, c_count),
        answer=answer.astype(np.int32),
        request_ptr=np.stack([end - per_op, per_op - data]).astype(np.int32),
        data_ptr=np.stack([end - data, data]).astype(np.int32),
    )


def _with_fences(keys: I8, pairs: I8, n: int, paths: int) -> I8:
    """Add what fences of ``pairs`` need: a space to go on, and one for the answers to each space that they may go on."""
    requests = keys[np.isin((keys >> 2) // paths, pairs) & (keys & 3 != VC_RESPONSE)]
    idle = pairs[~np.isin(pairs, (requests >> 2) // paths)]
    requests = np.concatenate([requests, idle * paths << 2])
    path, pair = (requests >> 2) % paths, (requests >> 2) // paths
    answers = ((pair % n * n + pair // n) * paths + path << 2) + VC_RESPONSE
    return np.unique(np.concatenate([keys, requests, answers]))


@dataclass(frozen=True, slots=True, eq=False)
class Sessions:
    """Used sequence spaces, sorted by (src, dst, path, vc); ``of_share`` maps shares to them."""

    key: I8
    src: I4
    dst: I4
    path: I4
    vc: I4
    of_share: I4
    answer: I4
    twin: I4


def make_sessions(graph: OperationGraph, fabric: Fabric, shares: Shares, changing: bool) -> Sessions:
    """Find the used (src, dst, path, VC): those of the shares, and VC 1 back where answers travel.

    ``changing``: links go down, so each used pair has a space for every path and VC, both ways.
    """
    n, paths = fabric.endpoints, fabric.paths
    src, dst = graph.src[shares.op].astype(np.int64), graph.dst[shares.op].astype(np.int64)
    back = shares.answer == 1
    src, dst = np.where(back, dst, src), np.where(back, src, dst)
    bulk = np.isin(graph.kind[shares.op], MESSAGES) | back
    vc = np.where(bulk, 2, 0)

    def keys(a: I8, b: I8, path: I8, v: I8 | int) -> I8:
        return ((a * n + b) * paths + path) * 4 + v

    path = shares.path.astype(np.int64)
    key = keys(src, dst, path, vc)
    answered = (graph.posted[shares.op] == 0) & ~back & (graph.kind[shares.op] != Kind.GET)
    answer_key = keys(dst[answered], src[answered], path[answered], VC_RESPONSE)
    unique = np.unique(np.concatenate([key, answer_key])) if len(answer_key) else np.unique(key)
    fences = graph.kind == Kind.FENCE
    if fences.any():
        pairs = np.unique(graph.src[fences].astype(np.int64) * n + graph.dst[fences])
        unique = _with_fences(unique, pairs, n, paths)
    if changing:
        pairs = np.unique(unique >> 2) // paths
        pairs = np.unique(np.concatenate([pairs, pairs % n * n + pairs // n]))
        if len(pairs) * paths * 3 > SPACES_MAX:
            text = f"{len(pairs)} pairs x {paths} paths x 3 VCs = {len(pairs) * paths * 3} sequence spaces while links go down"
            raise InputError([Problem(text, f"at most {SPACES_MAX}; fewer ranks, or fewer uplink paths", key="faults")])
        unique = (((pairs[:, None] * paths + np.arange(paths))[:, :, None] << 2) + np.arange(3)).reshape(-1)
    s_vc = unique & 3
    s_path = (unique >> 2) % paths
    pair = (unique >> 2) // paths
    s_src, s_dst = pair // n, pair % n

    def find(wanted: I8) -> I4:
        if len(unique) == 0:
            return np.full(len(wanted), -1, np.int32)
        at = np.minimum(np.searchsorted(unique, wanted), len(unique) - 1)
        return np.where(unique[at] == wanted, at, -1).astype(np.int32)

    reverse = keys(s_dst, s_src, s_path, 0)
    used = np.unique(s_vc)
    twin = np.full((len(unique), max(1, len(used))), -1, np.int32)
    for i, v in enumerate(used):
        twin[:, i] = find(reverse + v)
    answer = np.where(s_vc == VC_RESPONSE, -1, find(reverse + VC_RESPONSE)).astype(np.int32)
    s_src, s_dst, s_path, s_vc = (column.astype(np.int32) for column in (s_src, s_dst, s_path, s_vc))
    return Sessions(unique, s_src, s_dst, s_path, s_vc, find(key), answer, twin)
