"""CBFC over LLR, as a model to explore: A sends packets of one lossless VC, B keeps them in a buffer and gives credits back.

What is explored: the functions of `scalefab.protocol.cbfc` together with those of `llr`. Around them stands the channel of
`explore_llr`, whose faults are the same; the handshake is over when it begins. In addition

- packets take 1 and 2 credits in turn; the buffer is emptied at any later step;
- a CF_UPDATE goes whenever credits are unreported, an ordered set like the others: lost, or come twice;
- a CC_UPDATE goes ``cc_updates`` times at any moment. When nothing moves any more and the ends disagree, the refresh (each VC
  once in 262 144 B) and then the CC timer repair it: those are no faults, they come by themselves.

The VC is LLR-eligible, and then so is its CC_UPDATE; or it is not, and packets are really lost, and only their credits return.

Invariants besides those of `explore_llr`: the packets in the buffer never exceed it; used credits never exceed the limit; each
packet is charged once; credits of packets that B holds are used credits; B's counters are its buffer; no CF_ERROR. Done = all
delivered, lost or flushed, the buffer empty, and no credit used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..protocol import cbfc, llr
from .explore import Records, State, Step
from .explore_llr import FRAME_BYTES, INELIGIBLE, Functions, LlrModel, Setting

_CF_UPDATE = 8  # beside llr.Reply on the wire to A
_CC_UPDATE = 64  # payloads from here on: CC_UPDATE with the value payload - 64
_VC = 1  # mask of the one VC

_WORDS = {
    "packet": "A sends packet {0} of {1} credits with sequence number {2}",
    "plain packet": "A sends packet {0} of {1} credits, ineligible",
    "cc": "A sends {0} with sequence number {1}",
    "plain cc": "A sends {0}, ineligible",
    "plain": "B takes {0}, ineligible",
    "plain dropped": "B drops {0}, ineligible",
    "plain lost": "{0}, ineligible, is lost",
    "plain corrupted": "{0}, ineligible, arrives corrupted",
    "drain": "a packet of {0} credits leaves B's buffer",
    "cf": "B sends CF_UPDATE {0}",
    "refresh": "B sends CF_UPDATE {0} again (refresh)",
}


@dataclass(frozen=True, slots=True)
class CreditSetting(Setting):
    """What is explored, besides `Setting`.

    Parameters
    ----------
    limit
        Credits of the VC, = B's buffer; 0 = as many as the window has frames, at least a packet's two.
    eligible
        Whether the VC is LLR-eligible.
    cc_updates
        CC_UPDATEs that A may send at any moment.
    charged_again
        Plant: A charges a packet when LLR replays it.
    """

    frames: int = 4
    channel: int = 3
    limit: int = 0
    eligible: bool = True
    cc_updates: int = 1
    charged_again: bool = False


def _no_normal_form(_fields: dict[str, int]) -> None:
    """Nothing in a credit record is ever meaningless."""


class CbfcModel(LlrModel):
    """The model. `LlrModel`'s state, then (A's credits, B's credits, buffer, CC_UPDATEs left, packets lost)."""

    setting: CreditSetting

    def __init__(self, setting: CreditSetting, functions: Functions | None = None) -> None:
        super().__init__(setting, functions)
        self.limit = setting.limit or max(setting.window, 2)
        self.counter_bits = self.bits + 1  # CF_UPDATE carries ``bits``, and a counter is wider (20 and 15 on the wire)
        self.counter_mask = (1 << self.counter_bits) - 1
        self.begin = self.counter_mask - 1  # so that the counters wrap
        self.out = Records(cbfc.SENDER, frozenset(("errors",)), _no_normal_form)
        self.held = Records(cbfc.RECEIVER, frozenset(("peak",)), _no_normal_form)
        self.eligible_mask = _VC if setting.eligible else 0

    def initial(self) -> State:
        """Link up, the handshake over, nothing sent, all counters about to wrap."""
        tx, rx, *rest = super().initial()
        rx, _ = self.rx.call(llr.on_init, rx, self.first_seq, 0)
        rx, _ = self.rx.call(llr.on_reply_sent, rx, llr.INIT_ECHO, self.bits)
        tx, _ = self.tx.call(llr.on_init_echo, tx, self.first_seq, 0)
        out = self.out.put(consumed=self.begin, freed=self.begin, limit=self.limit)
        held = self.held.put(consumed=self.begin, freed=self.begin, reported=self.begin)
        return (tx, rx, *rest, out, held, (), self.setting.cc_updates, 0)

    @staticmethod
    def credits(payload: int) -> int:
        """Return the credits that a packet takes."""
        return 1 + payload % 2

    def name(self, payload: int) -> str:
        """Return what a payload is called."""
        return f"CC_UPDATE {payload - _CC_UPDATE}" if payload >= _CC_UPDATE else str(payload)

    # ---- A sends ----

    def steps(self, state: State) -> list[Step]:
        """Return all steps from a state."""
        steps = super().steps(state)
        out, held, buffer, cc_left = state[9:13]
        if buffer:
            after, _ = self.held.call(cbfc.on_free, held, buffer[0], self.counter_bits)
            new = (*state[:10], after, buffer[1:], *state[12:])
            steps.append(Step(new, False, ("drain", buffer[0]), ""))
        if self.held.call(cbfc.unreported, held, self.counter_bits)[1] and len(state[3]) < self.setting.channel:
            steps.append(self._cf_update(state, "cf"))
        if cc_left:
            self._cc_update((*state[:12], cc_left - 1, state[13]), steps)
        if not steps or all(step.fault for step in steps):  # nothing moves: what comes by itself, if it changes anything
            a, b = self.out.values[out], self.held.values[held]
            if a["freed"] != b["freed"]:
                steps.append(self._cf_update(state, "refresh"))
            elif a["consumed"] != b["consumed"]:
                self._cc_update(state, steps)
        return steps

    def new_frames(self, state: State, steps: list[Step]) -> None:
        """Add the step by which A sends a packet."""
        tx, there, copies, sent, out = state[0], state[2], state[4], state[5], state[9]
        if sent == self.setting.frames or len(there) >= self.setting.channel:
            return
        n = self.credits(sent)
        if not self.out.call(cbfc.may_send, out, n, self.counter_bits)[1]:
            return
        charged, _ = self.out.call(cbfc.on_send, out, n, self.counter_bits)
        if not self.setting.eligible:
            new: State = (*state[:2], (*there, INELIGIBLE - sent), *state[3:5], sent + 1, *state[6:9], charged, *state[10:])
            steps.append(Step(new, False, ("plain packet", sent, n), ""))
        elif self.tx.call(llr.may_send, tx, FRAME_BYTES, self.bits)[1]:
            after, seq = self.tx.call(llr.on_send, tx, FRAME_BYTES, self.bits, 0)
            item = sent << self.bits | seq
            new = (after, state[1], (*there, item), state[3], (*copies, sent), sent + 1, *state[6:9], charged, *state[10:])
            steps.append(Step(new, False, ("packet", sent, n, seq), ""))

    def _cc_update(self, state: State, steps: list[Step]) -> None:
        """Add the steps by which A sends a CC_UPDATE: as an eligible frame or not, as the VC asks."""
        tx, there, copies, out = state[0], state[2], state[4], state[9]
        if len(there) >= self.setting.channel:
            return
        payload = _CC_UPDATE + self.out.call(cbfc.cc_value, out)[1]
        if self.functions.cc_vcs(_VC, self.eligible_mask, False, 0) & _VC:
            new: State = (*state[:2], (*there, INELIGIBLE - payload), *state[3:])
            steps.append(Step(new, False, ("plain cc", self.name(payload)), ""))
        may_send = self.tx.call(llr.may_send, tx, FRAME_BYTES, self.bits)[1]
        if may_send and self.functions.cc_vcs(_VC, self.eligible_mask, True, 0) & _VC:
            after, seq = self.tx.call(llr.on_send, tx, FRAME_BYTES, self.bits, 0)
            new = (after, state[1], (*there, payload << self.bits | seq), state[3], (*copies, payload), *state[5:])
            steps.append(Step(new, False, ("cc", self.name(payload), seq), ""))

    def resent(self, step: Step, payload: int) -> Step:
        """Charge a packet again, if that fault is planted."""
        if not self.setting.charged_again or payload >= _CC_UPDATE:
            return step
        charged, _ = self.out.call(cbfc.on_send, step.state[9], self.credits(payload), self.counter_bits)
        return step._replace(state=(*step.state[:9], charged, *step.state[10:]))

    def flush(self, state: State) -> State:
        """Note that A's copies are dropped; a CC_UPDATE among them is no loss."""
        packets = tuple(payload for payload in state[4] if payload < _CC_UPDATE)
        return super().flush((*state[:4], packets, *state[5:]))

    # ---- B takes ----

    def accept(self, state: State, payload: int) -> tuple[State, str]:
        """Deliver a packet into the buffer, or take a CC_UPDATE."""
        held = state[10]
        if payload >= _CC_UPDATE:
            after, _ = self.held.call(cbfc.on_cc_update, held, payload - _CC_UPDATE, self.counter_bits)
            return (*state[:10], after, *state[11:]), ""
        new, broken = super().accept(state, payload)
        n = self.credits(payload)
        after, _ = self.held.call(cbfc.on_receive, held, n, self.counter_bits)
        return (*new[:10], after, (*new[11], n), *new[12:]), broken

    def arrive_ineligible(self, state: State, payload: int, steps: list[Step]) -> None:
        """Add what becomes of a frame without sequence number: taken if FCS is good, and gone if not."""
        name = self.name(payload) if payload >= _CC_UPDATE else f"packet {payload}"
        verdict = self.rx.call(llr.on_ineligible, state[1], llr.GOOD)[1]
        new, broken = self.accept(state, payload) if verdict == llr.ACCEPT else (self._lose(state, payload), "")
        steps.append(Step(new, False, ("plain" if verdict == llr.ACCEPT else "plain dropped", name), broken))
        if state[8]:
            gone = self._lose((*state[:8], state[8] - 1, *state[9:]), payload)
            steps.append(Step(gone, True, ("plain lost", name), ""))

    @staticmethod
    def _lose(state: State, payload: int) -> State:
        return (*state[:13], state[13] | 1 << payload) if payload < _CC_UPDATE else state

    # ---- credits back ----

    def _cf_update(self, state: State, name: str) -> Step:
        after, low = self.held.call(cbfc.on_report, state[10], self.bits)
        new = (*state[:3], (*state[3], _CF_UPDATE << self.bits | low), *state[4:10], after, *state[11:])
        return Step(new, False, (name, low), "")

    def ordered_set(self, item: int) -> str:
        """Return what an ordered set on the wire to A is called."""
        return f"CF_UPDATE {item & self.mask}" if item >> self.bits == _CF_UPDATE else super().ordered_set(item)

    def take_back(self, state: State, item: int) -> tuple[State, str]:
        """Let A take an ordered set."""
        if item >> self.bits != _CF_UPDATE:
            return super().take_back(state, item)
        after, back = self.out.call(cbfc.on_update, state[9], item & self.mask, self.counter_bits, self.bits)
        return (*state[:9], after, *state[10:]), "CF_ERROR: more credits come back than are used" if back < 0 else ""

    # ---- what must hold ----

    def broken(self, state: State) -> str:
        """Return the invariant that a state breaks, "" = none."""
        out, held, buffer = self.out.values[state[9]], self.held.values[state[10]], sum(state[11])
        if buffer > self.limit:
            return f"B's buffer of {self.limit} credits holds {buffer}"
        charged = sum(self.credits(k) for k in range(state[5]))
        if (out["consumed"] - self.begin - charged) & self.counter_mask:
            return f"packets of {charged} credits were sent, {(out['consumed'] - self.begin) & self.counter_mask} are charged"
        used = (out["consumed"] - out["freed"]) & self.counter_mask
        if used > self.limit:
            return f"A uses {used} credits, the limit is {self.limit}"
        if buffer > used:
            return f"B holds packets of {buffer} credits, A uses {used} only: some came back twice"
        if (held["consumed"] - held["freed"]) & self.counter_mask != buffer:
            return f"B's counters do not agree with its buffer of {buffer} credits"
        return super().broken(state)

    def lost(self, state: State) -> str:
        """Return which packet was freed without having been delivered, "" = none."""
        _, _, there, _, copies, sent, got, flushed, *_ = state
        waiting = got | flushed | state[13]
        for payload in (*copies, *(INELIGIBLE - item for item in there if item <= INELIGIBLE)):
            if payload < _CC_UPDATE:
                waiting |= 1 << payload
        missing = (1 << sent) - 1 & ~waiting
        return f"packet {missing.bit_length() - 1} is freed and was never delivered" if missing else ""

    def done(self, state: State) -> bool:
        """Return whether all is delivered (lost, flushed), the buffer is empty, and no credit is used."""
        out = self.out.values[state[9]]
        known = (*state[:6], state[6] | state[13], *state[7:])
        return super().done(known) and not state[11] and out["consumed"] == out["freed"]

    def say(self, words: tuple[Any, ...]) -> str:
        """Return a step in words."""
        return _WORDS[words[0]].format(*words[1:]) if words[0] in _WORDS else super().say(words)
