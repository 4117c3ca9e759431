"""The flow kernel: at each event pieces end or begin, then the rates around them are shared out anew.

=================== ==================================================================================================
event               what follows
=================== ==================================================================================================
operation ready     after its lead its pieces queue in their lanes; the first of a lane flows
piece through       the next piece of its lane flows; with none the lane leaves its links
last piece through  the operation is executed a tail later, done an answer later; its successors learn it at once
=================== ==================================================================================================

Sharing out costs visits of links by lanes. While a run stays within its budget of visits, rates change at every event. When it
would not, they change once a *grain*: pieces still end at the picosecond that their rates give, a lane that begins takes what its
links have to spare, and the grain is told in the result. Both depend on counts only, so a run is the same on every machine.
"""

from __future__ import annotations

from ...compiled import compiled, compiled_entry
from .filling import set_finish, share_out, spare_rate, touch, weight
from .loads import book
from .records import NEVER_PS, State

DONE, UNTIL, EVENTS, NO_PROGRESS = range(4)


@compiled
def push_start(S: State, t_ps: int, op: int) -> None:
    """Put an operation into the heap of starts."""
    k = S.kernel[0]
    heap = S.heap
    i = k.heap
    number = k.pushed
    k.heap += 1
    k.pushed += 1
    while i > 0:
        up = (i - 1) >> 1
        if heap[up].t_ps < t_ps or (heap[up].t_ps == t_ps and heap[up].number < number):
            break
        heap[i].t_ps, heap[i].number, heap[i].op = heap[up].t_ps, heap[up].number, heap[up].op
        i = up
    heap[i].t_ps, heap[i].number, heap[i].op = t_ps, number, op


@compiled
def pop_start(S: State) -> int:
    """Take the earliest operation out of the heap of starts."""
    k = S.kernel[0]
    heap = S.heap
    found = heap[0].op
    k.heap -= 1
    n = k.heap
    t_ps, number, op = heap[n].t_ps, heap[n].number, heap[n].op
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        other = child + 1
        if other < n and (
            heap[other].t_ps < heap[child].t_ps
            or (heap[other].t_ps == heap[child].t_ps and heap[other].number < heap[child].number)
        ):
            child = other
        if t_ps < heap[child].t_ps or (t_ps == heap[child].t_ps and number < heap[child].number):
            break
        heap[i].t_ps, heap[i].number, heap[i].op = heap[child].t_ps, heap[child].number, heap[child].op
        i = child
    heap[i].t_ps, heap[i].number, heap[i].op = t_ps, number, op
    return found


@compiled
def finish(S: State, i: int) -> None:
    """Operation ``i`` has its times; tell its successors, and theirs where they take no network."""
    k = S.kernel[0]
    depth = 1
    S.todo[0] = i
    while depth > 0:
        depth -= 1
        i = S.todo[depth]
        done_ps = S.op[i].done_ps
        k.done += 1
        k.completion_ps = max(k.completion_ps, done_ps)
        for e in range(S.succ_ptr[i], S.succ_ptr[i + 1]):
            j = S.succ[e]
            o = S.op[j]
            o.waits -= 1
            o.ready_ps = max(o.ready_ps, done_ps)
            if o.waits > 0:
                continue
            o.ready_ps = max(o.ready_ps, o.start_ps)
            if o.alone:
                o.first_ps = o.ready_ps
                o.done_ps = o.executed_ps = o.ready_ps + o.answer_ps
                S.todo[depth] = j
                depth += 1
            else:
                push_start(S, o.ready_ps + o.lead_ps, j)


@compiled
def release(S: State) -> None:
    """Hand the operations that wait for nothing to the heap, as far as one entry at a time keeps it short."""
    k = S.kernel[0]
    while k.release_at < len(S.release):
        i = S.release[k.release_at]
        o = S.op[i]
        if k.heap > 0 and S.heap[0].t_ps <= o.start_ps + o.lead_ps:
            return
        k.release_at += 1
        o.ready_ps = o.start_ps
        if o.alone:
            o.first_ps = o.ready_ps
            o.done_ps = o.executed_ps = o.ready_ps + o.answer_ps
            finish(S, i)
        else:
            push_start(S, o.start_ps + o.lead_ps, i)
            return


@compiled
def enter(S: State, lane: int, t_ps: int) -> None:
    """A lane begins to flow: put it on its links. Between two sharings it takes what they have to spare."""
    k = S.kernel[0]
    flow = S.lane[lane]
    flow.place = k.active
    S.active[k.active] = lane
    k.active += 1
    flow.rate = 0.0
    rate = spare_rate(S, lane) if k.grain_ps > 0 else 0.0
    for c in range(k.width):
        link = S.lane_link[lane, c]
        if link < 0:
            continue
        here = S.link[link]
        at = here.first + here.lanes
        S.member[at] = lane * k.width + c
        S.where[lane, c] = at
        here.lanes += 1
        touch(S, link)
        if rate > 0.0:
            book(S, link, t_ps)
            here.used += rate * weight(S, lane, c)
    flow.rate = max(rate, 0.0)


@compiled
def leave(S: State, lane: int, t_ps: int) -> None:
    """A lane has nothing left: take it off its links."""
    k = S.kernel[0]
    flow = S.lane[lane]
    k.active -= 1
    last = S.active[k.active]
    S.active[flow.place] = last
    S.lane[last].place = flow.place
    flow.place = -1
    for c in range(k.width):
        link = S.lane_link[lane, c]
        if link < 0:
            continue
        here = S.link[link]
        book(S, link, t_ps)
        here.used = max(0.0, here.used - flow.rate * weight(S, lane, c))
        here.lanes -= 1
        moved = S.member[here.first + here.lanes]
        at = S.where[lane, c]
        S.member[at] = moved
        S.where[moved // k.width, moved % k.width] = at
        touch(S, link)


@compiled
def begin(S: State, lane: int, t_ps: int) -> None:
    """The piece at the head of a lane begins to flow."""
    flow = S.lane[lane]
    piece = S.piece[flow.head]
    op = S.op[piece.op]
    if op.first_ps < 0:
        op.first_ps = t_ps
    flow.begin_ps = t_ps
    flow.since_ps = t_ps
    flow.rest = float(piece.wire_bytes)
    set_finish(S, lane)


@compiled
def through(S: State, lane: int) -> None:
    """The piece at the head of a lane is through."""
    k = S.kernel[0]
    k.events += 1
    flow = S.lane[lane]
    t_ps = flow.finish_ps
    p = flow.head
    i = S.piece[p].op
    o = S.op[i]
    wire = S.piece[p].wire_bytes
    side = wire * o.side_bytes // o.wire_bytes
    for c in range(k.width - 1):
        link = S.lane_link[lane, c]
        if link >= 0:
            S.link[link].wire_bytes += wire if c < k.main else side
    o.left -= 1
    o.executed_ps = max(o.executed_ps, max(t_ps, flow.begin_ps + o.send_ps) + o.tail_ps)
    following = S.piece[p].next
    if following < 0:
        leave(S, lane, t_ps)
        flow.head = -1
        flow.tail = -1
    else:
        other = S.op[S.piece[following].op]
        if other.side_ratio != o.side_ratio or other.memory_ratio != o.memory_ratio:
            change_weights(S, lane, following, t_ps)
        flow.head = following
        begin(S, lane, t_ps)
    if o.left == 0:
        k.executed_bytes += o.data_bytes
        o.done_ps = o.executed_ps + o.answer_ps
        finish(S, i)


@compiled
def change_weights(S: State, lane: int, following: int, t_ps: int) -> None:
    """The next piece of a lane takes other shares of the way back and of memory: its links share out anew."""
    k = S.kernel[0]
    flow = S.lane[lane]
    rate = flow.rate
    for sign in (-1.0, 1.0):
        if sign > 0.0:
            flow.head = following
            flow.rate = rate = min(rate, max(spare_rate(S, lane), 0.0))
        for c in range(k.width):
            link = S.lane_link[lane, c]
            if link >= 0:
                book(S, link, t_ps)
                S.link[link].used = max(0.0, S.link[link].used + sign * rate * weight(S, lane, c))
                touch(S, link)


@compiled
def start(S: State, i: int, t_ps: int) -> None:
    """The pieces of operation ``i`` queue in their lanes."""
    S.kernel[0].events += 1
    o = S.op[i]
    for p in range(o.first_piece, o.first_piece + o.pieces):
        lane = S.piece[p].lane
        flow = S.lane[lane]
        S.piece[p].next = -1
        if flow.head < 0:
            flow.head = p
            flow.tail = p
            enter(S, lane, t_ps)
            begin(S, lane, t_ps)
        else:
            S.piece[flow.tail].next = p
            flow.tail = p


@compiled
def next_event(S: State) -> int:
    """Return the time of the earliest end of a piece or start of an operation."""
    k = S.kernel[0]
    release(S)
    t_ps = S.heap[0].t_ps if k.heap > 0 else NEVER_PS
    for n in range(k.active):
        t_ps = min(t_ps, S.lane[S.active[n]].finish_ps)
    k.visits += k.active
    return t_ps


@compiled_entry
def run_flow(S: State, until_ps: int, max_events: int) -> tuple[int, int, int]:
    """Simulate until done, ``until_ps`` (exclusive) or about ``max_events`` events.

    Returns
    -------
    tuple of int
        DONE, UNTIL, EVENTS or NO_PROGRESS; now in ps; events handled by this call.
    """
    k = S.kernel[0]
    before = k.events
    while True:
        if k.done == len(S.op):
            return DONE, k.now_ps, k.events - before
        if k.events - before >= max_events:
            return EVENTS, k.now_ps, k.events - before
        t_ps = next_event(S)
        if k.done == len(S.op):
            return DONE, k.now_ps, k.events - before
        if t_ps >= NEVER_PS:
            return NO_PROGRESS, k.now_ps, k.events - before
        if t_ps >= until_ps:
            k.now_ps = until_ps
            for link in range(len(S.link)):
                book(S, link, until_ps)
            return UNTIL, k.now_ps, k.events - before
        end_ps = min(max(t_ps, k.filled_ps + k.grain_ps), until_ps - 1)
        more = True
        while more:
            n = 0
            while n < k.active:
                if S.lane[S.active[n]].finish_ps <= end_ps:
                    through(S, S.active[n])
                else:
                    n += 1
            more = False
            release(S)
            while k.heap > 0 and S.heap[0].t_ps <= end_ps:
                at_ps = S.heap[0].t_ps
                start(S, pop_start(S), at_ps)
                more = k.grain_ps > 0
                release(S)
            k.visits += k.active
        k.now_ps = max(k.now_ps, end_ps)
        if k.dirty > 0:
            spent = k.visits
            share_out(S, end_ps)
            spent = k.visits - spent + k.active
            # what this sharing has cost, as often as it can be paid within the budget over the expected length of the run
            grain_ps = k.horizon_ps * spent // k.budget
            k.grain_ps = grain_ps if k.visits > k.budget // 16 else 0
            k.coarsest_ps = max(k.coarsest_ps, k.grain_ps)
            k.filled_ps = end_ps
