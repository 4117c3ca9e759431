"""Two runs side by side: which settings changed, and which results changed with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..simulator.result import STAGE_LABELS, Stage
from ..simulator.verdict import Verdict, judge
from .record import flat_configuration
from .store import StoredRun

ABSENT = "-"
# What a machine does with a run, not what the run says: told, never counted as a difference.
_COST = ("wall_s", "compile_s", "frames_per_s", "peak_MB")
_NOT_COMPARED = ("scalefab", "command", "scenario", "lost_time", "wait_for", "completion_us", *_COST)


@dataclass(frozen=True, slots=True)
class Change:
    """One setting or figure that differs; ``before`` and ``after`` are None where a run has no such thing.

    ``ratio`` = after / before, None unless both are numbers and before is not 0.
    """

    name: str
    before: str | int | float | None
    after: str | int | float | None

    @property
    def ratio(self) -> float | None:
        """How many times."""
        if isinstance(self.before, str) or isinstance(self.after, str) or self.before is None or self.after is None:
            return None
        return self.after / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two runs.

    Attributes
    ----------
    settings
        Changed settings by dotted key.
    results
        Changed figures of the simulation; units in the names.
    limits
        What limits each run, in words.
    cost
        Wall time, speed and memory of both; they differ between any two runs.
    notes
        What the reader must know: other versions, seed, status.
    """

    before: str
    after: str
    settings: tuple[Change, ...]
    results: tuple[Change, ...]
    limits: tuple[str, str]
    cost: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether no setting and no result differs."""
        return not self.settings and not self.results


def compare(before: StoredRun, after: StoredRun) -> Comparison:
    """Compare two runs."""
    verdicts = judge(before.result), judge(after.result)
    first, second = _figures(before, verdicts[0]), _figures(after, verdicts[1])
    cost = [Change(name, before.flat.get(name), after.flat.get(name)) for name in _COST]
    return Comparison(
        before=str(before.path),
        after=str(after.path),
        settings=_changes(dict(flat_configuration(before.subject)), dict(flat_configuration(after.subject))),
        results=_changes(first, second),
        limits=(verdicts[0].limit.text, verdicts[1].limit.text),
        cost=tuple(cost),
        notes=tuple(_notes(before, after)),
    )


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    names = dict.fromkeys((*before, *after))
    return tuple(Change(n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n))


def _figures(run: StoredRun, verdict: Verdict) -> dict[str, Any]:
    """Every figure of the simulation by name, in the order of a report."""
    found = {name: value for name, value in run.flat.items() if name not in _NOT_COMPARED}
    found["limited_by"] = verdict.limit.cause.value
    for group in verdict.groups:
        found[f"group {group.name}: time_us"] = group.time_ps / 1e6
        if group.busbw_Bps is not None:
            found[f"group {group.name}: busbw_GBps"] = round(group.busbw_Bps / 1e9, 6)
    for stage in Stage:
        found[f"lost time, {STAGE_LABELS[stage]}: percent"] = round(100 * verdict.stages[stage], 6)
    for row in verdict.latencies:
        for name, value in (("p50", row.p50_ps), ("p99", row.p99_ps), ("p99.9", row.p999_ps), ("max", row.max_ps)):
            found[f"latency of {row.name}, {name}: us"] = value / 1e6
    if verdict.links:
        found["hottest link"] = verdict.links[0].name
        found["hottest link: wire_bytes"] = verdict.links[0].wire_bytes
    return found


def _notes(before: StoredRun, after: StoredRun) -> Iterator[str]:
    for name, key in (("scalefab", "scalefab"), ("seed", "seed"), ("scenario", "scenario")):
        if before.manifest[key] != after.manifest[key]:
            yield f"another {name}: {before.manifest[key]} and {after.manifest[key]}"
    if before.subject.resolved == after.subject.resolved and before.subject.text != after.subject.text:
        yield "the scenario files differ in text, their settings do not"
    for package in ("numba", "numpy", "python"):
        versions = [run.manifest["versions"].get(package, "?") for run in (before, after)]
        if versions[0] != versions[1]:
            yield f"another {package}: {versions[0]} and {versions[1]}"
    for run in (before, after):
        if run.flat.get("status") != "done":
            yield f"{run.path} is a run that ended '{run.flat.get('status')}'"


def comparison_object(comparison: Comparison, package_version: str) -> dict[str, Any]:
    """Return the one object of ``compare --json``: ``rows`` are the changed results."""

    def plain(change: Change) -> dict[str, Any]:
        return {"name": change.name, "before": change.before, "after": change.after, "ratio": change.ratio}

    return {
        "scalefab": package_version,
        "command": "compare",
        "before": comparison.before,
        "after": comparison.after,
        "same": comparison.same,
        "settings": [plain(change) for change in comparison.settings],
        "rows": [plain(change) for change in comparison.results],
        "limited_by": list(comparison.limits),
        "cost": [plain(change) for change in comparison.cost],
        "notes": list(comparison.notes),
    }


def shown(value: str | int | float | None) -> str:
    """Return a figure or setting as text."""
    if value is None:
        return ABSENT
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return str(value)


def shown_ratio(change: Change) -> str:
    """Return by how much a figure changed: per cent, from a factor of two on the factor; "" where it means nothing."""
    ratio = change.ratio
    if ratio is None or ratio < 0 or change.name.endswith("percent"):  # a share's share confuses
        return ""
    return f"{ratio:.2f}x" if ratio >= 2 else f"{100 * (ratio - 1):+.2f} %"


def headline(comparison: Comparison) -> str:
    """Return the comparison in one line."""
    if comparison.same:
        return "No setting and no result differs."
    if not comparison.results:
        return f"{_count(comparison.settings, 'setting')} differ, no result does."
    time = next((change for change in comparison.results if change.name == "completion_ps"), None)
    told = f": completion {shown_ratio(time)}" if time is not None and shown_ratio(time) else ""
    return f"{_count(comparison.settings, 'setting')} and {_count(comparison.results, 'result')} differ{told}."


def _count(changes: tuple[Change, ...], name: str) -> str:
    return f"{len(changes) or 'no'} {name}{'' if len(changes) == 1 else 's'}"
