"""Two ends of a link with LLR, as a model to explore: A sends frames, B answers with ordered sets.

What is explored: the functions of `scalefab.protocol.llr` themselves. What is modelled around them:

Channel
    A FIFO each way, of bounded length, as a cable is: A's frames and INITs on one, B's ACK, NACK and INIT_ECHO on the other. The
    reverse direction of traffic is another pair of records that shares nothing with this one, so one pair is enough.
Time
    Not modelled: anything on its way may arrive at any later step. A timer is free to fire only when nothing on its way can free
    a copy, which is what "timer >= 2 T" is for; firing earlier is a fault (*delay*: something took longer than the timer).
Faults
    Each costs one of the budget. A *frame* is lost, corrupted (FCS bad, its sequence readable) or poisoned. An *ordered set* is
    lost, or comes twice. It has no FCS of its own: FEC covers it, so a corrupted one is a lost one. A cable never doubles
    a frame: duplicates are replays, and those come from lost ACKs and from delays. Nothing overtakes (see `llr`).
Counters
    Left out of the state; all else of the records is in it.

Invariants: a frame is delivered at most once and in order, and a corrupted one never; a poisoned one is passed on as such; a copy
is freed only after its delivery, unless flushed; the outstanding frames keep the limit; ``una <= expected <= next``; FLUSH needs
more faults than the replays allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..protocol import cbfc, llr
from .explore import Records, State, Step

FRAME_BYTES = 64
_GOOD, _BAD, _POISONED = 0, 1, 2
_TX_COUNTERS = frozenset(("tx_replay", "ack_errors", "flushes"))
_RX_COUNTERS = frozenset(
    ("good", "bad", "poisoned", "missing", "duplicate", "replays", "last_seq", "rx_ok", "rx_bad", "rx_poisoned")
)
_INIT = -1  # items of A's wire: _INIT - init_data, or a frame: payload << bits | sequence number
INELIGIBLE = -1000  # ... or a frame without sequence number: INELIGIBLE - payload

_WORDS = {
    "init": "A sends INIT {0}",
    "early init": "A sends INIT {0} again, the first one is still on its way (delay)",
    "send": "A sends frame {0} with sequence number {1}",
    "replay": "A resends frame {0} with sequence number {1}",
    "timer": "A's replay timer fires",
    "early timer": "A's replay timer fires although an answer is on its way (delay)",
    "re-init": "A leaves FLUSH for a new handshake",
    "ack": "B sends ACK {0}",
    "nack": "B sends NACK {0}",
    "echo": "B sends INIT_ECHO {0}",
    "frame": "B takes frame {0} with sequence number {1}",
    "frame dropped": "B drops frame {0} with sequence number {1}",
    "frame overtakes": "frame {0} with sequence number {1} overtakes an INIT",
    "frame lost": "frame {0} with sequence number {1} is lost",
    "frame corrupted": "frame {0} with sequence number {1} arrives corrupted",
    "frame poisoned": "frame {0} with sequence number {1} arrives poisoned",
    "take": "{0} arrives",
    "lost": "{0} is lost",
    "twice": "{0} arrives, and will arrive once more",
}


@dataclass(frozen=True, slots=True)
class Functions:
    """The transition functions that are explored; a planted fault replaces one of them."""

    on_frame: Callable[..., Any] = llr.on_frame
    cc_vcs: Callable[..., int] = cbfc.cc_vcs


@dataclass(frozen=True, slots=True)
class Setting:
    """What is explored.

    Parameters
    ----------
    width
        Bits of a sequence number.
    window
        Frames that A keeps at most (outstanding_frames_max).
    faults
        Budget of faults.
    frames
        Frames that A has to send, 0 = one more than all sequence numbers and a window. The first one gets the highest number but
        one, so that the space wraps at once.
    replays
        replay_count_max.
    channel
        Items that a direction holds at most.
    overtaken_init
        Plant: frames may overtake an INIT.
    """

    width: int = 3
    window: int = 3
    faults: int = 2
    frames: int = 0
    replays: int = llr.REPLAY_COUNT_MAX
    channel: int = 5
    overtaken_init: bool = False


def _normal_sender(fields: dict[str, int]) -> None:
    if fields["state"] != llr.TX_REPLAY:
        fields["replay_seq"] = 0
    else:
        fields["timer_ps"] = -1  # stands still, and is started anew behind the replay
    if fields["state"] == llr.TX_FLUSH or fields["replays_max"] == llr.NO_REPLAY_LIMIT:
        fields["replays"] = 0


def _normal_receiver(fields: dict[str, int]) -> None:
    if not fields["echo_due"]:
        fields["echo_seq"] = fields["echo_data"] = 0


class LlrModel:
    """The model. A state is (A's record, B's record, wire to B, wire to A, copies, sent, delivered, flushed, faults left)."""

    def __init__(self, setting: Setting, functions: Functions | None = None) -> None:
        self.setting = replace(setting, frames=setting.frames or (1 << setting.width) + setting.window)
        self.functions = functions or Functions()
        self.bits = setting.width
        self.mask = (1 << setting.width) - 1
        self.first_seq = self.mask - 1
        self.flushes = 0  # steps that ended in FLUSH
        self.tx = Records(llr.SENDER, _TX_COUNTERS, _normal_sender)
        self.rx = Records(llr.RECEIVER, _RX_COUNTERS, _normal_receiver)

    def initial(self) -> State:
        """Link up at A: nothing has been sent yet."""
        s = self.setting
        off = self.tx.put(
            frames_max=s.window, bytes_max=s.window * FRAME_BYTES, replays_max=s.replays, timer_ps=-1, timer_limit_ps=0
        )
        tx, _ = self.tx.call(llr.on_link_up, off, self.first_seq, 0)
        return (tx, self.rx.put(), (), (), (), 0, 0, 0, s.faults)

    # ---- what a payload is: a frame's number here; explore_cbfc adds others ----

    def name(self, payload: int) -> str:
        """Return what a payload is called."""
        return str(payload)

    def new_frames(self, state: State, steps: list[Step]) -> None:
        """Add the steps by which A sends something new."""
        tx, rx, there, back, copies, sent, got, flushed, faults = state
        s = self.setting
        if sent == s.frames or len(there) >= s.channel or not self.tx.call(llr.may_send, tx, FRAME_BYTES, self.bits)[1]:
            return
        after, seq = self.tx.call(llr.on_send, tx, FRAME_BYTES, self.bits, 0)
        item = sent << self.bits | seq
        new = (after, rx, (*there, item), back, (*copies, sent), sent + 1, got, flushed, faults)
        steps.append(Step(new, False, ("send", sent, seq), ""))

    def accept(self, state: State, payload: int) -> tuple[State, str]:
        """Deliver a payload at B; return the state after it and the invariant that broke."""
        got, bit = state[6], 1 << payload
        if got & bit:
            return state, f"frame {payload} is delivered twice"
        if got > bit:
            return state, f"frame {payload} is delivered behind a later one"
        return (*state[:6], got | bit, *state[7:]), ""

    def flush(self, state: State) -> State:
        """Note that A's copies are dropped."""
        flushed = state[7]
        for payload in state[4]:
            flushed |= 1 << payload
        return (*state[:4], (), *state[5:7], flushed, *state[8:])

    # ---- steps ----

    def steps(self, state: State) -> list[Step]:
        """Return all steps from a state."""
        steps: list[Step] = []
        kind = self.tx.values[state[0]]["state"]
        if kind == llr.TX_INIT:
            self._send_init(state, steps)
        elif kind == llr.TX_ADVANCE:
            self._timer(state, steps)
            self.new_frames(state, steps)
        elif kind == llr.TX_REPLAY:
            self._resend(state, steps)
        elif kind == llr.TX_FLUSH:
            data = self.tx.values[state[0]]["init_data"] + 1
            tx, _ = self.tx.call(llr.on_re_init, state[0], data)
            steps.append(Step((tx, *state[1:]), False, ("re-init",), ""))
        self._reply(state, steps)
        if state[2]:
            self._arrive_there(state, steps)
        if state[3]:
            self._arrive_back(state, steps)
        return steps

    def _send_init(self, state: State, steps: list[Step]) -> None:
        tx, rx, there, back, *rest = state
        faults = state[8]
        if len(there) >= self.setting.channel:
            return
        data = self.tx.values[tx]["init_data"]
        early = bool(there or back or self.rx.values[rx]["echo_due"])
        if early and not faults:
            return
        rest[4] = faults - early  # state[8]
        words = ("early init" if early else "init", data)
        steps.append(Step((tx, rx, (*there, _INIT - data), back, *rest), early, words, ""))

    def _timer(self, state: State, steps: list[Step]) -> None:
        tx, faults = state[0], state[8]
        if self.tx.values[tx]["timer_ps"] < 0:
            return
        early = self.answer_comes(state)
        if early and not faults:
            return
        after, fired = self.tx.call(llr.on_timer, tx, 0)
        if not fired:
            return
        new: State = (after, *state[1:8], faults - early, *state[9:])
        new, broken = self._after_replay_begun(new)
        steps.append(Step(new, early, ("early timer" if early else "timer",), broken))

    def answer_comes(self, state: State) -> bool:
        """Return whether something on its way can still free a copy or begin a replay: a timer >= 2 T waits for it."""
        rx, there, back = self.rx.values[state[1]], state[2], state[3]
        if any(item >> self.bits in (llr.ACK, llr.NACK) for item in back) or rx["ack_due"] or rx["state"] == llr.RX_SEND_NACK:
            return True
        if rx["state"] == llr.RX_SEND_ACKS:
            return any(item >= 0 for item in there)
        return any(item & self.mask == rx["expected"] for item in there if item >= 0)

    def _after_replay_begun(self, state: State) -> tuple[State, str]:
        if self.tx.values[state[0]]["state"] != llr.TX_FLUSH:
            return state, ""
        spent = self.setting.faults - state[8]
        self.flushes += 1
        broken = f"FLUSH after {spent} faults, where {self.setting.replays} replays are allowed"
        return self.flush(state), broken if spent <= self.setting.replays else ""

    def _resend(self, state: State, steps: list[Step]) -> None:
        tx, rx, there, back, copies, *rest = state
        if len(there) >= self.setting.channel:
            return
        una = self.tx.values[tx]["una_seq"]
        after, seq = self.tx.call(llr.next_replay, tx, self.bits, 0)
        payload = copies[(seq - una) & self.mask]
        new = (after, rx, (*there, payload << self.bits | seq), back, copies, *rest)
        steps.append(self.resent(Step(new, False, ("replay", self.name(payload), seq), ""), payload))

    def resent(self, step: Step, payload: int) -> Step:
        """Take notice of a copy sent again."""
        return step

    def _reply(self, state: State, steps: list[Step]) -> None:
        tx, rx, there, back, *rest = state
        reply = self.rx.call(llr.reply_due, rx)[1]
        if reply == llr.NO_REPLY or len(back) >= self.setting.channel:
            return
        value = self.rx.values[rx]["echo_data"]
        after, seq = self.rx.call(llr.on_reply_sent, rx, reply, self.bits)
        if reply != llr.INIT_ECHO:
            value = seq
        name = {llr.ACK: "ack", llr.NACK: "nack", llr.INIT_ECHO: "echo"}[reply]
        steps.append(Step((tx, after, there, (*back, reply << self.bits | value), *rest), False, (name, value), ""))

    # ---- arrivals ----

    def _arrive_there(self, state: State, steps: list[Step]) -> None:
        """Whatever is first on the wire to B arrives, or meets a fault."""
        tx, rx, there, faults = state[0], state[1], state[2], state[8]
        item, rest = there[0], there[1:]
        without: State = (tx, rx, rest, *state[3:])
        paid: State = (*without[:8], faults - 1, *state[9:])
        if item <= INELIGIBLE:
            self.arrive_ineligible(without, INELIGIBLE - item, steps)
            return
        if item < 0:
            after, _ = self.rx.call(llr.on_init, rx, self.first_seq, _INIT - item)
            what = f"INIT {_INIT - item}"
            steps.append(Step((tx, after, *without[2:]), False, ("take", what), ""))
            if faults:
                steps.append(Step(paid, True, ("lost", what), ""))
                steps.append(Step((tx, after, there, *paid[3:]), True, ("twice", what), ""))
                if self.setting.overtaken_init and rest and rest[0] >= 0:
                    self._overtake(state, steps)
            return
        payload, seq = item >> self.bits, item & self.mask
        steps.append(self._frame(without, payload, seq, _GOOD, "frame"))
        if faults:
            steps.append(Step(paid, True, ("frame lost", self.name(payload), seq), ""))
            steps.append(self._frame(paid, payload, seq, _BAD, "frame corrupted"))
            steps.append(self._frame(paid, payload, seq, _POISONED, "frame poisoned"))

    def arrive_ineligible(self, state: State, payload: int, steps: list[Step]) -> None:
        """Add what becomes of a frame without sequence number; A sends none here."""

    def _overtake(self, state: State, steps: list[Step]) -> None:
        there = state[2]
        payload, seq = there[1] >> self.bits, there[1] & self.mask
        left: State = (*state[:2], (there[0], *there[2:]), *state[3:8], state[8] - 1)
        step = self._frame(left, payload, seq, _GOOD, "frame overtakes")
        steps.append(step._replace(fault=True))

    def _frame(self, state: State, payload: int, seq: int, quality: int, name: str) -> Step:
        after, verdict = self.rx.call(self.functions.on_frame, state[1], seq, quality, self.bits)
        new: State = (state[0], after, *state[2:])
        broken = ""
        if verdict != llr.DROP:
            new, broken = self.accept(new, payload)
            if quality != _GOOD and not (quality == _POISONED and verdict == llr.ACCEPT_POISONED):
                broken = f"a {name.split()[1]} frame is passed on as a good one"
        elif name == "frame":
            name = "frame dropped"
        return Step(new, quality != _GOOD, (name, self.name(payload), seq), broken)

    def _arrive_back(self, state: State, steps: list[Step]) -> None:
        """Whatever is first on the wire to A arrives, or meets a fault."""
        faults = state[8]
        item, rest = state[3][0], state[3][1:]
        what = self.ordered_set(item)
        taken, broken = self.take_back((*state[:3], rest, *state[4:]), item)
        steps.append(Step(taken, False, ("take", what), broken))
        if faults:
            steps.append(Step((*state[:3], rest, *state[4:8], faults - 1, *state[9:]), True, ("lost", what), ""))
            again, broken = self.take_back((*state[:8], faults - 1, *state[9:]), item)
            steps.append(Step(again, True, ("twice", what), broken))

    def ordered_set(self, item: int) -> str:
        """Return what an ordered set on the wire to A is called."""
        reply, value = item >> self.bits, item & self.mask
        return f"{ {llr.ACK: 'ACK', llr.NACK: 'NACK', llr.INIT_ECHO: 'INIT_ECHO'}[reply] } {value}"

    def take_back(self, state: State, item: int) -> tuple[State, str]:
        """Let A take an ordered set; return the state after it and the invariant that broke."""
        tx, rx, there, back, copies, *rest = state
        reply, value = item >> self.bits, item & self.mask
        if reply == llr.INIT_ECHO:
            after, _ = self.tx.call(llr.on_init_echo, tx, self.first_seq, value)
            return (after, *state[1:]), ""
        freed = self.tx.call(llr.freed_by, tx, value, self.bits)[1]
        function = llr.on_ack if reply == llr.ACK else llr.on_nack
        after, n = self.tx.call(function, tx, value, max(0, freed) * FRAME_BYTES, self.bits, 0)
        new: State = (after, rx, there, back, copies[n:] if n > 0 else copies, *rest)
        return self._after_replay_begun(new)

    # ---- what must hold ----

    def broken(self, state: State) -> str:
        """Return the invariant that a state breaks, "" = none."""
        tx, rx, copies = self.tx.values[state[0]], self.rx.values[state[1]], state[4]
        if len(copies) != (tx["next_seq"] - tx["una_seq"]) & self.mask or len(copies) * FRAME_BYTES != tx["bytes_out"]:
            return f"A keeps {len(copies)} copies, its record says otherwise"
        if len(copies) > self.setting.window:
            return f"A keeps {len(copies)} copies, {self.setting.window} are allowed"
        if tx["state"] in (llr.TX_ADVANCE, llr.TX_REPLAY):
            ahead = (rx["expected"] - tx["una_seq"]) & self.mask
            if ahead > len(copies):
                return "una <= expected <= next does not hold"
        return self.lost(state)

    def lost(self, state: State) -> str:
        """Return which frame was freed without having been delivered, "" = none."""
        copies, sent, got, flushed = state[4:8]  # of explore_cbfc's states too: their rest comes behind
        freed = (1 << sent) - 1
        for payload in copies:
            freed &= ~(1 << payload)
        missing = freed & ~got & ~flushed
        return f"frame {missing.bit_length() - 1} is freed and was never delivered" if missing else ""

    def done(self, state: State) -> bool:
        """Return whether all is delivered (or was flushed), and A and B agree."""
        _, _, there, back, copies, sent, got, flushed, _ = state[:9]
        return not (there or back or copies) and sent == self.setting.frames and got | flushed == (1 << sent) - 1

    def say(self, words: tuple[Any, ...]) -> str:
        """Return a step in words."""
        return _WORDS[words[0]].format(*words[1:])
