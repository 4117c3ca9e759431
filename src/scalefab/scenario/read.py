"""Reading a scenario: text -> data -> overrides -> what was left out -> checked settings -> fabric and graph.

Each step gathers all the faults it can see; the next one starts only when a step's faults would not make it talk nonsense.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import InfeasibleError, InputError, Problem
from ..fabric.arrays import Fabric
from ..fabric.build import build_fabric
from ..fabric.faultspec import Fault
from ..fabric.spec import FabricSpec
from ..fabric.wiring import advice
from ..workload.build import build_graph
from ..workload.graph import OperationGraph
from ..workload.models import read_model
from ..workload.spec import WorkloadSpec
from .assemble import fabric_spec, run_options, workload_spec
from .complete import Completed, complete
from .document import FILE_MAX_BYTES, Document, decode, read_document
from .faultlist import fault_table, outage_advice
from .models import LAYOUT_VERSION, ScenarioFile
from .overrides import apply_overrides
from .paths import KeyPath, Marks, near_file, near_miss
from .problems import located, model_at, problem_at, shown, translate
from .resolved import origins, resolve
from .scenario import Scenario

M = TypeVar("M", bound=BaseModel)


def read_scenario(path: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Read, check and build a scenario file.

    Parameters
    ----------
    path
        A YAML file of at most 1 MB; relative paths in it start from its folder.
    overrides
        Settings to change, each ``key=value``, such as ``fabric.gpus.count=32`` or ``workload.0.moe.tokens_per_gpu=256``.

    Raises
    ------
    InputError
        The file cannot be used; carries every problem found, each with file and line.
    InfeasibleError
        All is valid, but the network cannot be built: what is short, and what would fit.
    """
    return parse_scenario(read_text(path), path, overrides)


def read_text(path: str | Path) -> str:
    """Return the text of a scenario file. Raises InputError: it cannot be read, is too large or is not UTF-8."""
    file = str(path)
    try:
        with open(path, "rb") as stream:
            raw = stream.read(FILE_MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        near = near_file(Path(file), (".yaml", ".yml"))
        raise InputError([Problem(f"cannot be read: {reason}", "a scenario file", near, file)]) from None
    return decode(raw, file)


def parse_scenario(text: str, path: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Check and build a scenario given as text; ``path`` is its name in messages and where relative paths start.

    Raises InputError and InfeasibleError as `read_scenario`.
    """
    file = str(path)
    document, problems = apply_overrides(read_document(text, file), overrides)
    check_version(document)
    checked, filled = check_data(ScenarioFile, document, file, problems)

    spec = fabric_spec(checked.fabric, filled.sources)
    folder = Path(path).parent
    fabric, workload, graph, faults = _build(spec, checked, folder, document)
    resolved = resolve(checked, workload)
    return Scenario(
        name=checked.name,
        path=file,
        text=text,
        fabric_spec=spec,
        fabric=fabric,
        workload=workload,
        graph=graph,
        options=run_options(checked.run),
        resolved=resolved,
        origins=origins(resolved, document.data, document.marks, filled.origins),
        warnings=(*advice(spec), *outage_advice(checked.faults or (), spec)),
        faults=faults,
    )


def check_version(document: Document) -> None:
    """Raise InputError unless the version is known. First of all checks: another one may have other settings."""
    expected = f"'scalefab: {LAYOUT_VERSION}' as the first line"
    path: KeyPath = ("scalefab",)
    if "scalefab" not in document.data:
        near = next((key for key in document.data if near_miss(key, ["scalefab"])), "")
        at: KeyPath = (near,) if near else ()
        message = f"unknown setting '{near}'" if near else "the version of the layout is missing"
        problem = problem_at(at, document.marks, message, expected, "scalefab" if near else "")
        raise InputError([Problem(problem.message, problem.expected, problem.near, problem.file, problem.line, "")])
    version = document.data["scalefab"]
    if isinstance(version, bool) or version != LAYOUT_VERSION or not isinstance(version, int):
        message = f"version {shown(version)} of the layout is not known"
        raise InputError([problem_at(path, document.marks, message, f"scalefab: {LAYOUT_VERSION}")])


def check_data(top: type[M], document: Document, file: str, before: list[Problem]) -> tuple[M, Completed]:
    """Fill in and check a document as ``top``, the model of the whole file; ``before`` = problems that are known already.

    Raises
    ------
    InputError
        With all problems, in the order of the file.
    """
    problems = list(before)
    written, empty = _without_empty(top, document.data, document.marks, problems)
    filled = complete(written, document.marks, file)
    problems += filled.problems
    try:
        checked = top.model_validate(filled.data)
    except ValidationError as error:
        problems += translate(error, top, document.marks, filled.silent | empty)
        checked = None
    if problems or checked is None:
        raise InputError(_sorted(problems))
    return checked, filled


def _without_empty(
    top: type[BaseModel], data: dict[str, Any], marks: Marks, problems: list[Problem]
) -> tuple[dict[str, Any], set[KeyPath]]:
    """Take settings without a value out of the data, each with its problem; unknown ones are left for the checks."""
    empty: set[KeyPath] = set()

    def walk(value: Any, path: KeyPath) -> Any:
        if isinstance(value, list):
            return [walk(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        model = model_at(top, path)
        result: dict[str, Any] = {}
        for key, item in value.items():
            if item is None and model is not None and key in model.model_fields:
                empty.add((*path, key))
                problems.append(problem_at((*path, key), marks, "is empty", "a value, or no such line"))
            else:
                result[key] = walk(item, (*path, key))
        return result

    return walk(data, ()), empty


def _build(
    spec: FabricSpec, checked: ScenarioFile, folder: Path, document: Document
) -> tuple[Fabric, WorkloadSpec, OperationGraph, tuple[Fault, ...]]:
    """Build network, faults and graph; problems of all are told together, InfeasibleError only when nothing is invalid."""
    found: list[InputError] = []
    fabric = workload = graph = None
    faults: tuple[Fault, ...] = ()
    try:
        fabric = build_fabric(spec)
        faults = fault_table(checked.faults or (), fabric, checked.run.until, checked.run.seed)
    except InputError as error:
        found.append(error)
    try:
        workload = workload_spec(checked.workload, folder, read_model)
        graph = build_graph(workload, spec.endpoints.count, spec.mtu, spec.endpoints.stacks)
    except InputError as error:
        found.append(error)
    if found or fabric is None or workload is None or graph is None:
        problems = [located(problem, document.marks) for error in found for problem in error.problems]
        kind = InfeasibleError if all(isinstance(error, InfeasibleError) for error in found) else InputError
        raise kind(_sorted(problems))
    return fabric, workload, graph, faults


def _sorted(problems: list[Problem]) -> list[Problem]:
    """In the order of the file, overrides last; the same thing is said once."""
    unique = list(dict.fromkeys(problems))
    return sorted(unique, key=lambda problem: (problem.line == 0, problem.line))
