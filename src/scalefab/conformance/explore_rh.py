"""Two ends of a sequence space (RH), as a model to explore: A sends DATA, B answers with ACK and NACK frames.

What is explored: the functions of `scalefab.protocol.rh_sender`, `rh_receiver` and `reliability` themselves. Around them:

Channel
    A FIFO each way, of bounded length, as a path and VC is: DATA on one, ACK and NACK on the other. ACK_REQ travels in another VC
    than DATA, so it keeps no order with it. An acknowledgement that rides on a DATA frame is the same as an ACK.
Time
    Not modelled: anything on its way may arrive at any later step. The timer is free to fire when nothing is on its way and no
    ACK is due, which is what its 25.6 us are for; firing earlier is a fault (*delay*). A NACK may find that una was resent less
    than srtt / 2 ago, or longer ago; both are tried. That a frame ahead comes 5 us after the last NACK is a fault (*delay*).
Faults
    Each costs one of the budget. DATA, ACK, NACK or ACK_REQ is lost (a bad ICRC is a loss), or arrives twice.
Counters
    Left out of the state, and so are times; all else of the records is in it.

Invariants: each frame is executed exactly once, in PSN order; a copy is freed only after its execution; the frames in flight keep
the window; ``una <= expected <= next``; of one gap no more NACKs are on their way than faults have been; no path error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..protocol import path_change, rh_receiver, rh_sender
from ..protocol import reliability as rh
from .explore import Records, State, Step, joined

SENDER = joined(rh.SESSION, rh_sender.RETRY, path_change.ASK)
RECEIVER = joined(rh.SESSION, rh_receiver.REPAIR)
COUNTERS = frozenset(
    ("ack_errors", "resent_frames", "nacks", "nacks_guarded", "timeouts", "path_errors", "duplicates", "gaps", "closed_drops")
)
SRTT_PS = 2  # all times of the model are 0 but this, so that "less than srtt / 2 ago" is now = 0
LATER_PS = 1  # ... and "longer ago" this
NEVER_PS = 1 << 50  # later than any timer

_ACK, _NACK = 0, 1
_WORDS = {
    "send": "A sends frame {0} with PSN {1}",
    "resend": "A resends frame {0} with PSN {1}",
    "timer": "A's timer fires; A sends ACK_REQ",
    "early timer": "A's timer fires although something is on its way (delay); A sends ACK_REQ",
    "ack": "B sends ACK {0}",
    "frame": "B {2} frame {0} with PSN {1}",
    "frame late": "B {2} frame {0} with PSN {1}, 5 us after its last NACK (delay)",
    "frame twice": "B {2} frame {0} with PSN {1}, which will arrive once more",
    "frame lost": "frame {0} with PSN {1} is lost",
    "take": "{0} {1} arrives",
    "take later": "{0} {1} arrives, srtt / 2 or more after the last resend",
    "lost": "{0} {1} is lost",
    "twice": "{0} {1} arrives, and will arrive once more",
    "request": "ACK_REQ arrives; B sends {0}",
    "request twice": "ACK_REQ arrives, and will arrive once more; B sends {0}",
    "request lost": "ACK_REQ is lost",
}
_DID = {
    rh_receiver.DUPLICATE: "drops (duplicate)",
    rh_receiver.ACCEPT: "executes",
    rh_receiver.GAP: "drops (gap)",
    rh_receiver.GAP_NACK: "drops (gap) and NACKs",
    rh_receiver.CLOSED: "drops (closed)",
}


@dataclass(frozen=True, slots=True)
class RhFunctions:
    """The transition functions that are explored; a planted fault replaces one of them."""

    on_data: Callable[..., Any] = rh_receiver.on_data
    on_ack_req: Callable[..., Any] = rh_receiver.on_reply_sent
    on_close: Callable[..., Any] = path_change.on_close


@dataclass(frozen=True, slots=True)
class RhSetting:
    """What is explored.

    Parameters
    ----------
    width
        Bits of a PSN.
    window
        Frames in flight at most.
    faults
        Budget of faults.
    frames
        Frames that A has to send, 0 = one more than all PSNs and a window. The first one gets the highest PSN but one, so that
        the space wraps at once.
    channel
        Items that a direction holds at most.
    """

    width: int = 3
    window: int = 3
    faults: int = 2
    frames: int = 0
    channel: int = 5


def normal_sender(fields: dict[str, int]) -> None:
    """Take times out, and what is timed for srtt."""
    for name in ("timer_ps", "timed", "timed_psn", "timed_ps", "resent_ps", "asked_ps"):
        fields[name] = 0
    fields["srtt_ps"] = SRTT_PS


def normal_receiver(fields: dict[str, int]) -> None:
    """Take times out; what was ahead matters only while its gap is told."""
    for name in ("since_ps", "nack_ps", "visible_ps"):
        fields[name] = 0
    fields["unacked"] = min(fields["unacked"], 1)
    if not fields["gap"]:
        fields["ahead_psn"] = 0


class RhModel:
    """The model. A state is (A's record, B's record, DATA, answers, ACK_REQs, sent, executed, faults left)."""

    def __init__(self, setting: RhSetting, functions: RhFunctions | None = None) -> None:
        self.setting = replace(setting, frames=setting.frames or (1 << setting.width) + setting.window)
        self.functions = functions or RhFunctions()
        self.flushes = 0  # none: that is the link layer's
        self.bits = setting.width
        self.mask = (1 << setting.width) - 1
        self.first_psn = self.mask - 1
        self.a = Records(SENDER, COUNTERS & set(SENDER.names or ()), normal_sender)
        self.b = Records(RECEIVER, COUNTERS & set(RECEIVER.names or ()), normal_receiver)

    def initial(self) -> State:
        """Nothing has been sent; both ends are open at the same PSN."""
        first = self.first_psn
        a = self.a.put(next_psn=first, una_psn=first, window=self.setting.window, fenced_psn=first)
        return (a, self.b.put(expected=first), (), (), 0, 0, 0, self.setting.faults)

    def in_flight(self, number: int) -> int:
        """Return the copies of a sender."""
        fields = self.a.values[number]
        return (fields["next_psn"] - fields["una_psn"]) & self.mask

    # ---- A ----

    def steps(self, state: State) -> list[Step]:
        """Return all steps from a state."""
        steps: list[Step] = []
        a, b, there, back, asks, sent, got, faults = state
        room = len(there) < self.setting.channel
        if room and sent < self.setting.frames and self.a.call(rh_sender.may_send, a, self.bits, records=2)[1]:
            after, psn = self.a.call(rh_sender.on_send, a, self.bits, 0)
            new = (after, b, (*there, sent << self.bits | psn), back, asks, sent + 1, got, faults)
            steps.append(Step(new, False, ("send", sent, psn), ""))
        if room and self.a.values[a]["resending"]:
            payload = sent - self.in_flight(a) + self.a.values[a]["resend_from"]
            after, psn = self.a.call(rh_sender.next_resend, a, self.bits, 0, records=2)
            new = (after, b, (*there, payload << self.bits | psn), back, asks, sent, got, faults)
            steps.append(Step(new, False, ("resend", payload, psn), ""))
        self._timer(state, steps)
        if self.b.values[b]["unacked"] and len(back) < self.setting.channel:
            after, psn = self.b.call(rh_receiver.on_reply_sent, b, self.bits)
            new = (a, after, there, (*back, _ACK << self.bits | psn), asks, sent, got, faults)
            steps.append(Step(new, False, ("ack", psn), ""))
        if there and len(back) < self.setting.channel:
            self._arrive_there(state, steps)
        if back:
            self._arrive_back(state, steps)
        if asks and len(back) < self.setting.channel:
            self._arrive_request(state, steps)
        return steps

    def _timer(self, state: State, steps: list[Step]) -> None:
        a, b, there, back, asks, sent, got, faults = state
        early = bool(there or back or asks or self.b.values[b]["unacked"] or self.a.values[a]["resending"])
        if early and not faults:
            return
        tries = self.setting.faults + 1  # each expiry takes a fault
        after, what = self.a.call(rh_sender.on_timer, a, self.bits, NEVER_PS, tries, tries, records=2)
        if what == rh_sender.NOT_YET:
            return
        broken = "path error, although the path is good" if what == rh_sender.PATH_ERROR else ""
        new = (after, b, there, back, 1, sent, got, faults - early)  # of several ACK_REQs on their way, one is enough
        steps.append(Step(new, early, ("early timer" if early else "timer",), broken))

    # ---- arrivals ----

    def _arrive_there(self, state: State, steps: list[Step]) -> None:
        """Whatever DATA is first arrives, or meets a fault."""
        there, faults = state[2], state[7]
        item, rest = there[0], there[1:]
        without: State = (*state[:2], rest, *state[3:])
        steps.append(self._frame(without, item, 0, "frame", False))
        if faults:
            paid: State = (*without[:7], faults - 1)
            steps.append(Step(paid, True, ("frame lost", item >> self.bits, item & self.mask), ""))
            steps.append(self._frame((*state[:7], faults - 1), item, 0, "frame twice", True))
            late = self._frame(paid, item, rh_receiver.NACK_AGAIN_PS, "frame late", True)
            if late.words[3] == _DID[rh_receiver.GAP_NACK] and steps[-3].words[3] == _DID[rh_receiver.GAP]:
                steps.append(late)

    def _frame(self, state: State, item: int, now_ps: int, name: str, fault: bool) -> Step:
        a, b, there, back, asks, sent, got, faults = state
        payload, psn = item >> self.bits, item & self.mask
        after, verdict = self.b.call(self.functions.on_data, b, psn, self.bits, now_ps, records=2)
        broken = ""
        if verdict == rh_receiver.ACCEPT:
            broken = misplaced(payload, got)
            got = max(got, payload + 1)
        elif verdict == rh_receiver.GAP_NACK:
            after, value = self.b.call(rh_receiver.on_reply_sent, after, self.bits)
            back = (*back, _NACK << self.bits | value)
        return Step((a, after, there, back, asks, sent, got, faults), fault, (name, payload, psn, _DID[verdict]), broken)

    def _arrive_back(self, state: State, steps: list[Step]) -> None:
        """Whatever answer is first arrives, or meets a fault."""
        back, faults = state[3], state[7]
        item, rest = back[0], back[1:]
        what = ("NACK" if item >> self.bits else "ACK", item & self.mask)
        without: State = (*state[:3], rest, *state[4:])
        now = self._take(without, item, 0)
        later = self._take(without, item, LATER_PS)
        steps.append(Step(now, False, ("take", *what), ""))
        if later != now:
            steps.append(Step(later, False, ("take later", *what), ""))
        if faults:
            steps.append(Step((*without[:7], faults - 1), True, ("lost", *what), ""))
            steps.append(Step(self._take((*state[:7], faults - 1), item, 0), True, ("twice", *what), ""))

    def _take(self, state: State, item: int, now_ps: int) -> State:
        function = rh_sender.on_nack if item >> self.bits else rh_sender.on_ack
        after, _ = self.a.call(function, state[0], item & self.mask, self.bits, now_ps, records=2)
        return (after, *state[1:])

    def _arrive_request(self, state: State, steps: list[Step]) -> None:
        a, b, there, back, _, sent, got, faults = state
        after, psn = self.b.call(self.functions.on_ack_req, b, self.bits)
        answered = (*back, _ACK << self.bits | psn) if psn >= 0 else back
        said = f"ACK {psn}" if psn >= 0 else "nothing"
        steps.append(Step((a, after, there, answered, 0, sent, got, faults), False, ("request", said), ""))
        if faults:
            steps.append(Step((a, b, there, back, 0, sent, got, faults - 1), True, ("request lost",), ""))
            twice = (a, after, there, answered, 1, sent, got, faults - 1)
            steps.append(Step(twice, True, ("request twice", said), ""))

    # ---- what must hold ----

    def broken(self, state: State) -> str:
        """Return the invariant that a state breaks, "" = none."""
        a, b, _, back, _, sent, got, faults = state
        flying = self.in_flight(a)
        if flying > self.setting.window:
            return f"{flying} frames are in flight, {self.setting.window} are allowed"
        if sent - flying > got:
            return f"frame {sent - flying - 1} is freed and was never executed"
        ahead = (self.b.values[b]["expected"] - self.a.values[a]["una_psn"]) & self.mask
        if ahead > flying:
            return "una <= expected <= next does not hold"
        spent = self.setting.faults - faults
        nacks = [item for item in back if item >> self.bits == _NACK]
        if any(nacks.count(item) > spent for item in nacks):
            return f"{len(nacks)} NACKs tell of one gap, after {spent} faults"
        return ""

    def done(self, state: State) -> bool:
        """Return whether all is executed and acknowledged."""
        a, b, there, back, asks, sent, got, _ = state
        left = there or back or asks or self.in_flight(a) or self.b.values[b]["unacked"]
        return not left and sent == got == self.setting.frames

    def say(self, words: tuple[Any, ...]) -> str:
        """Return a step in words."""
        return _WORDS[words[0]].format(*words[1:])


def misplaced(payload: int, executed: int) -> str:
    """Return what is wrong with executing a frame when ``executed`` is the next one, "" = nothing."""
    if payload < executed:
        return f"frame {payload} is executed twice"
    return f"frame {payload} is executed before frame {executed}" if payload > executed else ""
