"""What ``scalefab explore`` searches: the spaces of each protocol, and the faults that can be planted to see them found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from ..errors import InputError, Problem
from ..protocol import cbfc, llr
from .explore import Finding, explore
from .explore_cbfc import CbfcModel, CreditSetting
from .explore_llr import Functions, LlrModel, Setting

WIDTHS = (2, 6)
FAULTS_MAX = 5
Progress = Callable[[int, int], None]


class Explored(StrEnum):
    """Protocols that can be explored."""

    LLR = "llr"
    CBFC = "cbfc"


class Plant(StrEnum):
    """Faults that can be planted: one transition is replaced for one search, no file is changed."""

    NO_DUPLICATE_ACK = "no-duplicate-ack"  #: llr: a duplicate is not acknowledged again
    OVERTAKEN_INIT = "overtaken-init"  #: llr: a frame overtakes an INIT
    DOUBLE_CHARGE = "double-charge"  #: cbfc: a replay is charged once more
    INELIGIBLE_CC_UPDATE = "ineligible-cc-update"  #: cbfc: an eligible VC's CC_UPDATE travels as an ineligible frame


_PLANTED_IN = {
    Plant.NO_DUPLICATE_ACK: Explored.LLR,
    Plant.OVERTAKEN_INIT: Explored.LLR,
    Plant.DOUBLE_CHARGE: Explored.CBFC,
    Plant.INELIGIBLE_CC_UPDATE: Explored.CBFC,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One space searched: what it is in words, and what was found."""

    space: str
    flushes: int  # steps that ended in FLUSH
    finding: Finding


def no_duplicate_ack(r: Any, seq: int, quality: int, bits: int) -> int:
    """Judge a frame as `llr.on_frame` does, but leave a duplicate without an ACK."""
    due, duplicates = int(r.ack_due), int(r.duplicate)
    verdict = llr.on_frame(r, seq, quality, bits)
    if int(r.duplicate) != duplicates:
        r.ack_due = due
    return int(verdict)


def ineligible_cc_vcs(lossless_mask: int, eligible_mask: int, eligible: bool, part: int) -> int:
    """Put VCs into CC_UPDATEs as `cbfc.cc_vcs` does, but the eligible ones into the ineligible CC_UPDATE, and vice versa."""
    return int(cbfc.cc_vcs(lossless_mask, eligible_mask, not eligible, part))


def _problems(what: Explored, width: int, window: int, faults: int, plant: str) -> Iterator[Problem]:
    least, most = WIDTHS
    if not least <= width <= most:
        yield Problem(f"{width} bits cannot be explored", f"{least} .. {most}", key="--width")
    elif not 1 <= window < 1 << (width - 1):
        limit = (1 << (width - 1)) - 1
        yield Problem(f"a window of {window} frames with {width} bits", f"1 .. {limit}: below half of the space", key="--window")
    if not 0 <= faults <= FAULTS_MAX:
        yield Problem(f"{faults} faults cannot be explored", f"0 .. {FAULTS_MAX}", key="--faults")
    if plant and plant not in list(Plant):
        near = get_close_matches(plant, list(Plant), n=1)
        yield Problem(f"no fault '{plant}'", f"one of {', '.join(Plant)}", near[0] if near else "", key="--plant")
    elif plant and _PLANTED_IN[Plant(plant)] is not what:
        known = ", ".join(name for name, where in _PLANTED_IN.items() if where is what)
        yield Problem(f"'{plant}' cannot be planted in {what}", f"one of {known}", key="--plant")


def models(what: Explored, width: int, window: int, faults: int, plant: str = "") -> tuple[tuple[str, LlrModel], ...]:
    """Return the models to search, each with its space in words.

    Raises
    ------
    InputError
        A width, window, number of faults or planted fault that cannot be.
    """
    problems = tuple(_problems(what, width, window, faults, plant))
    if problems:
        raise InputError(problems)
    planted = Plant(plant) if plant else None
    functions = Functions()
    if planted is Plant.NO_DUPLICATE_ACK:
        functions = Functions(on_frame=no_duplicate_ack)
    elif planted is Plant.INELIGIBLE_CC_UPDATE:
        functions = Functions(cc_vcs=ineligible_cc_vcs)
    few = min(1, max(0, faults - 1))  # replays so few that the faults can exhaust them
    if what is Explored.LLR:
        init = planted is Plant.OVERTAKEN_INIT
        many = Setting(width, window, faults, overtaken_init=init)
        short = Setting(width, window, faults, replays=few, overtaken_init=init)
        return (
            (f"LLR, {many.replays} replays", LlrModel(many, functions)),
            (f"LLR, {few} replay{'s' * (few != 1)}, re-init on FLUSH", LlrModel(short, functions)),
        )
    again = planted is Plant.DOUBLE_CHARGE
    eligible = CreditSetting(width, window, faults, charged_again=again)
    short = CreditSetting(width, window, faults, frames=3, replays=few, charged_again=again)
    ineligible = CreditSetting(width, window, faults, frames=6, eligible=False, cc_updates=2, charged_again=again)
    return (
        ("CBFC, LLR-eligible VC", CbfcModel(eligible, functions)),
        (f"CBFC, LLR-eligible VC, {few} replay{'s' * (few != 1)}, re-init on FLUSH", CbfcModel(short, functions)),
        ("CBFC, ineligible VC", CbfcModel(ineligible, functions)),
    )


def search(
    what: Explored, width: int = 3, window: int = 3, faults: int = 2, plant: str = "", progress: Progress | None = None
) -> Iterator[Row]:
    """Search the spaces of a protocol, one row each; the first that does not hold ends it.

    Raises
    ------
    InputError
        As `models`.
    """
    for space, model in models(what, width, window, faults, plant):
        finding = explore(model, progress)
        yield Row(space, model.flushes, finding)
        if finding.reason:
            return
