"""Case files -> checked cases: one case, several under ``cases``, or a plain list; every problem with file and line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import InputError, Problem
from ..protocol.limits import SAMPLE_PROFILES
from ..scenario.document import read_any
from ..scenario.paths import KeyPath, Marks, near_miss
from ..scenario.problems import problem_at, shown, translate
from ..scenario.read import read_text
from .expressions import ExpressionError, parse_expression
from .models import Case, CaseFile
from .quantities import RateBps
from .words import PORTS, PROFILES

_FOLDER = "cases"


@dataclass(frozen=True, slots=True, eq=False)
class LoadedCase:
    """A checked case, the file it stands in, topology and ports as they are written there, and where everything stands."""

    case: Case
    file: str
    written: dict[str, Any]
    at: KeyPath
    marks: Marks

    def located(self, problem: Problem) -> Problem:
        """Return a problem that was found by its key alone with file and line."""
        path = (*self.at, *problem.key.split("."))
        return problem_at(path, self.marks, problem.message, problem.expected, problem.near)


def built_in_ids() -> tuple[str, ...]:
    """Return the ids of the cases that come with the product, in order."""
    names = (entry.name for entry in files(__package__).joinpath(_FOLDER).iterdir())
    return tuple(sorted((name.removesuffix(".yaml") for name in names if name.endswith(".yaml")), key=_order))


def _order(name: str) -> tuple[bool, str]:
    return not name.startswith("LLR"), name


def built_in_cases(ids: Sequence[str] = ()) -> list[LoadedCase]:
    """Return the product's own cases, all or those of some ids.

    Raises
    ------
    InputError
        Ids that no case has, each with its near miss.
    """
    known = built_in_ids()
    wanted = _known_ids(ids, known)
    found: list[LoadedCase] = []
    for name in wanted:
        text = files(__package__).joinpath(_FOLDER, f"{name}.yaml").read_text(encoding="utf-8")
        found += parse_cases(text, f"{name}.yaml")
    return found


def read_cases(path: str | Path, ids: Sequence[str] = ()) -> list[LoadedCase]:
    """Return the cases of a user's file, all or those of some ids.

    Raises
    ------
    InputError
        Everything in the file that cannot be used, or ids that no case of it has.
    """
    cases = parse_cases(read_text(path), str(path))
    wanted = _known_ids(ids, tuple(dict.fromkeys(one.case.id for one in cases)))
    return [one for one in cases if one.case.id in wanted]


def _known_ids(ids: Sequence[str], known: Sequence[str]) -> list[str]:
    if not ids:
        return list(known)
    folded = {name.upper(): name for name in known}
    problems = [
        Problem(f"no case '{name}'", "one of " + ", ".join(known), near_miss(name.upper(), known), key="id")
        for name in ids
        if name.upper() not in folded
    ]
    if problems:
        raise InputError(problems)
    return list(dict.fromkeys(folded[name.upper()] for name in ids))


def parse_cases(text: str, file: str) -> list[LoadedCase]:
    """Check cases given as text; ``file`` is its name in messages.

    Raises
    ------
    InputError
        Every problem, in the order of the file.
    """
    data, marks = read_any(text, file, "a case, or a list of cases")
    if isinstance(data, dict) and "cases" not in data:
        return [_loaded(case, file, data, (), marks) for case in _checked(Case, data, marks)]
    if isinstance(data, list):
        data, marks = {"cases": data}, {(("cases", *path) if path else ()): mark for path, mark in marks.items()}
    if not isinstance(data, dict):
        raise InputError([problem_at((), marks, f"the file holds {shown(data)}", "a case, or a list of cases")])
    cases = _checked(CaseFile, data, marks)
    return [_loaded(case, file, data["cases"][i], ("cases", i), marks) for i, case in enumerate(cases)]


def _loaded(case: Case, file: str, data: dict[str, Any], at: KeyPath, marks: Marks) -> LoadedCase:
    return LoadedCase(case, file, {key: data[key] for key in ("topology", "ports") if key in data}, at, marks)


def _checked(top: type[Case] | type[CaseFile], data: dict[str, Any], marks: Marks) -> list[Case]:
    problems: list[Problem] = []
    written = _without_empty(data, (), marks, problems)
    silent = {path for path in marks if problems and _is_empty(data, path)}
    cases: list[Case] = []
    try:
        checked = top.model_validate(written)
        cases = [checked] if isinstance(checked, Case) else list(checked.cases)
    except ValidationError as error:
        problems += translate(error, top, marks, silent)
    if top is Case:
        problems += _cross_problems(data, (), marks)
    else:
        for index, case in _entries(data, "cases"):
            problems += _cross_problems(case, ("cases", index), marks)
    if problems:
        unique = list(dict.fromkeys(problems))
        raise InputError(sorted(unique, key=lambda problem: problem.line))
    return cases


def _without_empty(value: Any, path: KeyPath, marks: Marks, problems: list[Problem]) -> Any:
    """Take keys without a value out, each with its problem."""
    if isinstance(value, list):
        return [_without_empty(item, (*path, index), marks, problems) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result = {}
    for key, item in value.items():
        if item is None:
            problems.append(problem_at((*path, key), marks, "is empty", "a value, or no such line"))
        else:
            result[key] = _without_empty(item, (*path, key), marks, problems)
    return result


def _is_empty(data: Any, path: KeyPath) -> bool:
    for part in path:
        data = data[part]
    return data is None


def _cross_problems(case: Any, at: KeyPath, marks: Marks) -> Iterator[Problem]:
    """Yield what only shows when the parts of a case are seen together; on plain data, so that no other problem hides it."""
    topology, traffic = _mapping(_mapping(case).get("topology")), _entries(case, "traffic")
    testers = topology.get("testers", 2)
    flows = [str(flow.get("name", _flow_name(index))) for index, flow in traffic]

    def away(port: object, *path: str | int) -> Iterator[Problem]:
        if port in PORTS and testers in (2, 4) and int(str(port)[-1]) > testers:
            text = f"'{port}' is not on a bench of {testers} testers"
            yield problem_at((*at, *path), marks, text, "topology.testers: 4, or another port")

    for index, flow in traffic:
        yield from away(flow.get("source"), "traffic", index, "source")
        yield from away(flow.get("destination"), "traffic", index, "destination")
    for index, name in enumerate(flows):
        if name in flows[:index]:
            path = (*at, "traffic", traffic[index][0], "name")
            yield problem_at(path, marks, f"flow '{name}' is given twice", "a name each")
    for index, fault in _entries(case, "faults"):
        yield from away(fault.get("port"), "faults", index, "port")
    for name, settings in _mapping(_mapping(case).get("ports")).items():
        yield from away(name, "ports", name)
        profile = _mapping(settings).get("profile")
        if profile in PROFILES and _profile_rate(profile) != _rate(topology.get("rate")):
            text = f"profile {profile} is of another rate than the bench"
            yield problem_at((*at, "ports", name, "profile"), marks, text, "topology.rate as in the profile's name")
    for index, wanted in _entries(case, "expect"):
        ports = wanted.get("port")
        for port in ports if isinstance(ports, list) else [ports]:
            yield from away(port if isinstance(port, str) else None, "expect", index, "port")
        yield from _flow_problems(wanted, (*at, "expect", index), flows, marks)


def _flow_problems(wanted: dict[str, Any], at: KeyPath, flows: list[str], marks: Marks) -> Iterator[Problem]:
    """Yield flows that an expectation speaks of and that there are not."""
    flow = wanted.get("flow")
    if isinstance(flow, str) and flow not in flows:
        near = near_miss(flow, flows)
        yield problem_at(
            (*at, "flow"), marks, f"no flow '{flow}'", "" if near else "one of " + ", ".join(dict.fromkeys(flows)), near
        )
    for key in ("equals", "at_least", "at_most"):
        try:
            references = parse_expression(str(wanted.get(key, 0))).references
        except ExpressionError:
            continue  # told where the value is checked
        for of in dict.fromkeys(reference.of for reference in references if reference.of not in ("", *PORTS, *flows)):
            near = near_miss(of, (*flows, *PORTS))
            expected = "" if near else "a flow's name, or a port's"
            yield problem_at((*at, key), marks, f"'{of}' is neither a flow nor a port", expected, near)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _entries(case: Any, key: str) -> list[tuple[int, dict[str, Any]]]:
    found = _mapping(case).get(key)
    items = found if isinstance(found, list) else []
    return [(index, item) for index, item in enumerate(items) if isinstance(item, dict)]


def _rate(value: Any) -> int:
    """Return the bench's rate; -1, which no profile has, when it cannot be read (that is told elsewhere)."""
    try:
        return TypeAdapter(RateBps).validate_python(800 if value is None else value)
    except ValidationError:
        return -1


def _profile_rate(name: str) -> int:
    return SAMPLE_PROFILES[PROFILES.index(name)].rate_bps


def _flow_name(index: int) -> str:
    return f"flow{index + 1}"


def flow_name(case: Case, index: int) -> str:
    """Return the name of a case's flow: its own, or flow1, flow2 ... by its place."""
    return case.traffic[index].name or _flow_name(index)
