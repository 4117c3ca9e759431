"""The verdict: ten lines in words about a run, and the figures behind them. No Numba here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..errors import ExitCode
from ..protocol.profile import NO_PATH_PS
from ..units import format_bandwidth, format_rate, format_size, format_time
from .advice import Limit, Suggestion, bound_fraction, find_limit, percent, suggest
from .metrics import (
    Efficiency,
    GroupMetrics,
    Latency,
    LinkLoad,
    efficiency,
    group_metrics,
    hot_links,
    latency_rows,
    line_rate_Bps,
    node_name,
    overall_bandwidth_Bps,
    stage_shares,
)
from .result import STAGE_LABELS, UNTIL_NOTE, Ending, Fidelity, Result, Stage, Status

HOT_LINKS = 16


class Outcome(Enum):
    """How a run is to be taken; the values stand in ``--json`` and in manifests."""

    DONE = "done"
    PARTIAL = "partial"
    NO_PROGRESS = "no_progress"
    FAILED = "failed"  #: it ended, and its result cannot be right or says nothing


_EXIT = {
    Outcome.DONE: ExitCode.OK,
    Outcome.PARTIAL: ExitCode.INTERRUPTED,
    Outcome.NO_PROGRESS: ExitCode.NO_PROGRESS,
    Outcome.FAILED: ExitCode.FAILED,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One of the ten lines."""

    label: str
    text: str

    def __str__(self) -> str:
        return f"{self.label:<11} {self.text}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run says.

    Attributes
    ----------
    lines
        Ten, always in the same order: result, bandwidth, bound, groups, limit, lost time, hot links, efficiency, latency, next.
    failures, warnings
        What makes the result unusable; what the reader must know.
    algbw_Bps, busbw_Bps
        Of the whole run, bytes/s (`metrics.overall_bandwidth_Bps`).
    line_fraction
        busbw / all ports of one GPU.
    bound_fraction
        bound / completion; 0 = unknown or unfinished.
    stages
        Share of each stage in the time of all executed data frames.
    """

    outcome: Outcome
    lines: tuple[Line, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    algbw_Bps: float
    busbw_Bps: float
    line_fraction: float
    bound_fraction: float
    groups: tuple[GroupMetrics, ...]
    links: tuple[LinkLoad, ...]
    efficiency: Efficiency | None
    latencies: tuple[Latency, ...]
    stages: dict[Stage, float]
    limit: Limit
    suggestion: Suggestion

    @property
    def exit_code(self) -> ExitCode:
        """What the process exits with."""
        return _EXIT[self.outcome]

    def __str__(self) -> str:
        return "\n".join(str(line) for line in self.lines)


def judge(result: Result) -> Verdict:
    """Turn a result into words.

    Parameters
    ----------
    result
        Any run, finished or not.

    Returns
    -------
    Verdict
        Ten lines and the figures behind them. A run that lost frames, moved no byte or whose stage times do not add up is
        `Outcome.FAILED`; one that beats its own bound is warned about.
    """
    groups = group_metrics(result)
    algbw, busbw = overall_bandwidth_Bps(result, groups)
    line_fraction = busbw / line_rate_Bps(result.fabric)
    links = hot_links(result, HOT_LINKS)
    shares = stage_shares(result)
    parts = efficiency(result)
    latencies = latency_rows(result)
    limit = find_limit(result)
    suggestion = suggest(result, limit)
    failures = _failures(result)
    outcome = _outcome(result, failures)
    lines = (
        Line("Result", _result_text(result, outcome, failures)),
        Line("Bandwidth", _bandwidth_text(result, algbw, busbw, line_fraction)),
        Line("Bound", _bound_text(result)),
        Line("Groups", _groups_text(groups)),
        Line("Limited by", limit.text),
        Line("Lost time", _lost_time_text(result, shares)),
        Line("Hot links", _links_text(links)),
        Line("Efficiency", _efficiency_text(result, parts)),
        Line("Latency", _latency_text(result, latencies)),
        Line("Try next", str(suggestion)),
    )
    return Verdict(
        outcome=outcome,
        lines=lines,
        failures=failures,
        warnings=_warnings(result),
        algbw_Bps=algbw,
        busbw_Bps=busbw,
        line_fraction=line_fraction,
        bound_fraction=bound_fraction(result),
        groups=groups,
        links=links,
        efficiency=parts,
        latencies=latencies,
        stages=shares,
        limit=limit,
        suggestion=suggestion,
    )


def _failures(result: Result) -> tuple[str, ...]:
    failed, unstarted = result.count_endings(Ending.TIMEOUT), result.count_endings(Ending.NOT_STARTED)
    found = []
    finished = result.status is Status.DONE
    if failed:
        found.append(_failed_text(result, failed, unstarted))
    if finished and result.data_bytes == 0:
        found.append("zero bytes moved: the run ended and no data byte was delivered")
    if UNTIL_NOTE in result.notes and result.data_bytes == 0:
        found.append("zero bytes moved: run.until ended the run before a data byte was delivered")
    if finished and result.lost_frames and not failed:  # what a failed operation had on its way is lost with it
        found.append(f"{result.lost_frames} data frames were sent and never executed")
    if finished and result.operations_done + failed + unstarted != len(result.graph):
        found.append(f"the run says done with {result.operations_done} of {len(result.graph)} operations finished")
    if result.memory is not None:
        found.extend(f"memory: {text}" for text in result.memory.failures)
    total = int(result.stage_ps.sum())
    if total != result.frame_ps:
        found.append(f"the stage times add up to {total} ps, the frames took {result.frame_ps} ps: the lost-time table is wrong")
    return tuple(found)


def _failed_text(result: Result, failed: int, unstarted: int) -> str:
    """Say how many operations ended with status 6, of which pair the first one was, and what never began because of them."""
    first = int(np.flatnonzero(result.operations.ending == Ending.TIMEOUT)[0])
    src, dst = (node_name(result.fabric, int(node[first])) for node in (result.graph.src, result.graph.dst))
    begun = f"; {unstarted} more never began, since they wait for those" if unstarted else ""
    return (
        f"{failed} of {len(result.graph)} operations ended with status 6 (timeout): no live path for {format_time(NO_PATH_PS)}, "
        f"first {src} to {dst}{begun}; {result.operations_done} were done"
    )


def _warnings(result: Result) -> tuple[str, ...]:
    found = []
    whole = result.operations_done == len(result.graph)  # else operations failed, and the others alone may be below the bound
    if result.status is Status.DONE and whole and 0 < result.completion_ps < result.bound_ps:
        found.append(
            f"the run ({format_time(result.completion_ps)}) beats its own lower bound ({format_time(result.bound_ps)}, "
            f"{result.bound_cut}): the bound or the simulation is wrong, do not use this result"
        )
    if result.status is Status.PARTIAL:
        found.append("partial result: every figure is of the part that was simulated")
    if result.status is Status.NO_PROGRESS:
        found.append("the network stopped moving with work left: every figure is of the time before")
    return (*found, *result.notes)


def _outcome(result: Result, failures: tuple[str, ...]) -> Outcome:
    if failures:
        return Outcome.FAILED
    return {Status.DONE: Outcome.DONE, Status.PARTIAL: Outcome.PARTIAL, Status.NO_PROGRESS: Outcome.NO_PROGRESS}[result.status]


def _result_text(result: Result, outcome: Outcome, failures: tuple[str, ...]) -> str:
    done, total = result.operations_done, len(result.graph)
    moved = f"{format_size(result.data_bytes)} of data in {result.frames} data frames"
    if result.fidelity is Fidelity.FLOW:
        moved = f"{format_size(result.data_bytes)} of data as flows (flow fidelity, an estimate: no frame was simulated)"
    if outcome is Outcome.FAILED:
        return f"FAILED: {failures[0]}"
    if outcome is Outcome.DONE:
        whole = "the only operation" if total == 1 else f"all {total} operations"
        return f"done in {format_time(result.completion_ps)}: {whole}, {moved}"
    how = "PARTIAL, stopped" if outcome is Outcome.PARTIAL else "NO PROGRESS, the network stopped moving"
    why = "" if result.waits is None else f"; {result.waits.summary}"
    return f"{how} at {format_time(result.now_ps)} with {done} of {total} operations done, {moved}{why}"


def _bandwidth_text(result: Result, algbw: float, busbw: float, line_fraction: float) -> str:
    endpoint = result.fabric.spec.endpoints
    ports = f"{endpoint.ports} x {format_rate(endpoint.port_rate_bps)}"
    line = f"{percent(line_fraction, 1)} of a GPU's line rate ({ports} = {format_bandwidth(line_rate_Bps(result.fabric))})"
    bound = bound_fraction(result)
    of_bound = f", {percent(bound, 1)} of the bound" if bound else ""
    so_far = "" if result.status is Status.DONE else " so far"
    return f"algbw {algbw / 1e9:.2f} GB/s, busbw {busbw / 1e9:.2f} GB/s{so_far} = {line}{of_bound}"


def _bound_text(result: Result) -> str:
    if result.bound_ps <= 0:
        return "not computed"
    text = f"{format_time(result.bound_ps)}, set by {result.bound_cut}"
    reached = bound_fraction(result)
    if not reached:
        return text
    over = (result.completion_ps - result.bound_ps) / result.bound_ps
    return f"{text}; the run takes {percent(abs(over), 2)} {'more' if over >= 0 else 'LESS'}"


def _groups_text(groups: tuple[GroupMetrics, ...]) -> str:
    if not groups:
        return "none"
    shown = [_group_text(group) for group in groups[:3]]
    rest = len(groups) - len(shown)
    return "; ".join(shown) + (f"; and {rest} more" if rest else "")


def _group_text(group: GroupMetrics) -> str:
    if not group.complete:
        return f"{group.name} unfinished, {group.done} of {group.operations} operations"
    if group.busbw_Bps is None:
        return f"{group.name} {format_time(group.time_ps)}"
    return f"{group.name} {format_time(group.time_ps)}, busbw {group.busbw_Bps / 1e9:.2f} GB/s"


def _lost_time_text(result: Result, shares: dict[Stage, float]) -> str:
    if result.fidelity is Fidelity.FLOW:
        return "not known at flow fidelity: --fidelity packet tells"
    if not result.frames:
        return "no frame was executed"
    mean = format_time(result.frame_ps // result.frames)
    largest = sorted(shares, key=lambda stage: -shares[stage])[:4]
    named = "; ".join(f"{STAGE_LABELS[stage]} {percent(shares[stage], 1)}" for stage in largest if shares[stage] >= 0.0005)
    return f"of {mean} that a frame takes on average: {named}"


def _links_text(links: tuple[LinkLoad, ...]) -> str:
    if not links:
        return "no link carried anything"
    hottest = links[0]
    if hottest.ratio < 1.05:
        return (
            f"even; the hottest, {hottest.name}, is {percent(hottest.utilisation)} busy and carries {hottest.ratio:.2f}x the mean"
        )
    return "; ".join(f"{link.name} {percent(link.utilisation)} busy, {link.ratio:.2f}x the mean" for link in links[:3])


def _efficiency_text(result: Result, parts: Efficiency | None) -> str:
    if parts is None:
        return "nothing was sent"
    if result.fidelity is Fidelity.FLOW:
        return f"{percent(result.payload_efficiency, 1)} of the wire bytes of frames are data; control takes line time besides"
    return (
        f"{percent(parts.data, 1)} of the wire bytes that GPUs send are data; headers and gaps {percent(parts.headers, 1)}, "
        f"ACK frames {percent(parts.acks, 1)}, ordered sets {percent(parts.ordered_sets, 1)}"
    )


def _latency_text(result: Result, rows: tuple[Latency, ...]) -> str:
    if not rows:
        return "no operation finished"
    without = "without queues in switches: " if result.fidelity is Fidelity.FLOW else ""
    return without + "; ".join(
        f"{row.name} p50 {format_time(row.p50_ps)}, p99 {format_time(row.p99_ps)}, max {format_time(row.max_ps)}"
        for row in rows[:3]
    )
