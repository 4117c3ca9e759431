"""A litmus test as it stands in its file, and as it is run. Format: docs/ordering.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from ...scenario.entries import Model
from ...scenario.quantities import Faults, fault
from ...workload.programtext import Places, TextError, parse_thread
from ...workload.spec import Thread

_PLACE = re.compile(r"([A-Za-z]\w{0,15})(?:\s*\+\s*(\d{1,7}))?")
_NAME = re.compile(r"[A-Za-z]\w{0,15}")
_ASSIGNED = re.compile(r"([A-Za-z]\w{0,15})\s+=\s+(.*)", re.DOTALL)
_TERM = re.compile(r"([A-Za-z]\w{0,15})\s*(==|!=)\s*(-?\d{1,19})")
_ROOM = 1 << 18  # bytes that each place has
THREADS_MAX = 16


@dataclass(frozen=True, slots=True)
class Place:
    """A variable: a place of its own at a GPU, or bytes behind another one."""

    name: str
    gpu: int
    behind: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Term:
    """A register, or the last value of a place, is or is not a number."""

    name: str
    equal: bool
    value: int


@dataclass(frozen=True, slots=True)
class Variant:
    """Threads with what fills their registers: for each thread the register of each instruction, "" = none."""

    texts: tuple[str, ...]
    registers: tuple[tuple[str, ...], ...]

    def threads(self, places: Places) -> list[Thread]:
        """Return the threads with their places put in; raises TextError."""
        return [parse_thread(text, places) for text in self.texts]


@dataclass(frozen=True, slots=True)
class Litmus:
    """A test: threads whose order forbids an outcome, the same ones without it, and the outcome: any of some conjunctions."""

    name: str
    about: str
    places: tuple[Place, ...]
    ordered: Variant
    relaxed: Variant | None
    outcome: tuple[tuple[Term, ...], ...]
    text: str

    @property
    def gpus(self) -> int:
        """How many GPUs it needs."""
        threads = [int(text.partition(":")[0]) for text in self.ordered.texts + (self.relaxed.texts if self.relaxed else ())]
        return 1 + max([*threads, *(place.gpu for place in self.places)])


def _check_place(value: int | str) -> int | str:
    if isinstance(value, str) and not _PLACE.fullmatch(value):
        raise fault("is no place", "a GPU such as 2, or bytes behind another place such as x + 8")
    return value


PlaceForm = Annotated[Annotated[int, Field(ge=0, le=1023)] | Annotated[str, Field(max_length=64)], AfterValidator(_check_place)]
Texts = Annotated[list[Annotated[str, Field(max_length=2000)]], Field(min_length=1, max_length=THREADS_MAX)]


class LitmusFile(Model):
    """One litmus test."""

    name: str = Field(max_length=64, description="Its name.")
    about: str = Field("", max_length=400, description="What it asks, in a line.")
    places: dict[str, PlaceForm] = Field(min_length=1, max_length=16, description="Variables: the GPU that holds each.")
    threads: Texts = Field(description="A text a thread, with the order that forbids the outcome.")
    relaxed: Texts | None = Field(None, description="The same without that order: there the outcome must occur.")
    outcome: str = Field(max_length=400, description="What must not occur: r0 == 1 and r1 == 0; 'or' between alternatives.")

    @model_validator(mode="after")
    def _complete(self) -> LitmusFile:
        faults = Faults()
        _checked(self, faults)
        faults.raise_any()
        return self

    def litmus(self) -> Litmus:
        """Return the test."""
        return _checked(self, Faults())


def _checked(file: LitmusFile, faults: Faults) -> Litmus:
    places = _places(file, faults)
    known: Places = {place.name: (place.gpu, 8 * index) for index, place in enumerate(places)}
    registers: set[str] = set()
    ordered = _variant(file.threads, "threads", known, registers, faults)
    relaxed = _variant(file.relaxed, "relaxed", known, set(), faults) if file.relaxed else None
    outcome = []
    for alternative in re.split(r"\bor\b", file.outcome):
        terms = []
        for text in re.split(r"\band\b", alternative):
            found = _TERM.fullmatch(text.strip())
            if found is None:
                faults.add("outcome", f"'{text.strip()}' is no condition", "such as r0 == 1")
                continue
            if found[1] not in registers and found[1] not in known:
                faults.add("outcome", f"'{found[1]}' is no register and no place", ", ".join([*sorted(registers), *known]))
            terms.append(Term(found[1], found[2] == "==", int(found[3])))
        outcome.append(tuple(terms))
    return Litmus(file.name, file.about, tuple(places), ordered, relaxed, tuple(outcome), file.outcome)


def _places(file: LitmusFile, faults: Faults) -> list[Place]:
    places: list[Place] = []
    found: dict[str, Place] = {}
    for name, value in file.places.items():
        if not _NAME.fullmatch(name):
            faults.add(f"places.{name}", f"'{name[:20]}' is no name", "a letter, then letters and digits")
            continue
        place = Place(name, value) if isinstance(value, int) else None
        if isinstance(value, str):
            parts = _PLACE.fullmatch(value)
            base = found.get(parts[1]) if parts else None
            if parts is None or base is None or base.behind or not 8 <= int(parts[2] or 0) < _ROOM or int(parts[2]) % 8:
                faults.add(f"places.{name}", f"'{value}' is no place", "a place above it + a multiple of 8, such as x + 8")
                continue
            place = Place(name, base.gpu, base.name, int(parts[2]))
        if place is not None:
            places.append(place)
            found[name] = place
    return places


def _variant(texts: list[str], key: str, places: Places, registers: set[str], faults: Faults) -> Variant:
    plain: list[str] = []
    assigned: list[tuple[str, ...]] = []
    for index, text in enumerate(texts):
        gpu, colon, rest = text.partition(":")
        parts = [part.strip() for part in rest.split(";") if part.strip()]
        names: list[str] = []
        bare: list[str] = []
        for part in parts:
            found = _ASSIGNED.fullmatch(part)
            names.append(found[1] if found else "")
            bare.append(found[2] if found else part)
            if not found:
                continue
            if found[1] in registers or found[1] in places:
                faults.add(f"{key}.{index}", f"'{found[1]}' is taken already", "another register")
            if bare[-1].split(".")[0].split()[0] in ("store", "put", "put_signal", "get", "fence", "wait"):
                faults.add(f"{key}.{index}", f"'{bare[-1]}' brings nothing back", "load, add, swap ...")
            registers.add(found[1])
        plain.append(f"{gpu}{colon} " + "; ".join(bare))
        assigned.append(tuple(names))
        try:
            parse_thread(plain[-1], places)
        except TextError as error:
            faults.add(f"{key}.{index}", error.message, error.expected, error.near)
    return Variant(tuple(plain), tuple(assigned))
