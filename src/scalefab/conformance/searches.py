"""What ``scalefab explore`` searches: the spaces of each protocol, and the faults that can be planted to see them found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Protocol

from ..errors import InputError, Problem
from ..protocol import cbfc, llr, path_change, rh_receiver
from ..protocol import reliability as rh
from .explore import Finding, Model, explore
from .explore_cbfc import CbfcModel, CreditSetting
from .explore_llr import Functions, LlrModel, Setting
from .explore_path import PathModel, PathSetting
from .explore_rh import RhFunctions, RhModel, RhSetting

WIDTHS = (2, 6)
FAULTS_MAX = 5
Progress = Callable[[int, int], None]


class Explored(StrEnum):
    """Protocols that can be explored."""

    LLR = "llr"
    CBFC = "cbfc"
    RH = "rh"
    PATH_CHANGE = "path-change"


class Plant(StrEnum):
    """Faults that can be planted: one transition is replaced for one search, no file is changed."""

    NO_DUPLICATE_ACK = "no-duplicate-ack"  #: llr, rh: a duplicate is not acknowledged again
    OVERTAKEN_INIT = "overtaken-init"  #: llr: a frame overtakes an INIT
    DOUBLE_CHARGE = "double-charge"  #: cbfc: a replay is charged once more
    INELIGIBLE_CC_UPDATE = "ineligible-cc-update"  #: cbfc: an eligible VC's CC_UPDATE travels as an ineligible frame
    NACK_STORM = "nack-storm"  #: rh: a NACK for each frame ahead, not one a gap
    BLIND_REPLAY = "blind-replay"  #: path-change: all un-acked is queued again, not only what lies behind CLOSED.psn
    STALE_NONCE = "stale-nonce"  #: path-change: a CLOSE is acted on however old it is
    NONCE_OF_PAIR = "nonce-of-pair"  #: path-change: nonces are compared over all spaces of the pair


_PLANTED_IN = {
    Plant.NO_DUPLICATE_ACK: (Explored.LLR, Explored.RH),
    Plant.OVERTAKEN_INIT: (Explored.LLR,),
    Plant.DOUBLE_CHARGE: (Explored.CBFC,),
    Plant.INELIGIBLE_CC_UPDATE: (Explored.CBFC,),
    Plant.NACK_STORM: (Explored.RH,),
    Plant.BLIND_REPLAY: (Explored.PATH_CHANGE,),
    Plant.STALE_NONCE: (Explored.PATH_CHANGE,),
    Plant.NONCE_OF_PAIR: (Explored.PATH_CHANGE,),
}


class Space(Model, Protocol):
    """A model that is searched; it counts steps that ended in FLUSH."""

    flushes: int


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


def silent_about_duplicates(s: Any, r: Any, psn: int, bits: int, now_ps: int) -> int:
    """Judge DATA as `rh_receiver.on_data` does, but leave a duplicate without an ACK."""
    due = int(s.unacked)
    verdict = int(rh_receiver.on_data(s, r, psn, bits, now_ps))
    if verdict == rh_receiver.DUPLICATE:
        s.unacked = due
    return verdict


def silent_when_asked(s: Any, bits: int) -> int:
    """Answer ACK_REQ only with an ACK that is due anyway, -1 = none."""
    return int(rh_receiver.on_reply_sent(s, bits)) if s.unacked else -1


def nack_each(s: Any, r: Any, psn: int, bits: int, now_ps: int) -> int:
    """Judge DATA as `rh_receiver.on_data` does, but forget that the gap is told already."""
    s.gap = 0
    return int(rh_receiver.on_data(s, r, psn, bits, now_ps))


def close_however_old(s: Any, q: Any, nonce: int, nonce_bits: int) -> int:
    """Take CLOSE as `path_change.on_close` does, but close for an older nonce too."""
    what = int(path_change.on_close(s, q, nonce, nonce_bits))
    if what == path_change.IGNORED:
        s.rx_state = rh.SPACE_CLOSED
        return path_change.REPEATED
    return what


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
    elif plant and what not in _PLANTED_IN[Plant(plant)]:
        known = ", ".join(name for name, where in _PLANTED_IN.items() if what in where)
        yield Problem(f"'{plant}' cannot be planted in {what}", f"one of {known}", key="--plant")


def models(what: Explored, width: int, window: int, faults: int, plant: str = "") -> tuple[tuple[str, Space], ...]:
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
    if what in (Explored.RH, Explored.PATH_CHANGE):
        return _end_to_end(what, width, window, faults, planted)
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


def _end_to_end(what: Explored, width: int, window: int, faults: int, planted: Plant | None) -> tuple[tuple[str, Space], ...]:
    functions = RhFunctions()
    if planted is Plant.NO_DUPLICATE_ACK:
        functions = RhFunctions(on_data=silent_about_duplicates, on_ack_req=silent_when_asked)
    elif planted is Plant.NACK_STORM:
        functions = RhFunctions(on_data=nack_each)
    elif planted is Plant.STALE_NONCE:
        functions = RhFunctions(on_close=close_however_old)
    if what is Explored.RH:
        return (("RH", RhModel(RhSetting(width, window, faults), functions)),)
    pair, blind = planted is Plant.NONCE_OF_PAIR, planted is Plant.BLIND_REPLAY
    window, few = min(window, 2), min(faults, 1)
    once = PathSetting(width, window, faults, changes=2, operations=3, blind=blind, nonce_of_pair=pair)
    often = PathSetting(width, window, few, changes=3, operations=2, blind=blind, nonce_of_pair=pair)
    return (
        (f"path change, a path goes down and comes up, window {window}, {_faults(faults)}", PathModel(once, functions)),
        (f"path change, three changes, window {window}, {_faults(few)}", PathModel(often, functions)),
    )


def _faults(count: int) -> str:
    return f"{count} fault{'s' * (count != 1)}"


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
