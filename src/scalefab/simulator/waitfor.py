"""From the kernel's arrays at a standstill to the wait-for graph: who waits for whom, for what, with figures.

Places are send queues and receive buffers (port, VC), response queues of endpoint ports, RH sessions, and ends of links (LLR).

============== ========================================================== ==================================================
place          waits for                                                  because
============== ========================================================== ==================================================
send queue     receive buffer at the far end                              no credits left (VC, or all VCs of that port)
send queue     its end of the link                                        LLR's limits, replay, FLUSH, INIT
send queue     sessions                                                   endpoint: their windows are full
receive buffer send queues of its switch                                  its frames leave by them
receive buffer response queue                                             endpoint: the first frame's responses have no room
receive buffer end of the link towards it                                 frames charged here have not got through
response queue send queue, sessions                                       responses leave by it; their windows are full
session        send queues                                                un-acked frames, or their ACK, are in them
============== ========================================================== ==================================================

Roots wait for nobody: an end of a link, a receiver that takes nothing, credits that no frame holds, frames that are nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compiled import interpreted
from ..fabric.arrays import Fabric
from ..protocol.cbfc import COUNTER_BITS
from ..protocol.limits import FrameAction
from ..protocol.llr import TxState
from ..protocol.operations import VC_CONTROL, VC_RESPONSE
from ..protocol.reliability import PSN_BITS
from ..units import format_size
from . import retry
from .metrics import node_name, port_name
from .records import ACK, PARKED, State
from .waits import Wait, WaitReason, Waits, make_waits

_CREDIT_MASK, _PSN_MASK = (1 << COUNTER_BITS) - 1, (1 << PSN_BITS) - 1
_NAMED = 3  # destinations that a text names


@dataclass(slots=True)
class _Frames:
    """Frames of one receive buffer that leave by one queue (or do not leave)."""

    count: int = 0
    size_bytes: int = 0
    credits: int = 0
    to: Counter[int] = field(default_factory=Counter)

    def add(self, f: Any) -> None:
        self.count += 1
        self.size_bytes += int(f.size_bytes)
        self.credits += int(f.credits)
        self.to[int(f.dst)] += 1


class _Scan:
    """Where every frame is, and the edges that follow from it."""

    def __init__(self, state: State, fabric: Fabric) -> None:
        self.state, self.fabric = state, fabric
        self.k = state.kernel[0]
        self.vcs = int(state.receiver.shape[1])
        self.edges: list[Wait] = []
        self.ends: dict[str, str] = {}
        self.queued: dict[tuple[int, int], list[int]] = {}  # switch output and VC: its frames, each input's first one first
        self.buffered: dict[tuple[int, int], dict[tuple[int, int], _Frames]] = {}  # buffer: by queue that they leave by
        self.held: dict[tuple[int, int], list[int]] = {}  # endpoint buffer: frames that wait for room for their responses
        self.undrained: dict[tuple[int, int], list[int]] = {}
        self.copies: dict[int, list[int]] = {}  # port: frames in its replay buffer that the far end has not accepted
        self.of_session: dict[int, Counter[str]] = {}  # session: places of its frames and of their ACKs

    # names
    def line(self, a: int) -> str:
        return port_name(self.fabric, a)

    def send_queue(self, a: int, vc: int) -> str:
        return f"{self.line(a)} VC {vc} send queue"

    def buffer(self, q: int, vc: int) -> str:
        return f"{self.line(int(self.state.port.peer[q]))} VC {vc} receive buffer"

    def responses(self, a: int) -> str:
        return f"{self.line(a)} response queue"

    def link_end(self, a: int) -> str:
        return f"{self.line(a)} LLR"

    def session(self, s: int) -> str:
        of = self.state.session[s]
        src, dst = node_name(self.fabric, int(of.src)), node_name(self.fabric, int(of.dst))
        return f"RH {src} -> {dst} path {self.fabric.path_id(int(of.path))} VC {int(of.vc)}"

    # where frames are
    def find(self) -> None:
        for a in range(int(self.k.first_switch_port), self.fabric.ports):
            self._find_output(a)
        for q, vc in np.argwhere(self.state.held_head > 0):
            self.held[int(q), int(vc)] = list(self._chain(int(self.state.held_head[q, vc]) - 1))
        if self.k.drained:
            for q, vc in np.argwhere((self.state.drain.head >= 0) & (self.state.drain.num == 0) & (self.state.drain.den > 0)):
                self.undrained[int(q), int(vc)] = list(self._chain(int(self.state.drain.head[q, vc])))
        if self.k.llr:
            for p in np.flatnonzero(self.state.port.copy_una < self.state.port.copy_next):
                self._find_copies(int(p))
        for place, frames in self._places():
            for i in frames:
                f = self.state.frame[i]
                if f.kind != ACK and f.session >= 0:
                    self.of_session.setdefault(int(f.session), Counter())[place] += 1
                if f.ack_session >= 0:
                    self.of_session.setdefault(int(f.ack_session), Counter())[place] += 1

    def _places(self) -> Iterator[tuple[str, list[int]]]:
        for (a, vc), frames in self.queued.items():
            yield self.send_queue(a, vc), frames
        for a, frames in self.copies.items():
            yield self.link_end(a), frames
        for (q, vc), frames in self.undrained.items():
            yield self.buffer(q, vc), frames

    def _chain(self, i: int) -> Iterator[int]:
        while i >= 0:
            yield i
            i = int(self.state.frame.next[i])

    def _find_output(self, a: int) -> None:
        row, rows = a - int(self.k.first_switch_port), len(self.state.voq) // self.vcs
        for i in self._chain(int(self.state.port.transit_head[a])):
            self._put(a, i)
        for vc, j in np.argwhere(self.state.voq.head[row::rows] > 0):
            for i in self._chain(int(self.state.voq.head[row + vc * rows, j]) - 1):
                self._put(a, i)

    def _put(self, a: int, i: int) -> None:
        f = self.state.frame[i]
        vc = int(f.vc)
        self.queued.setdefault((a, vc), []).append(i)
        self.buffered.setdefault((int(f.in_port), vc), {}).setdefault((a, vc), _Frames()).add(f)

    def _find_copies(self, a: int) -> None:
        port = self.state.port[a]
        copy_at = interpreted(retry.copy_at)
        frames = [int(copy_at(self.state, a, n).frame) for n in range(int(port.copy_una), int(port.copy_next))]
        waiting = [i for i in frames if i >= 0]
        if waiting:
            self.copies[a] = waiting

    # edges
    def add(self, waiter: str, on: str, reason: WaitReason, text: str, needed: int = -1, left: int = -1, limit: int = -1) -> None:
        self.edges.append(Wait(waiter, on, reason, text, needed, left, limit))

    def connect(self) -> None:
        blocked: set[tuple[int, int]] = set()
        for (a, vc), frames in self.queued.items():
            head = self.state.frame[frames[0]]
            self._queue_waits(a, vc, int(head.credits), int(head.size_bytes), blocked)
        self._endpoint_queues(blocked)
        for q, vc in sorted(blocked):
            self._buffer_waits(q, vc)
        for p in np.flatnonzero(self.state.responses.bytes > 0):
            self._responses_wait(int(p))
        self._sessions_wait()

    def _endpoint_queues(self, blocked: set[tuple[int, int]]) -> None:
        state = self.state
        waiting: set[tuple[int, int]] = set()
        for at, vc in np.argwhere(state.ring_head > 0):
            waiting.add((int(at), self._line_vc(int(vc))))
        for a in range(len(state.ring_head)):
            if any(state.session.unacked[s] > 0 for s in self._control(a)):
                waiting.add((a, VC_CONTROL))
        for a, vc in sorted(waiting):
            credits = max(1, int(state.wanted[a, vc]))
            self._queue_waits(a, vc, credits, credits * int(self.k.credit_bytes), blocked)

    def _control(self, a: int) -> Iterator[int]:
        s = int(self.state.port.control_head[a])
        while s >= 0:
            yield s
            s = int(self.state.flow.control_next[s])

    def _line_vc(self, vc: int) -> int:
        return 0 if self.k.one_vc else vc

    def _queue_waits(self, a: int, vc: int, credits: int, size_bytes: int, blocked: set[tuple[int, int]]) -> None:
        """Say what keeps the first frame of a send queue."""
        state = self.state
        name, q = self.send_queue(a, vc), int(state.port.peer[a])
        found = len(self.edges)
        link = state.link[a]
        if self.k.llr and (int(link.eligible) >> vc) & 1:
            self._link_waits(a, name, size_bytes)
        elif link.pcs_since_ps >= 0:
            self._line_waits(a, name)
        t = state.sender[a, vc]
        left = int(t.limit) - self._used(a, vc)
        if self.k.pfc:
            self._pause_waits(a, vc, name, blocked)
        elif (int(link.lossless) >> vc) & 1 == 0:
            pass  # best effort waits for nothing
        elif credits > int(state.sender[a, self.vcs].limit) - self._used(a, self.vcs):
            self._pool_waits(a, name, credits, blocked)
        elif credits > left:
            text = f"needs {credits} credits, {left} of {int(t.limit)} are left"
            self.add(name, self.buffer(q, vc), WaitReason.CREDIT, text, credits, left, int(t.limit))
            blocked.add((q, vc))
        if len(self.edges) == found:
            self.ends.setdefault(name, "holds frames and nothing is in their way: a defect of the simulator")

    def _pool_waits(self, a: int, name: str, credits: int, blocked: set[tuple[int, int]]) -> None:
        t, q = self.state.sender[a, self.vcs], int(self.state.port.peer[a])
        left = int(t.limit) - self._used(a, self.vcs)
        for vc in range(self.vcs):
            if self._used(a, vc) > 0:
                text = f"needs {credits} credits of the port, {left} of {int(t.limit)} are left, VC {vc} has {self._used(a, vc)}"
                self.add(name, self.buffer(q, vc), WaitReason.POOL, text, credits, left, int(t.limit))
                blocked.add((q, vc))

    def _pause_waits(self, a: int, vc: int, name: str, blocked: set[tuple[int, int]]) -> None:
        q = int(self.state.port.peer[a])
        r = self.state.pause_rx[q, vc]
        if self.state.pause_tx.until_ps[a, vc] > self.state.port.blocked_ps[a] or r.paused:
            left = int(r.buffer_bytes) - int(r.occupancy_bytes)
            text = f"is paused, {int(r.occupancy_bytes)} B of {int(r.buffer_bytes)} B are full, "
            text += f"XON at {int(r.xon_bytes)} B, XOFF at {int(r.xoff_bytes)} B"
            self.add(name, self.buffer(q, vc), WaitReason.PAUSE, text, -1, left, int(r.buffer_bytes))
            blocked.add((q, vc))

    def _line_waits(self, a: int, name: str) -> None:
        place = self.link_end(a)
        self.add(name, place, WaitReason.LINK_DOWN, "the line carries nothing")
        self.ends.setdefault(place, "the line is down")

    def _used(self, a: int, vc: int) -> int:
        t = self.state.sender[a, vc]
        return (int(t.consumed) - int(t.freed)) & _CREDIT_MASK

    def _link_waits(self, a: int, waiter: str, size_bytes: int) -> None:
        t, link = self.state.llr_tx[a], self.state.link[a]
        name = self.link_end(a)
        if link.pcs_since_ps >= 0:
            self._line_waits(a, waiter)
            return
        action = {TxState.INIT: link.init_action, TxState.FLUSH: link.flush_action}.get(TxState(int(t.state)), FrameAction.BLOCK)
        if action != FrameAction.BLOCK:
            return
        if t.state == TxState.ADVANCE:
            out = (int(t.next_seq) - int(t.una_seq)) & ((1 << 20) - 1)
            if out + 1 <= t.frames_max and int(t.bytes_out) + size_bytes <= t.bytes_max:
                return
            text = f"{out} frames of {format_size(int(t.bytes_out))} are not acknowledged, of {int(t.frames_max)} and "
            text += f"{format_size(int(t.bytes_max))} at most"
            self.add(waiter, name, WaitReason.REPLAY, text, out + 1, int(t.frames_max) - out, int(t.frames_max))
        else:
            state = TxState(int(t.state)).name
            reason = WaitReason.REPLAY if t.state == TxState.REPLAY else WaitReason.LINK_DOWN
            self.add(waiter, name, reason, f"the link is in {state}, new frames wait")
        self.ends.setdefault(name, self._link_text(a))

    def _link_text(self, a: int) -> str:
        t = self.state.llr_tx[a]
        text = f"in {TxState(int(t.state)).name}"
        if t.flushes:
            text += f", given up {int(t.flushes)} time{'s' if t.flushes > 1 else ''} after {int(t.replays_max)} replays"
        kept = len(self.copies.get(a, ()))
        return f"{text}, {kept} frames have not got through" if kept else text

    def _buffer_waits(self, q: int, vc: int) -> None:
        """Say why the frames of a receive buffer whose credits are wanted do not leave it."""
        name = self.buffer(q, vc)
        p = int(self.state.port.peer[q])
        known = 0
        for (a, out_vc), frames in sorted(self.buffered.get((q, vc), {}).items()):
            known += frames.credits
            text = f"{frames.count} frames of {format_size(frames.size_bytes)} for {self._targets(frames.to)} leave by it"
            self.add(name, self.send_queue(a, out_vc), WaitReason.LEAVES_BY, text, frames.credits)
        held = self.held.get((q, vc), [])
        if held:
            known += sum(int(self.state.frame.credits[i]) for i in held)
            self._held_waits(q, name, held)
        copies = [i for i in self.copies.get(p, ()) if self.state.frame.vc[i] == vc]
        if copies:
            credits = sum(int(self.state.frame.credits[i]) for i in copies)
            known += credits
            text = f"{len(copies)} frames with {credits} credits have not got through"
            self.add(name, self.link_end(p), WaitReason.REPLAY, text, credits)
            self.ends.setdefault(self.link_end(p), self._link_text(p))
        if self.undrained.get((q, vc)):
            left = self.undrained[q, vc]
            known += sum(int(self.state.frame.credits[i]) for i in left)
            place = f"{node_name(self.fabric, int(self.state.port.node[q]))} receiver"
            self.add(name, place, WaitReason.RECEIVER, f"{len(left)} frames are not taken out of it", len(left))
            self.ends[place] = "takes nothing out of its receive buffer"
        if self.k.pfc:
            return
        missing = self._used(p, vc) - known
        if missing > 0 or not known:
            place = f"{name}: lost credits"
            text = f"{missing} of its {int(self.state.sender.limit[p, vc])} credits are out and no frame holds them"
            self.add(name, place, WaitReason.LOST_CREDIT, text, missing)
            self.ends[place] = "a CF_UPDATE, or frames without LLR, were lost"

    def _targets(self, to: Counter[int]) -> str:
        names = [node_name(self.fabric, node) for node, _ in sorted(to.items(), key=lambda item: (-item[1], item[0]))]
        more = len(names) - _NAMED
        return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")

    def _held_waits(self, q: int, name: str, held: list[int]) -> None:
        queue = self.state.responses[q]
        needed = int(self.state.held_needs[q, self.state.frame.vc[held[0]]])
        left = max(0, int(queue.limit_bytes) - int(queue.bytes))
        text = (
            f"the responses to its first frame, {needed} B, have no room ({left} B of {int(queue.limit_bytes)} B are left); "
            f"{len(held)} frame{'s' if len(held) > 1 else ''} wait"
        )
        self.add(name, self.responses(q), WaitReason.RESPONSE_ROOM, text, needed, left, int(queue.limit_bytes))

    def _responses_wait(self, a: int) -> None:
        """Responses wait in their sessions: for the line, or for a window."""
        state, name = self.state, self.responses(a)
        queue = state.responses[a]
        flow = state.flow
        mine = np.flatnonzero((state.session.port == a) & (flow.reply_head >= 0))
        parked = [int(s) for s in mine if flow.place[s] == PARKED]
        if len(parked) < len(mine):
            text = f"{int(queue.bytes)} B of responses leave by it"
            self.add(name, self.send_queue(a, self._line_vc(VC_RESPONSE)), WaitReason.RESPONSES, text, int(queue.bytes))
        for s in parked:
            self.add(name, self.session(s), WaitReason.RESPONSES, "its responses wait for its window", int(queue.bytes))

    def _sessions_wait(self) -> None:
        """Full windows, and sessions whose frames are nowhere."""
        state = self.state
        session, flow = state.session, state.flow
        out = (session.next_psn - session.una_psn) & _PSN_MASK
        accepted = (session.expected - session.una_psn) & _PSN_MASK
        for s in np.flatnonzero(out > 0):
            name, count = self.session(int(s)), int(out[s])
            places = self.of_session.get(int(s), Counter())
            parked = flow.place[s] == PARKED
            if parked:
                vc = self._line_vc(int(session.vc[s]))
                text = f"its window is full, {count} of {int(self.k.window)} frames are not acknowledged"
                self.add(
                    self.send_queue(int(session.port[s]), vc), name, WaitReason.WINDOW, text, count + 1, 0, int(self.k.window)
                )
            owed = session.unacked[s] > 0
            if parked or not (places or owed):
                for place, frames in sorted(places.items()):
                    self.add(
                        name, place, WaitReason.ACK, f"{frames} of its {count} un-acked frames, or their ACK, are there", count
                    )
                if owed:
                    place = self.send_queue(int(session.peer_port[s]), VC_CONTROL)
                    self.add(name, place, WaitReason.ACK, f"an ACK of {int(accepted[s])} frames leaves by it", count)
                if not (places or owed):
                    place = f"{name}: lost frames"
                    first, last = int(session.una_psn[s]), (int(session.next_psn[s]) - 1) & _PSN_MASK
                    text = f"PSN {first} .. {last} were sent, and neither they nor an ACK are anywhere"
                    self.add(name, place, WaitReason.LOST_FRAME, text, count)
                    self.ends[place] = text


def find_waits(state: State, fabric: Fabric) -> Waits:
    """Return the wait-for graph of a network that stands still.

    Parameters
    ----------
    state
        The kernel's arrays when no event is left that could change anything.
    fabric
        What it runs on, for names.
    """
    scan = _Scan(state, fabric)
    scan.find()
    scan.connect()
    return make_waits(scan.edges, scan.ends)
