"""The whole configuration as plain data that reads back to the same scenario, and the origin of every value in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..workload.spec import MoeLayer, MoeModel, WorkloadSpec
from .entries import Moe, MoeModelFields
from .models import ScenarioFile
from .paths import KeyPath, Marks, dotted, mark_of
from .scenario import Origin


def resolve(file: ScenarioFile, workload: WorkloadSpec) -> dict[str, Any]:
    """Return every setting with its value; quantities as text with units, names of entries given, models written out.

    With the models inside, a run can be repeated from its manifest alone, without the model files.
    """
    for entry, phase in zip(file.workload, workload.phases, strict=True):
        entry.name = phase.name
        if isinstance(entry.task, Moe) and isinstance(phase, MoeLayer):
            entry.task.model = _fields(phase.model)
    data = file.model_dump(mode="json", exclude_none=True)
    return dict(data)


def _fields(model: MoeModel) -> MoeModelFields:
    return MoeModelFields(**{name: getattr(model, name) for name in MoeModelFields.model_fields})


def leaves(data: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield path and value of every setting; a list of plain values is one setting."""
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list) and any(isinstance(item, Mapping) for item in data):
        for index, item in enumerate(data):
            yield from leaves(item, (*path, index))
    else:
        yield path, data


def origins(
    resolved: Mapping[str, Any], written: Mapping[str, Any], marks: Marks, filled: Mapping[KeyPath, Origin]
) -> dict[str, Origin]:
    """Return where each setting of ``resolved`` came from.

    Parameters
    ----------
    resolved
        What `resolve` returned.
    written, marks
        What the user wrote, overrides applied, and where.
    filled
        Origins of what was filled in.
    """
    return {dotted(path): _origin(path, written, marks, filled) for path, _ in leaves(resolved)}


def _origin(path: KeyPath, written: Mapping[str, Any], marks: Marks, filled: Mapping[KeyPath, Origin]) -> Origin:
    if path in filled:
        return filled[path]
    here: Any = written
    for depth, part in enumerate(path):
        if isinstance(here, str) and path[depth - 1] == "model":  # the user named a file, these are its values
            return _written(path[:depth], marks, f", from {here}")
        found = (
            part in here if isinstance(here, Mapping) else isinstance(here, list) and isinstance(part, int) and part < len(here)
        )
        if not found:
            return Origin("default", "the entry's kind" if path[0] == "workload" and part == "name" else "")
        here = here[part]
    return _written(path, marks, "")


def _written(path: KeyPath, marks: Marks, more: str) -> Origin:
    mark = mark_of(path, marks)
    if mark is None:
        return Origin("default", "")
    return Origin("set" if mark.is_override else "file", f"{mark}{more}")
