"""Every setting of a scenario file as data, from the models and the notes: what ``explain``, schema and reference are made of."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import AfterValidator, BaseModel, PlainSerializer, WithJsonSchema
from pydantic.fields import FieldInfo

from .. import units
from ..fabric import catalogue
from .entries import KINDS
from .models import ScenarioFile
from .problems import alternatives
from .quantities import Limited

_QUANTITIES = {
    units.TIME_PATTERN: ("time", "ps, ns, us, ms, s"),
    units.LENGTH_PATTERN: ("length", "mm, cm, m, km"),
    units.SIZE_PATTERN: ("size", "B, kB, MB, GB, KiB, MiB, GiB ..."),
    units.SIGNED_SIZE_PATTERN: ("size, may be negative", "B, kB, MB, GB, KiB, MiB, GiB ..."),
    units.RATE_PATTERN: ("line rate", "b/s, kb/s, Mb/s, Gb/s, Tb/s (bits)"),
    units.BANDWIDTH_PATTERN: ("bandwidth", "B/s, MB/s, GB/s, TB/s (bytes)"),
}
_DEFAULT_WORDS = re.compile(r"; default:? [^;]*?(?=\.(?: |$)|;|$)")  # `Setting.default` says it
_PLAIN = {int: "whole number", float: "number", str: "text", bool: "on or off"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes
    ----------
    key
        Dotted, ``[]`` for a position in a list: ``workload[].moe.ranks``.
    form
        What is written there: ``time``, ``whole number``, ``one of a, b`` ...
    unit
        Units that it may have, "" for none.
    allowed
        Limits or words, "" for none but the form's.
    default
        What holds without it, as text with its unit; ``required`` when nothing does.
    required
        Whether it must be written where its section is, preset or not.
    meaning, source, matters
        What it is, where it or its default comes from, what a run shows of it.
    example, needs
        A value, and other settings (``key=value``) that it needs.
    """

    key: str
    form: str
    unit: str
    allowed: str
    default: str
    required: bool
    meaning: str
    source: str
    matters: str
    example: str
    needs: tuple[str, ...]

    @property
    def section(self) -> str:
        """The key of the section that it stands in, "" at the top."""
        return self.key.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of settings; ``key`` "" is the top of the file."""

    key: str
    meaning: str


@cache
def sections() -> tuple[Section, ...]:
    """Return all sections in the order of the file."""
    return tuple(Section(key, (model.__doc__ or "").strip()) for key, model in _models(ScenarioFile, ""))


@cache
def all_settings() -> tuple[Setting, ...]:
    """Return all settings in the order of the file, section by section."""
    found = []
    for section, model in _models(ScenarioFile, ""):
        for name, field in model.model_fields.items():
            if not _inner(field):
                found.append(_setting(f"{section}.{name}" if section else name, field))
            elif name == "model":  # a path, or the fields of `_inner`
                found.append(_setting(f"{section}.{name}", field))
    return tuple(found)


def _models(model: type[BaseModel], key: str) -> Iterator[tuple[str, type[BaseModel]]]:
    yield key, model
    for name, field in model.model_fields.items():
        inner = _inner(field)
        if inner is not None:
            is_list = any(get_origin(option) is list for option in alternatives(field.annotation))
            yield from _models(inner, (f"{key}.{name}" if key else name) + ("[]" if is_list else ""))


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    for option in alternatives(field.annotation):
        kind = get_args(option)[0] if get_origin(option) is list else option
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _metadata(field: FieldInfo) -> list[Any]:
    """Return what is annotated to a field, through Optional too."""
    found = list(field.metadata)

    def walk(annotation: Any) -> None:
        if get_origin(annotation) is Annotated:
            for item in get_args(annotation)[1:]:
                found.extend(item.metadata if isinstance(item, FieldInfo) else [item])
            walk(get_args(annotation)[0])
        elif get_origin(annotation) is not list:
            for option in get_args(annotation):
                walk(option)

    walk(field.annotation)
    return found


def _setting(key: str, field: FieldInfo) -> Setting:
    metadata, note = _metadata(field), _note(key)
    form, unit = _form(field, metadata)
    default = str(note.get("default") or _default(key, field, metadata))
    kind = key.split(".")[1] if key.startswith("workload[].") else ""
    return Setting(
        key=key,
        form=form,
        unit=unit,
        allowed=_allowed(field, metadata),
        default=default,
        required=default == "required",
        meaning=_DEFAULT_WORDS.sub("", field.description or ""),
        source=str(note.get("source", "")),
        matters=str(note.get("matters", "")),
        example=_text(note["example"]) if "example" in note else default,
        needs=tuple(text.replace("*", kind) for text in note.get("with", ())),
    )


def _form(field: FieldInfo, metadata: list[Any]) -> tuple[str, str]:
    for item in metadata:
        schema = item.json_schema if isinstance(item, WithJsonSchema) else None
        pattern = schema.get("pattern") if schema else None
        if pattern in _QUANTITIES:
            return _QUANTITIES[pattern]
    options = alternatives(field.annotation)
    if any(isinstance(option, type) and issubclass(option, BaseModel) for option in options):
        return "path of a file, or a mapping", ""
    for option in options:
        if get_origin(option) is list:
            return ("list of whole numbers" if get_args(option)[0] is int else "text or a list"), ""
        if get_origin(option) is Literal:
            return ("word" if isinstance(get_args(option)[0], str) else "whole number"), ""
        if option in _PLAIN:
            return _PLAIN[option], ""
    raise TypeError(f"no words for the type {field.annotation}")


def _allowed(field: FieldInfo, metadata: list[Any]) -> str:
    for item in reversed(metadata):
        if isinstance(item, AfterValidator) and isinstance(item.func, Limited):
            return item.func.allowed
    words = [str(word) for option in alternatives(field.annotation) if get_origin(option) is Literal for word in get_args(option)]
    if words:
        return "one of " + ", ".join(words) if len(words) > 1 else words[0]
    limits = {name: getattr(item, name) for item in metadata for name in ("ge", "le", "min_length") if hasattr(item, name)}
    if limits.get("ge") is not None and limits.get("le") is not None:
        return f"{limits['ge']} .. {limits['le']}"
    return ""


def _default(key: str, field: FieldInfo, metadata: list[Any]) -> str:
    if not field.is_required() and field.default not in (None, ""):
        show = next((item.func for item in metadata if isinstance(item, PlainSerializer)), None)
        return str(show(field.default)) if show else _text(field.default)  # type: ignore[call-arg]
    here: Any = catalogue.defaults()
    for part in key.split(".")[1:]:
        here = here.get(part) if isinstance(here, dict) else None
    if isinstance(here, str) and key.startswith("fabric."):
        return here
    return "required" if field.is_required() else "none"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "[]" if value == [] else str(value)


@cache
def _notes() -> dict[str, dict[str, Any]]:
    text = resources.files(__package__).joinpath("notes.yaml").read_text(encoding="utf-8")
    return typing.cast("dict[str, dict[str, Any]]", yaml.safe_load(text))


def _note(key: str) -> dict[str, Any]:
    """Return the note of a setting; of a kind of entry, the note for any kind when it has none of its own."""
    notes, parts = _notes(), key.split(".")
    if key in notes:
        return notes[key]
    if parts[0] != "workload[]" or len(parts) < 3 or parts[1] not in KINDS:
        return {}
    return notes.get(".".join((*parts[:3], "*"))) or notes.get(".".join(("workload[].*", *parts[2:])), {})


def unused_notes() -> tuple[str, ...]:
    """Return notes that no setting takes: what they speak of is gone."""
    taken = {id(_note(setting.key)) for setting in all_settings()}
    return tuple(key for key, note in _notes().items() if id(note) not in taken)
