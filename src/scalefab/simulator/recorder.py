"""Compiled side of `trace`: writes rows while there is room, and costs a comparison where there is none."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import cbfc
from ..protocol.cbfc import COUNTER_BITS
from ..protocol.multipath import sprayed_next
from ..protocol.operations import GAP_BYTES
from .records import CONTROL, State

_M32 = 0xFFFFFFFF


@compiled
def mix(x: int) -> int:
    """Return a 32-bit hash of an integer (three rounds of xor-shift and multiply), for choices that need no generator state."""
    x = (x ^ (x >> 16)) & _M32
    x = (x * 0x45D9F3B) & _M32
    x = x ^ (x >> 16)
    x = (x * 0x45D9F3B) & _M32
    return x ^ (x >> 16)


@inlined
def frame_number(f: Any) -> int:
    """Return a number that tells a data frame from all others, whatever else is simulated beside it."""
    return (int(f.op) * 0x9E3779B1 + int(f.first) * 2 + int(f.answer)) & 0x7FFFFFFFFFFF


@inlined
def record_sample(S: State, f: Any, executed_ps: int) -> None:
    """Keep a delivered data frame if the seed chooses it."""
    k = S.kernel[0]
    if k.sampled >= k.sample_room or (k.sample_of > 1 and mix(frame_number(f) + int(k.sample_salt)) * k.sample_of >> 32 != 0):
        return
    row = S.sample[k.sampled]
    k.sampled += 1
    row.op = f.op
    row.src = f.src
    row.dst = f.dst
    row.vc = S.session[f.session].vc
    row.path = f.path
    row.answer = f.answer
    row.psn = f.psn
    row.size_bytes = f.size_bytes
    row.payload_bytes = f.payload_bytes
    row.ready_ps = f.ready_ps
    row.start_ps = f.start_ps
    row.executed_ps = executed_ps
    row.window_ps = f.window_ps
    row.credit_ps = f.credit_ps
    row.arbiter_ps = f.arbiter_ps
    row.hold_ps = f.hold_ps


@compiled
def record_frame(S: State, f: Any) -> None:
    """Give a frame that is about to leave its source a row of the trace, while there is room."""
    k = S.kernel[0]
    f.trace_row = -1
    number = k.numbered
    k.numbered += 1
    if k.traced >= k.trace_room or f.kind == CONTROL or f.nack:
        return
    if k.traced_runs + runs_of(S, f) > len(S.traced_run):
        k.trace_room = k.traced  # the list of runs is full: a frame is kept whole or not at all
        return
    row = S.traced[k.traced]
    f.trace_row = k.traced
    k.traced += 1
    row.id = number
    row.kind = f.kind
    row.src = f.src
    row.dst = f.dst
    row.vc = f.vc if f.count == 0 else S.session[f.session].vc
    row.path = S.session[f.session].path
    row.psn = f.psn
    row.size_bytes = f.size_bytes
    row.payload_bytes = f.payload_bytes
    row.answer = f.answer
    if f.ack_session >= 0:
        row.ack = 1
        row.ack_psn = f.ack_psn
        row.ack_vc = S.session[f.ack_session].vc
    row.run_first = k.traced_runs
    if f.count == 0:
        return
    n = f.more
    record_run(S, row, f.op, f.first, f.count, f.stride)
    while n >= 0:
        record_run(S, row, S.run[n].op, S.run[n].first, S.run[n].count, S.run[n].stride)
        n = S.run[n].next


@compiled
def runs_of(S: State, f: Any) -> int:
    """Return how many rows the runs of a frame take: one each, one a packet where a round robin deals them."""
    if f.count == 0:
        return 0
    count = 1 if f.stride == 1 else int(f.count)
    n = f.more
    while n >= 0:
        count += 1 if S.run[n].stride == 1 else int(S.run[n].count)
        n = S.run[n].next
    return count


@compiled
def record_run(S: State, row: Any, op: int, first: int, count: int, stride: int) -> None:
    """Add a run of transactions to a traced frame; packets that a round robin deals get a row each."""
    k = S.kernel[0]
    index = int(first)
    rows = 1 if stride == 1 else int(count)
    for _ in range(rows):
        run = S.traced_run[k.traced_runs]
        k.traced_runs += 1
        row.run_count += 1
        run.op = op
        run.first = index
        run.count = count if stride == 1 else 1
        index = sprayed_next(index, stride)


@compiled
def record_hop(S: State, a: int, f: Any, start_ps: int, end_ps: int) -> None:
    """Record that a traced frame goes on the line of port ``a``."""
    k = S.kernel[0]
    if f.trace_row < 0 or k.hops >= len(S.hop):
        return
    hop = S.hop[k.hops]
    k.hops += 1
    hop.frame = f.trace_row
    hop.port = a
    hop.credits = cbfc.used(S.sender[a, f.vc], COUNTER_BITS)
    hop.held_bytes = cbfc.held(S.receiver[S.port[a].peer, f.vc], COUNTER_BITS) * k.credit_bytes
    hop.start_ps = start_ps
    hop.end_ps = end_ps


@compiled
def record_update(S: State, q: int, t_ps: int, u: Any) -> None:
    """Record a CF_UPDATE while the first frames are being traced."""
    k = S.kernel[0]
    if k.updates >= len(S.update) or k.traced >= k.trace_room:
        return
    row = S.update[k.updates]
    k.updates += 1
    row.t_ps = t_ps
    row.port = q
    row.vc0 = u.vc0
    row.c0 = u.c0
    row.vc1 = u.vc1
    row.c1 = u.c1


@compiled
def gap_free_ps(free_ps: int, num: int, den: int) -> int:
    """Return when the last bit of FCS left, given when the line is free again (the gap behind it is over)."""
    return free_ps - (GAP_BYTES * num + den - 1) // den
