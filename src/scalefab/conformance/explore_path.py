"""Path change, as a model to explore: one bucket of operations at A, two paths to B, one of which goes down and comes back.

What is explored: the functions of `scalefab.protocol.path_change`, with those of `rh_sender`, `rh_receiver`, `ordering` and
`paths` that it stands on. Each path has its own sequence space. Operations are of one page, so they must be executed in the order
in which they were issued, whatever paths they take. Around that:

Channel
    A FIFO for DATA and one for ACKs, each path its own; between paths no order at all. CONTROL (CLOSE, CLOSED, OPEN, OPENED)
    keeps no order with anything, itself included: requests are asked again over any live path.
Paths
    Path 0 is the bucket's own, path 1 the fall-back. A path goes down (SEN or path error: A knows), never both. What is on it is
    lost, or delayed without bound: it may arrive after the path is up again. Changes have a budget of their own, so every state
    with a path down for ever is judged too.
Bucket
    New operations wait while its space is closing. The bucket goes home only when its space on path 1 has nothing un-acked and a
    FENCE there was answered.
Time
    Not modelled: a request is asked again when neither it nor its answer is on its way; earlier is a fault (*delay*).
Faults
    DATA, ACK or CONTROL is lost, or arrives twice. There is no NACK here: `explore_rh` has it, and a lost one is allowed.

Invariants: each operation is executed exactly once, in order; none is freed before its execution; no path error on a live path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..protocol import ordering, path_change, rh_receiver, rh_sender
from ..protocol import reliability as rh
from .explore import Records, State, Step
from .explore_rh import COUNTERS, NEVER_PS, RECEIVER, SENDER, RhFunctions, misplaced, normal_receiver, normal_sender

_CLOSE, _CLOSED, _OPEN, _OPENED = range(4)
_NAMES = ("CLOSE", "CLOSED", "OPEN", "OPENED")
_NONCE_BITS = 4
_FIRST = 6  # PSN of a 3-bit space, so that it wraps
_CHANNEL = 3
_CONTROLS = 3
_AT_ONCE = 0

_WORDS = {
    "send": "A sends operation {0} on path {1} with PSN {2}",
    "resend": "A resends operation {0} on path {1} with PSN {2}",
    "timer": "A's timer of path {0} fires",
    "early timer": "A's timer of path {0} fires although something is on its way (delay)",
    "ack": "B sends ACK {1} on path {0}",
    "data": "B {3} operation {0} of path {1}, PSN {2}",
    "data twice": "B {3} operation {0} of path {1}, PSN {2}, which will arrive once more",
    "data lost": "operation {0} on path {1} is lost",
    "take": "ACK {1} of path {0} arrives",
    "twice": "ACK {1} of path {0} arrives, and will arrive once more",
    "lost": "ACK {1} of path {0} is lost",
    "down": "path {0} goes down; what is on it is delayed{1}",
    "down empty": "path {0} goes down; what is on it is lost{1}",
    "up": "path {0} is up again",
    "open": "A asks to open path {0} with nonce {1}, from PSN {2}",
    "again": "A asks {0} of path {1} with nonce {2} again",
    "again early": "A asks {0} of path {1} with nonce {2} again, although the first is still on its way (delay)",
    "away": "the bucket moves to path {0}",
    "home": "a FENCE is answered on path {1}, with nothing un-acked; the bucket goes home to path {0}",
    "control": "{0} of path {1} with nonce {2} arrives{3}",
    "control twice": "{0} of path {1} with nonce {2} arrives{3}, and will arrive once more",
    "control lost": "{0} of path {1} with nonce {2} is lost",
}


@dataclass(frozen=True, slots=True)
class PathSetting:
    """What is explored.

    Parameters
    ----------
    width, window, faults
        As in `explore_rh.RhSetting`.
    changes
        Times that a path goes down or comes up.
    operations
        That the bucket issues.
    blind
        Plant: everything un-acked is queued again, not what lies behind CLOSED.psn.
    nonce_of_pair
        Plant: the nonces of all spaces of the pair are compared, not those of a space.
    """

    width: int = 3
    window: int = 2
    faults: int = 2
    changes: int = 2
    operations: int = 3
    blind: bool = False
    nonce_of_pair: bool = False


class PathModel:
    """The model.

    A state is ((A's space of path 0, of 1), (B's, B's), (DATA, DATA), (ACKs, ACKs), CONTROL, path down or -1, bucket's path, next
    operation, executed, nonce, changes left, faults left).
    """

    def __init__(self, setting: PathSetting, functions: RhFunctions | None = None) -> None:
        self.setting = setting
        self.flushes = 0  # none: that is the link layer's
        self.functions = functions or RhFunctions()
        self.bits = setting.width
        self.mask = (1 << setting.width) - 1
        self.a = Records(SENDER, COUNTERS & set(SENDER.names or ()), _normal_space)
        self.b = Records(RECEIVER, COUNTERS & set(RECEIVER.names or ()), normal_receiver)

    def initial(self) -> State:
        """Both paths are up, both spaces open, nothing is sent."""
        first = _FIRST & self.mask
        a = self.a.put(next_psn=first, una_psn=first, window=self.setting.window, fenced_psn=first)
        b = self.b.put(expected=first)
        return ((a, a), (b, b), ((), ()), ((), ()), (), -1, 0, 0, 0, 0, self.setting.changes, self.setting.faults)

    def in_flight(self, number: int) -> int:
        """Return the copies of a sender."""
        fields = self.a.values[number]
        return (fields["next_psn"] - fields["una_psn"]) & self.mask

    def steps(self, state: State) -> list[Step]:
        """Return all steps from a state."""
        steps: list[Step] = []
        self._change(state, steps)
        self._bucket(state, steps)
        for path in (0, 1):
            self._send(state, path, steps)
            self._timer(state, path, steps)
            self._ask(state, path, steps)
            self._ack(state, path, steps)
            if state[2][path]:
                self._arrive_data(state, path, steps)
            if state[3][path]:
                self._arrive_ack(state, path, steps)
        for index in range(len(state[4])):
            self._arrive_control(state, index, steps)
        return steps

    # ---- paths and the bucket ----

    def _change(self, state: State, steps: list[Step]) -> None:
        down, changes = state[5], state[10]
        if not changes:
            return
        if down >= 0:
            steps.append(Step((*state[:5], -1, *state[6:10], changes - 1, state[11]), True, ("up", down), ""))
            return
        for path in (0, 1):
            new: State = (*state[:5], path, *state[6:10], changes - 1, state[11])
            a, said = state[0][path], ""
            if self.a.call(path_change.must_close, a, self.bits, records=2)[1]:
                if len(state[4]) >= _CONTROLS:
                    continue
                nonce = path_change.next_nonce(state[9], _NONCE_BITS)
                a, _ = self.a.call(path_change.begin_close, a, nonce, records=3)
                said = f"; A asks to close it with nonce {nonce}"
                asked = _sorted(state[4], (_CLOSE, path, nonce, 0))
                new = (_put(state[0], path, a), *new[1:4], asked, *new[5:9], nonce, *new[10:])
            steps.append(Step(new, True, ("down", path, said), ""))
            if state[2][path] or state[3][path]:
                empty = (*new[:2], _put(new[2], path, ()), _put(new[3], path, ()), *new[4:])
                steps.append(Step(empty, True, ("down empty", path, said), ""))

    def _bucket(self, state: State, steps: list[Step]) -> None:
        """Let the bucket leave a path that is down, or go home to one that is up again."""
        spaces, down, at = state[0], state[5], state[6]
        other = 1 - at
        if down == other or self.a.values[spaces[other]]["state"] != rh.SPACE_OPEN:
            return
        if down == at or self.a.values[spaces[at]]["state"] != rh.SPACE_OPEN:
            kind = self.a.values[spaces[at]][
                "state"
            ]  # never OPEN with something to settle: that is closed when its path goes down
            if kind != rh.SPACE_CLOSING:
                steps.append(Step((*state[:6], other, *state[7:]), False, ("away", other), ""))
        elif at == 1 and not self.in_flight(spaces[at]):
            psn = (self.a.values[spaces[at]]["next_psn"] - 1) & self.mask
            a, _ = self.a.call(ordering.on_fenced, spaces[at], psn, self.bits)
            steps.append(Step((_put(spaces, at, a), *state[1:6], 0, *state[7:]), False, ("home", 0, at), ""))

    # ---- A ----

    def _send(self, state: State, path: int, steps: list[Step]) -> None:
        spaces, there, at, following = state[0], state[2], state[6], state[7]
        if state[5] == path or len(there[path]) >= _CHANNEL:
            return
        a = spaces[path]
        may = at == path and following < self.setting.operations
        if may and self.a.call(rh_sender.may_send, a, self.bits, records=2)[1]:
            after, psn = self.a.call(rh_sender.on_send, a, self.bits, 0)
            item = following << self.bits | psn
            new = (_put(spaces, path, after), state[1], _append(there, path, item), *state[3:7], following + 1, *state[8:])
            steps.append(Step(new, False, ("send", following, path, psn), ""))
        if self.a.values[a]["resending"]:
            payload = following - self.in_flight(a) + self.a.values[a]["resend_from"]
            after, psn = self.a.call(rh_sender.next_resend, a, self.bits, 0, records=2)
            if psn >= 0:
                new = (_put(spaces, path, after), state[1], _append(there, path, payload << self.bits | psn), *state[3:])
                steps.append(Step(new, False, ("resend", payload, path, psn), ""))

    def _timer(self, state: State, path: int, steps: list[Step]) -> None:
        spaces, faults = state[0], state[11]
        a = spaces[path]
        if state[5] == path or self.a.values[a]["resending"]:
            return
        early = bool(state[2][path] or state[3][path] or self.b.values[state[1][path]]["unacked"])
        if early and not faults:
            return
        tries = self.setting.faults + 2  # each expiry takes a fault, and one more a change
        after, what = self.a.call(rh_sender.on_timer, a, self.bits, NEVER_PS, tries, tries, records=2)
        if what == rh_sender.NOT_YET:
            return
        broken = f"path error of path {path}, which is up" if what == rh_sender.PATH_ERROR else ""
        new = (_put(spaces, path, after), *state[1:11], faults - early)
        steps.append(Step(new, early, ("early timer" if early else "timer", path), broken))

    def _ask(self, state: State, path: int, steps: list[Step]) -> None:
        """Ask to open a path that is up again; ask again what has no answer."""
        spaces, controls, faults = state[0], state[4], state[11]
        fields = self.a.values[spaces[path]]
        if len(controls) >= _CONTROLS:
            return
        if fields["state"] == rh.SPACE_CLOSED and state[5] != path:
            nonce = path_change.next_nonce(state[9], _NONCE_BITS)
            a, _ = self.a.call(path_change.begin_open, spaces[path], nonce, records=2)
            psn = fields["next_psn"]
            asked = _sorted(controls, (_OPEN, path, nonce, psn))
            new = (_put(spaces, path, a), *state[1:4], asked, *state[5:9], nonce, *state[10:])
            steps.append(Step(new, False, ("open", path, nonce, psn), ""))
        if fields["state"] not in (rh.SPACE_CLOSING, rh.SPACE_OPENING):
            return
        nonce = fields["nonce"]
        early = any(item[1:3] == (path, nonce) for item in controls)
        if early and not faults:
            return
        opening = fields["state"] == rh.SPACE_OPENING
        item = (_OPEN if opening else _CLOSE, path, nonce, fields["next_psn"] if opening else 0)
        new = (*state[:4], _sorted(controls, item), *state[5:11], faults - early)
        steps.append(Step(new, early, ("again early" if early else "again", _NAMES[item[0]], path, nonce), ""))

    # ---- B ----

    def _ack(self, state: State, path: int, steps: list[Step]) -> None:
        receivers, back = state[1], state[3]
        if self.b.values[receivers[path]]["unacked"] and len(back[path]) < _CHANNEL:
            after, psn = self.b.call(rh_receiver.on_reply_sent, receivers[path], self.bits)
            new = (state[0], _put(receivers, path, after), state[2], _append(back, path, psn), *state[4:])
            steps.append(Step(new, False, ("ack", path, psn), ""))

    def _arrive_data(self, state: State, path: int, steps: list[Step]) -> None:
        there, faults = state[2], state[11]
        item, rest = there[path][0], there[path][1:]
        without = (*state[:2], _put(there, path, rest), *state[3:])
        steps.append(self._data(without, path, item, "data", False))
        if faults:
            steps.append(Step((*without[:11], faults - 1), True, ("data lost", item >> self.bits, path), ""))
            steps.append(self._data((*state[:11], faults - 1), path, item, "data twice", True))

    def _data(self, state: State, path: int, item: int, name: str, fault: bool) -> Step:
        payload, psn = item >> self.bits, item & self.mask
        after, verdict = self.b.call(self.functions.on_data, state[1][path], psn, self.bits, _AT_ONCE, records=2)
        got, broken = state[8], ""
        if verdict == rh_receiver.ACCEPT:
            broken = misplaced(payload, got).replace("frame", "operation")
            got = max(got, payload + 1)
        did = ("drops", "executes", "drops", "drops", "drops")[verdict]
        new = (state[0], _put(state[1], path, after), *state[2:8], got, *state[9:])
        return Step(new, fault, (name, payload, path, psn, did), broken)

    def _arrive_ack(self, state: State, path: int, steps: list[Step]) -> None:
        back, faults = state[3], state[11]
        psn, rest = back[path][0], back[path][1:]
        after, _ = self.a.call(rh_sender.on_ack, state[0][path], psn, self.bits, 0, records=2)
        taken = (_put(state[0], path, after), *state[1:3])
        steps.append(Step((*taken, _put(back, path, rest), *state[4:]), False, ("take", path, psn), ""))
        if faults:
            steps.append(Step((*taken, *state[3:11], faults - 1), True, ("twice", path, psn), ""))
            lost = (*state[:3], _put(back, path, rest), *state[4:11], faults - 1)
            steps.append(Step(lost, True, ("lost", path, psn), ""))

    # ---- CONTROL ----

    def _arrive_control(self, state: State, index: int, steps: list[Step]) -> None:
        controls, faults = state[4], state[11]
        item = controls[index]
        if index and controls[index - 1] == item:
            return  # the same as the one before
        rest = controls[:index] + controls[index + 1 :]
        words = (_NAMES[item[0]], item[1], item[2])
        new, answer = self._take_control((*state[:4], rest, *state[5:]), item)
        steps.append(Step(new, False, ("control", *words, answer), ""))
        if faults:
            if len(controls) < _CONTROLS or item[0] in (_CLOSED, _OPENED):
                new, answer = self._take_control((*state[:11], faults - 1), item)
                steps.append(Step(new, True, ("control twice", *words, answer), ""))
            lost = (*state[:4], rest, *state[5:11], faults - 1)
            steps.append(Step(lost, True, ("control lost", *words), ""))

    def _take_control(self, state: State, item: tuple[int, int, int, int]) -> tuple[State, str]:
        """Return the state after a CONTROL, and what came of it in words."""
        kind, path, nonce, psn = item
        spaces, receivers = state[0], state[1]
        if kind in (_CLOSE, _OPEN):
            return self._take_request(state, item)
        if kind == _OPENED:
            after, opened = self.a.call(path_change.on_opened, spaces[path], nonce, records=2)
            return (_put(spaces, path, after), *state[1:]), "" if opened else "; A ignores it"
        behind = self.in_flight(spaces[path])
        after, freed = self.a.call(path_change.on_closed, spaces[path], psn, nonce, self.bits, 0, records=3)
        if freed < 0:
            return state, "; A ignores it"
        again = behind if self.setting.blind else behind - freed
        new = (_put(spaces, path, after), receivers, *state[2:7], state[7] - again, *state[8:])
        return new, f"; A queues {again} again" if again else ""

    def _take_request(self, state: State, item: tuple[int, int, int, int]) -> tuple[State, str]:
        kind, path, nonce, psn = item
        receivers = state[1]
        b = receivers[path]
        if kind == _CLOSE:
            b, what = self.b.call(self.functions.on_close, b, nonce, _NONCE_BITS, records=2)
        else:
            b, what = self.b.call(path_change.on_open, b, psn, nonce, _NONCE_BITS, records=2)
        receivers = _put(receivers, path, b)
        if self.setting.nonce_of_pair:
            other = self.b.values[receivers[1 - path]] | {"nonce": self.b.values[b]["nonce"]}
            receivers = _put(receivers, 1 - path, self.b.put(**other))
        if what == path_change.IGNORED:
            return (state[0], receivers, *state[2:]), "; B ignores it"
        value = 0
        if kind == _CLOSE:
            b, value = self.b.call(path_change.closed_psn, b, self.bits)
            receivers = _put(receivers, path, b)
        answer = (_CLOSED if kind == _CLOSE else _OPENED, path, nonce, value)
        new = (state[0], receivers, *state[2:4], _sorted(state[4], answer), *state[5:])
        return new, f"; B answers {_NAMES[answer[0]]}" + (f" {value}" if kind == _CLOSE else "")

    # ---- what must hold ----

    def broken(self, state: State) -> str:
        """Return the invariant that a state breaks, "" = none."""
        spaces, at, following, got = state[0], state[6], state[7], state[8]
        freed = following - self.in_flight(spaces[at])
        if freed > got:
            return f"operation {freed - 1} is freed and was never executed"
        return "both spaces hold copies" if self.in_flight(spaces[1 - at]) else ""

    def done(self, state: State) -> bool:
        """Return whether all is executed and acknowledged, and no question is open."""
        spaces, receivers, there, back, controls = state[:5]
        if any(there) or any(back) or controls:
            return False
        for path in (0, 1):
            kind = self.a.values[spaces[path]]["state"]
            wanted = (rh.SPACE_OPEN, rh.SPACE_CLOSED) if state[5] == path else (rh.SPACE_OPEN,)
            if kind not in wanted or self.in_flight(spaces[path]) or self.b.values[receivers[path]]["unacked"]:
                return False
        return bool(state[7] == state[8] == self.setting.operations)

    def say(self, words: tuple[Any, ...]) -> str:
        """Return a step in words."""
        return _WORDS[words[0]].format(*words[1:])


def _normal_space(fields: dict[str, int]) -> None:
    normal_sender(fields)
    if fields["state"] in (rh.SPACE_OPEN, rh.SPACE_CLOSED):
        fields["nonce"] = 0  # means what is asked
    fields["asks"] = fields["path"] = 0


def _put(pair: tuple[Any, Any], path: int, value: Any) -> tuple[Any, Any]:
    return (value, pair[1]) if path == 0 else (pair[0], value)


def _append(pair: tuple[Any, Any], path: int, item: Any) -> tuple[Any, Any]:
    return _put(pair, path, (*pair[path], item))


def _sorted(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    """Add an item to a channel without order."""
    return tuple(sorted((*items, item)))
