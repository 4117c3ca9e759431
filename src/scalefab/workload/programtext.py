"""Threads of a program as text: ``0: store 2:0x1000 5; fence; store.release 2:0x3000 6`` (GPU, then what it issues in order).

=============================================== ===============================================================================
instruction                                     meaning
=============================================== ===============================================================================
store TARGET VALUE                              8 B; ``bytes=64B`` for another length, then without value
load TARGET                                     8 B; ``bytes=``
add TARGET VALUE                                8 B atomic; also min, max, and, or, xor, swap
compare_swap TARGET COMPARE VALUE               8 B atomic: VALUE where COMPARE is found
put TARGET BYTES                                RDMA write; ``value=5``: the first 8 B of each packet
put_signal TARGET BYTES FLAG VALUE              RDMA write, then the u64 at FLAG is set; ``value=``; ``do=add`` increases it
get TARGET BYTES                                RDMA read
fence, fence GPU                                behind all that the thread has issued, or what it has issued to one GPU
wait TIME                                       later instructions wait that long
=============================================== ===============================================================================

TARGET is GPU:ADDRESS, such as ``2:0x1000``, or the name of a place. Behind a name ``.release``, ``.acquire``, ``.acq_rel`` ask
for order and ``.posted`` for no answer: ``store.release.posted``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..protocol.layout import Order, Scope
from ..protocol.opcodes import AtomicOp, ElementType
from ..protocol.profile import Kind
from ..units import parse_size_bytes, parse_time_ps
from .near import near_miss
from .spec import Instruction, Thread
from .values import Atomic

_ATOMICS = {one.name.lower(): one for one in AtomicOp}
_KINDS = {
    "store": Kind.STORE,
    "load": Kind.LOAD,
    "put": Kind.PUT,
    "put_signal": Kind.PUT_SIGNAL,
    "get": Kind.GET,
    "fence": Kind.FENCE,
    "wait": Kind.COMPUTE,
} | dict.fromkeys(_ATOMICS, Kind.ATOMIC)
_ORDERS = {"release": Order.RELEASE, "acquire": Order.ACQUIRE, "acq_rel": Order.ACQ_REL}
_OPTIONS = {
    Kind.STORE: ("bytes",),
    Kind.LOAD: ("bytes",),
    Kind.PUT: ("value",),
    Kind.PUT_SIGNAL: ("value", "do"),
}
_FORMS = {
    Kind.STORE: "store GPU:ADDRESS VALUE",
    Kind.LOAD: "load GPU:ADDRESS",
    Kind.ATOMIC: "add GPU:ADDRESS VALUE",
    Kind.PUT: "put GPU:ADDRESS BYTES",
    Kind.PUT_SIGNAL: "put_signal GPU:ADDRESS BYTES FLAG VALUE",
    Kind.GET: "get GPU:ADDRESS BYTES",
    Kind.FENCE: "fence, or fence GPU",
    Kind.COMPUTE: "wait TIME",
}
_U64 = (1 << 64) - 1

Places = Mapping[str, tuple[int, int]]
"""Names of places: GPU and address."""


class TextError(ValueError):
    """What is wrong with an instruction, what was expected, and what may have been meant."""

    def __init__(self, message: str, expected: str = "", near: str = "") -> None:
        super().__init__(message)
        self.message, self.expected, self.near = message, expected, near


@dataclass(slots=True)
class _Words:
    """The words of one instruction, taken one by one."""

    text: str
    form: str
    words: list[str]
    options: dict[str, str] = field(default_factory=dict)

    def take(self, what: str) -> str:
        if not self.words:
            raise TextError(f"'{self.text}' lacks {what}", self.form)
        return self.words.pop(0)

    def number(self, what: str, word: str | None = None) -> int:
        word = self.take(what) if word is None else word
        try:
            value = int(word, 0)
        except ValueError:
            raise TextError(f"'{word}' in '{self.text}' is no number", what) from None
        if not -(1 << 63) <= value <= _U64:
            raise TextError(f"'{word}' in '{self.text}' does not fit 64 bits", what)
        return value

    def size(self, what: str, word: str | None = None) -> int:
        word = self.take(what) if word is None else word
        try:
            return parse_size_bytes(word)
        except ValueError as error:
            raise TextError(f"'{word}' in '{self.text}': {error}", "a size such as 4KiB") from None

    def target(self, places: Places) -> tuple[int, int]:
        word = self.take("its target")
        if word in places:
            return places[word]
        gpu, colon, address = word.partition(":")
        if not colon:
            raise TextError(
                f"'{word}' in '{self.text}' is no target", "GPU:ADDRESS" if not places else "a place", near_miss(word, places)
            )
        return self.number("a GPU", gpu), self.number("an address", address)


def parse_thread(text: str, places: Places | None = None) -> Thread:
    """Return the thread that a text describes.

    Raises
    ------
    TextError
        Of the first instruction that cannot be read.
    """
    gpu, colon, rest = text.partition(":")
    if not colon or not gpu.strip().isdecimal():
        raise TextError(f"'{text[:40]}' does not begin with a GPU", "such as 0: store 2:0x1000 5; fence; store 2:0x3000 6")
    parts = [part.strip() for part in rest.split(";")]
    return Thread(int(gpu), tuple(parse_instruction(part, places or {}) for part in parts if part))


def parse_instruction(text: str, places: Places) -> Instruction:
    """Return one instruction; see the table at the head of this file. Raises TextError."""
    words = text.split()
    name, *modifiers = words[0].split(".")
    if name not in _KINDS:
        raise TextError(f"no instruction '{name}'", "one of " + ", ".join(_KINDS), near_miss(name, _KINDS))
    kind = _KINDS[name]
    taken = _Words(text, _FORMS[kind], [word for word in words[1:] if "=" not in word])
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if equals:
            known = _OPTIONS.get(kind, ())
            if key not in known or key in taken.options:
                what = (
                    f"'{key}' in '{text}' is given twice" if key in taken.options else f"'{key}' in '{text}' is read by nothing"
                )
                raise TextError(what, ", ".join(f"{one}=" for one in known) or "no option", near_miss(key, known))
            taken.options[key] = value
    one = _instruction(name, kind, taken, places, *_modifiers(text, kind, modifiers))
    if taken.words:
        raise TextError(f"'{taken.words[0]}' in '{text}' is read by nothing", taken.form)
    return one


def _modifiers(text: str, kind: Kind, modifiers: list[str]) -> tuple[Order, bool]:
    order, posted = Order.RELAXED, False
    for word in modifiers:
        if kind in (Kind.FENCE, Kind.COMPUTE):
            raise TextError(f"'.{word}' in '{text}' is read by nothing", _FORMS[kind])
        if word == "posted":
            if kind in (Kind.LOAD, Kind.ATOMIC, Kind.GET):
                raise TextError(f"'{text}' without an answer brings nothing back", "no .posted")
            posted = True
        elif word in _ORDERS:
            order = _ORDERS[word]
        else:
            known = (*_ORDERS, "posted")
            raise TextError(
                f"no '.{word}' in '{text}'", "one of " + ", ".join(f".{one}" for one in known), near_miss(word, known)
            )
    if posted and order & Order.ACQUIRE:
        raise TextError(f"'{text}' has no answer that later operations could wait for", "no .posted, or no .acquire")
    return order, posted


def _instruction(name: str, kind: Kind, words: _Words, places: Places, order: Order, posted: bool) -> Instruction:
    if kind is Kind.COMPUTE:
        word = words.take("a time")
        try:
            return Instruction(kind, wait_ps=parse_time_ps(word))
        except ValueError as error:
            raise TextError(f"'{word}' in '{words.text}': {error}", "a time such as 1.5us") from None
    if kind is Kind.FENCE:
        return Instruction(kind, words.number("a GPU"), scope=Scope.GPU) if words.words else Instruction(kind)
    dst, address = words.target(places)
    options, size, value, atomic = words.options, 8, None, None
    flag_address, flag_value = 0, 1
    if kind in (Kind.PUT, Kind.PUT_SIGNAL, Kind.GET):
        size = words.size("its bytes")
        value = words.number("a value", options["value"]) if "value" in options else None
    elif "bytes" in options:
        size = words.size("its bytes", options["bytes"])
    if kind is Kind.PUT_SIGNAL:
        word = words.take("the address of its flag")
        flag_gpu, flag_address = places[word] if word in places else (dst, words.number("an address", word))
        if flag_gpu != dst:
            raise TextError(f"the flag of '{words.text}' lies at GPU {flag_gpu}", f"at GPU {dst}, where the data goes")
        flag_value = words.number("the flag's value")
        if options.get("do", "set") not in ("set", "add"):
            raise TextError(f"do={options['do']} in '{words.text}'", "do=set or do=add")
    elif kind is Kind.STORE and "bytes" not in options:
        value = words.number("its value")
    elif kind is Kind.ATOMIC:
        compare = words.number("what it compares with") if name == "compare_swap" else 0
        atomic = Atomic(_ATOMICS[name], ElementType.U64, words.number("its value"), compare)
    return Instruction(
        kind,
        dst,
        address,
        size,
        value=value,
        atomic=atomic,
        posted=posted,
        order=order,
        flag_address=flag_address,
        flag_value=flag_value,
        flag_add=options.get("do") == "add",
    )
