"""At the target: RH check, execute in memory, answer; and the progress of the operation graph that follows from it."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import operations as ops
from ..protocol import reliability as rh
from ..protocol import rh_receiver
from ..protocol.reliability import PSN_BITS
from .answers import reply
from .atomictags import close_tags
from .calendar import push
from .ccupdate import note_move
from .control import NACK, OWN_PATH, post
from .drain import is_drained
from .failures import fail, has_failed, is_hopeless
from .fence import begin, ended, issue
from .fencetarget import is_bare_fence, note_executed, note_visible, on_fence, on_fence_answer
from .notify import on_sen
from .ordered_sets import free_buffer
from .pathchange import on_control
from .pathstate import redirect
from .pools import lose_frame, release_frame
from .ports import credit_mark, kick, window_mark
from .rawend import deliver_raw
from .recorder import record_sample
from .records import ACK_TIMER, ACTIVATE, CONTROL, CREDIT_FIELD_BITS, DATA, FREE, NOWHERE, RAW, SEN, SERVE_READ, State
from .responses import must_wait, next_held, pop_held, wake_held
from .retransmit import take_ack
from .rings import enter_ring
from .spray import split_share
from .verify import add_executed, mark_executed, write_signal


@compiled
def owe_ack(S: State, s: int, now_ps: int) -> None:
    """Queue a standalone ACK for session ``s`` at the receiver's port, after the endpoint's transmit latency."""
    flow = S.flow[s]
    if flow.in_control:
        return
    a = S.session[s].peer_port
    port = S.port[a]
    flow.in_control = 1
    flow.control_next = -1
    flow.control_ps = now_ps + S.node[port.node].tx_ps
    if port.control_head < 0:
        port.control_head = s
    else:
        S.flow[port.control_tail].control_next = s
    port.control_tail = s
    kick(S, a, flow.control_ps if flow.control_ps > port.free_ps else port.free_ps)


@inlined
def note_unacked(S: State, s: int, now_ps: int) -> None:
    """After an accepted frame: an ACK alone if enough frames wait for one, else make sure that a deadline is set."""
    k = S.kernel[0]
    session = S.session[s]
    S.owed[s] = 1
    if session.unacked >= k.ack_every:
        owe_ack(S, s, now_ps)
        return
    flow = S.flow[s]
    if flow.in_timer == 0 and flow.in_control == 0:  # a queued ACK tells of this frame too
        flow.in_timer = 1
        push(S, session.since_ps + k.ack_delay_ps, ACK_TIMER, s, 0)


@compiled
def on_ack_timer(S: State, s: int, now_ps: int) -> None:
    """A session's ACK deadline. At most one such event a session is out: one that was acknowledged and owes anew sleeps on."""
    session = S.session[s]
    flow = S.flow[s]
    flow.in_timer = 0
    if session.unacked == 0 or flow.in_control == 1:
        return
    deadline_ps = session.since_ps + S.kernel[0].ack_delay_ps
    if deadline_ps <= now_ps:
        owe_ack(S, s, now_ps)
    else:
        flow.in_timer = 1
        push(S, deadline_ps, ACK_TIMER, s, 0)


@compiled
def finish(S: State, i: int, t_ps: int) -> None:
    """Operation ``i`` is done at ``t_ps``: tell its successors, and theirs where they take no network (JOIN, COMPUTE)."""
    k = S.kernel[0]
    if k.paths and has_failed(S, i):
        return
    if k.ordered:
        ended(S, i, t_ps)
    S.op[i].done_ps = t_ps
    depth = 1
    S.todo[0] = i
    while depth > 0:
        depth -= 1
        i = S.todo[depth]
        done = S.op[i]
        k.done += 1
        if done.done_ps > k.completion_ps:
            k.completion_ps = done.done_ps
        for e in range(S.succ_ptr[i], S.succ_ptr[i + 1]):
            j = S.succ[e]
            o = S.op[j]
            o.waits -= 1
            if done.done_ps > o.ready_ps:
                o.ready_ps = done.done_ps
            if o.waits == 0:
                if S.start_ps[j] > o.ready_ps:
                    o.ready_ps = S.start_ps[j]
                if ops.is_local(o.kind):
                    o.first_ps = o.ready_ps
                    o.done_ps = o.ready_ps + S.compute_ps[j]
                    o.executed_ps = o.done_ps
                    S.todo[depth] = j
                    depth += 1
                else:
                    k.dormant -= 1
                    push(S, o.ready_ps + S.node[o.src].tx_ps, ACTIVATE, j, 0)


@compiled
def start_shares(S: State, first: int, count: int, now_ps: int) -> None:
    """Queue shares ``first .. first + count - 1`` at their sessions and wake the ports."""
    if S.kernel[0].paths:  # buckets that may come back, or leave, do so before the first share makes a space busy
        for i in range(first, first + count):
            if S.flow[S.share[i].session].moved or S.kernel[0].load:
                redirect(S, S.share[i].session, S.share[i].op, S.share[i].index)
    for i in range(first, first + count):
        share = S.share[i]
        s = share.session
        if S.kernel[0].paths:
            if has_failed(S, share.op):
                return
            s = redirect(S, s, share.op, share.index)
            share.session = s
        flow = S.flow[s]
        a = S.session[s].port
        port = S.port[a]
        share.ready_ps = now_ps
        share.credit_mark_ps = credit_mark(port, now_ps)
        share.window_mark_ps = window_mark(port, now_ps)
        share.next = -1
        if S.kernel[0].load and split_share(S, i, s, now_ps) == 0 and share.stride != 0:
            continue
        if flow.share_head < 0:
            flow.share_head = i
        else:
            S.share[flow.share_tail].next = i
        flow.share_tail = i
        if flow.place == NOWHERE:
            enter_ring(S, s)
            kick(S, a, now_ps if now_ps > port.free_ps else port.free_ps)


@compiled
def activate(S: State, i: int, now_ps: int) -> None:
    """Operation ``i`` was ready one transmit latency ago: its shares go to their sessions."""
    if S.kernel[0].paths and is_hopeless(S, i, now_ps):
        if not has_failed(S, i):
            fail(S, i)
        return
    if S.kernel[0].ordered:
        if S.op[i].kind == ops.FENCE:
            begin(S, i, now_ps)
            return
        issue(S, i)
    start_shares(S, S.op[i].share_first, S.op[i].share_count, now_ps)


@inlined
def moved_ps(node: Any, size_bytes: int) -> int:
    """Return how long memory moves so many bytes, rounded up."""
    if node.mem_shift >= 0:
        return (size_bytes * node.mem_num + node.mem_den - 1) >> node.mem_shift
    return (size_bytes * node.mem_num + node.mem_den - 1) // node.mem_den


@compiled
def read_for_get(S: State, op: int, first: int, count: int, t_ps: int) -> int:
    """Read the data of a GET's messages from the target's memory, one message after the other; return when the last is read.

    ``t_ps`` is when the request was executed: the latency of memory is in it.
    """
    o = S.op[op]
    node = S.node[o.dst]
    message = o.bytes if o.chunk <= 0 else int(o.chunk)
    left = o.bytes - first * message
    size = count * message
    if size > left:
        size = left
    begin_ps = node.mem_free_ps if node.mem_free_ps > t_ps - node.memory_ps else t_ps - node.memory_ps
    node.mem_free_ps = begin_ps + moved_ps(node, size)
    return node.mem_free_ps if node.mem_free_ps > t_ps else t_ps


@inlined
def execute(S: State, a: int, session: int, answer: int, op: int, first: int, count: int, stride: int, visible_ps: int) -> None:
    """Execute one run of transactions or packets of a frame, visible at ``visible_ps``."""
    o = S.op[op]
    if S.kernel[0].ordered and o.kind == ops.FENCE:
        if answer:
            on_fence_answer(S, op, first, visible_ps)
        else:
            on_fence(S, a, session, op, first)
        return
    if S.kernel[0].paths and has_failed(S, op):  # nobody waits for it any more
        if S.kernel[0].verify and (o.kind == ops.GET) == (answer != 0):
            mark_executed(S, op, first, count, stride)
        return
    if answer and o.kind != ops.GET:
        if S.kernel[0].tags and o.kind == ops.ATOMIC:
            close_tags(S, op, first, count, S.kernel[0].now_ps)
        o.answered += count
        if o.answered == o.answers:
            finish(S, op, visible_ps)
        return
    if o.kind == ops.GET and not answer:
        read = S.read[op]
        read.requested += count
        ready_ps = read_for_get(S, op, first, count, visible_ps)
        if ready_ps > read.data_ready_ps:
            read.data_ready_ps = ready_ps
        if read.requested == read.requests:
            S.kernel[0].dormant -= 1
            push(S, read.data_ready_ps + S.node[o.dst].tx_ps, SERVE_READ, op, 0)
        return
    if S.kernel[0].verify:
        mark_executed(S, op, first, count, stride)
    o.executed += count
    if visible_ps > o.executed_ps:
        o.executed_ps = visible_ps
    whole = o.executed == o.packets
    if ops.is_message(o.kind):
        if whole and S.kernel[0].values:
            write_signal(S, op)
        if whole and not o.posted:
            reply(S, a, S.flow[session].answer, op, 0, o.answers, o.executed_ps)
    elif o.kind != ops.GET and not o.posted:
        reply(S, a, S.flow[session].answer, op, first, count, visible_ps)
    if whole and (o.posted or o.kind == ops.GET):
        finish(S, op, o.executed_ps)


@inlined
def memory_bytes(S: State, f: Any) -> int:
    """Return the bytes of target memory that a data frame touches: answers that go to registers touch none."""
    kind = S.op[f.op].kind
    if f.answer:
        return f.payload_bytes if kind == ops.GET else 0
    size = f.payload_bytes
    if S.session[f.session].vc != ops.VC_REQUEST:
        return size
    if kind == ops.LOAD:
        size += run_bytes(S, f.op, f.first, f.count)
    n = f.more
    while n >= 0:
        r = S.run[n]
        if S.op[r.op].kind == ops.LOAD:
            size += run_bytes(S, r.op, r.first, r.count)
        n = r.next
    return size


@compiled
def run_bytes(S: State, op: int, first: int, count: int) -> int:
    """Return the data bytes of ``count`` transactions of an LSU operation from ``first`` on."""
    o = S.op[op]
    left = o.bytes - first * o.chunk
    size = count * o.chunk
    return size if size < left else left


@inlined
def judge(S: State, s: int, psn: int, now_ps: int) -> int:
    """Let RH's receiver judge a DATA frame: `rh_receiver.Taken`."""
    if S.kernel[0].rh == 0:
        return rh.on_data(S.session[s], psn, PSN_BITS, now_ps)
    verdict = rh_receiver.on_data(S.session[s], S.repair[s], psn, PSN_BITS, now_ps)
    if verdict == rh_receiver.GAP_NACK:
        post(S, s, NACK, OWN_PATH, 0, 0, now_ps)
    return verdict


@inlined
def deliver(S: State, a: int, i: int, now_ps: int) -> None:
    """Frame ``i`` has passed the receive latency of the endpoint of port ``a``."""
    k = S.kernel[0]
    f = S.frame[i]
    if k.drained and not is_drained(S, a, i, now_ps):
        return
    if k.raw and f.kind == RAW:
        deliver_raw(S, a, i, now_ps)
        return
    if f.poisoned:  # FCS comes first
        free_buffer(S, a, f.vc, f.credits, now_ps)
        lose_frame(S, i)
        return
    if f.kind != SEN:  # told again and again
        note_move(S, now_ps)
    if f.ack_session >= 0:
        take_ack(S, f.ack_session, f.ack_psn, f.nack, now_ps)
    if f.kind != DATA:
        if k.rh and f.kind == CONTROL:
            on_control(S, f, now_ps)
        elif k.eventful and f.kind == SEN:
            on_sen(S, f, now_ps)
        free_buffer(S, a, f.vc, f.credits, now_ps)
        release_frame(S, i)
        return
    if k.paths:
        k.data_ps = now_ps
    s = f.session
    verdict = judge(S, s, f.psn, now_ps)
    if verdict == rh.ACCEPT or verdict == rh.DUPLICATE:
        note_unacked(S, s, now_ps)
    if verdict != rh.ACCEPT:
        free_buffer(S, a, f.vc, f.credits, now_ps)
        release_frame(S, i)
        return
    f.stage_ps = now_ps
    if not must_wait(S, a, i):
        take(S, a, i, now_ps)


@compiled
def on_take(S: State, a: int, now_ps: int) -> None:
    """A frame that waited in the receive buffer of port ``a`` may have room for its responses now; then perhaps the next one."""
    S.responses[a].waking = 0
    note_move(S, now_ps)
    vc = next_held(S, a)
    if vc >= 0:
        i = pop_held(S, a, vc)
        if S.kernel[0].ordered:
            src = int(S.frame[i].src)
            epoch = int(S.frame[i].epoch)
            take(S, a, i, now_ps)
            note_executed(S, src, int(S.port[a].node), epoch, now_ps)
        else:
            take(S, a, i, now_ps)
        wake_held(S, a, now_ps)


@inlined
def take(S: State, a: int, i: int, now_ps: int) -> None:
    """Execute frame ``i``, which RH has accepted at port ``a`` and whose responses have room."""
    k = S.kernel[0]
    f = S.frame[i]
    s = f.session
    node = S.node[S.port[a].node]
    size = memory_bytes(S, f)
    begin = now_ps
    visible = now_ps
    if (f.answer == 0 or size > 0) and not (k.ordered and is_bare_fence(S, f)):
        if node.mem_free_ps > begin:
            begin = node.mem_free_ps
        node.mem_free_ps = begin + moved_ps(node, size)
        visible = begin + node.memory_ps
        if node.mem_free_ps > visible:  # more bytes than memory moves in its latency: visible when the last one is there
            visible = node.mem_free_ps
    if begin > now_ps:  # memory is the bottleneck: the frame stays in the receive buffer until memory takes it
        push(S, begin, FREE, a, (int(f.vc) << CREDIT_FIELD_BITS) | int(f.credits))
    else:
        free_buffer(S, a, f.vc, f.credits, now_ps)
    if k.paths and visible > S.repair[s].visible_ps:
        S.repair[s].visible_ps = visible
    if k.ordered:
        note_visible(S, f, visible)
    k.delivered += 1
    k.executed_bytes += f.payload_bytes
    add_executed(S, visible, f.payload_bytes)
    if k.sample_room > 0:
        record_sample(S, f, visible)
    account(S, f, now_ps, begin, visible)
    execute(S, a, s, f.answer, f.op, f.first, f.count, f.stride, visible)
    n = f.more
    while n >= 0:
        r = S.run[n]
        execute(S, a, s, f.answer, r.op, r.first, r.count, r.stride, visible)
        n = r.next
    release_frame(S, i)


@inlined
def account(S: State, f: Any, taken_ps: int, begin_ps: int, visible_ps: int) -> None:
    """Add an executed frame's times to the stages; what no other stage explains is serialisation."""
    node_src = S.node[f.src]
    node_dst = S.node[f.dst]
    stage = S.stage_ps
    queue = f.start_ps - f.ready_ps - node_src.tx_ps - f.window_ps - f.credit_ps
    flight = (
        f.stage_ps - f.start_ps - f.cable_ps - f.lookup_ps - f.arbiter_ps - f.hold_ps - f.replay_ps - f.again_ps - node_dst.rx_ps
    )
    stage[0] += node_src.tx_ps
    stage[1] += queue
    stage[2] += f.window_ps
    stage[3] += f.credit_ps
    stage[4] += flight
    stage[5] += f.cable_ps
    stage[6] += f.lookup_ps
    stage[7] += f.arbiter_ps
    stage[8] += f.hold_ps
    stage[9] += node_dst.rx_ps
    stage[10] += begin_ps - taken_ps
    stage[11] += visible_ps - begin_ps
    stage[12] += f.replay_ps
    stage[13] += taken_ps - f.stage_ps
    stage[14] += f.again_ps
    S.kernel[0].frame_ps += visible_ps - f.ready_ps
    S.latency[latency_bin(visible_ps - f.start_ps)] += 1


@compiled
def latency_bin(t_ps: int) -> int:
    """Return the log-linear bin of a latency: 16 linear bins an octave from 4.096 ns on."""
    v = t_ps >> 8
    if v < 32:
        return v if v > 0 else 0
    octave = 0
    if v >= 32 << 15:
        v >>= 16
        octave += 16
    if v >= 32 << 7:  # steps of halved width: a loop by single bits took 7 turns for a usual frame
        v >>= 8
        octave += 8
    if v >= 32 << 3:
        v >>= 4
        octave += 4
    while v >= 32:
        v >>= 1
        octave += 1
    b = octave * 16 + v
    return b if b < 511 else 511
