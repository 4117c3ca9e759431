"""The JSON schema (draft 2020-12) of scenario files, for editors: they complete, explain and mark settings as they are typed.

Made from the models; what only `complete` and the models' own checks know (presets, settings that exclude each other) is added.
"""

from __future__ import annotations

from typing import Any

from ..fabric import catalogue
from .entries import KINDS
from .faultmodels import FAULT_KINDS, PLACES
from .models import ScenarioFile
from .settings import Setting, all_settings

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_FROM_PRESET = {
    "Gpus": ["stacks", "ports_per_stack", "port_rate", "memory"],
    "Switches": ["ports"],
}
"""What must be written where no preset gives it."""

_EITHER = {"AllToAll": ("size", "bytes_per_pair")}
_INSTEAD = {"Cables": ("delay", ("length", "medium")), "SpineCables": ("delay", ("length", "medium"))}


def scenario_schema() -> dict[str, Any]:
    """Return the schema of a whole file."""
    schema = ScenarioFile.model_json_schema(mode="validation")
    definitions: dict[str, Any] = schema["$defs"]
    known = {setting.key: setting for setting in all_settings()}
    _finish(schema, "", known, definitions)
    for name, definition in definitions.items():
        _rules(name, definition)
    schema["properties"]["fabric"]["description"] = "The network: GPUs, switches, cables, and how links work."
    return {"$schema": DIALECT, **schema, "title": "scalefab scenario"}


def _finish(model: dict[str, Any], key: str, known: dict[str, Setting], definitions: dict[str, Any]) -> None:
    """Go through the settings of a section: titles are keys, defaults text, nothing is null, few are required."""
    for name, schema in model["properties"].items():
        path = f"{key}.{name}" if key else name
        _without_null(schema)
        for definition in _reference(schema):
            inner = f"{path}[]" if schema.get("type") == "array" else path
            _finish(definitions[definition], inner, known, definitions)
        setting = known.get(path)
        schema.pop("title", None)
        schema.pop("default", None)
        if setting is None:
            continue
        schema["title"] = path
        schema["description"] = _description(setting)
        if setting.default != "required" and _is_value(setting):
            schema["default"] = _value(setting.default, setting)
        if setting.example and not setting.example.startswith(("required", "none", "the ")):
            schema["examples"] = [_value(setting.example, setting)]
        if path.endswith("preset"):
            schema["examples"] = list(catalogue.names()["gpus" if path == "fabric.gpus.preset" else "switches"])
    required = [name for name in model.get("required", ()) if _must(f"{key}.{name}" if key else name, known)]
    model.pop("required", None)
    if required:
        model["required"] = required


def _must(path: str, known: dict[str, Setting]) -> bool:
    """Whether a setting must be written: no preset, rule or default gives it. Sections count when the models require them."""
    setting = known.get(path)
    return setting.required if setting is not None else not path.endswith("gpus.memory")


def _description(setting: Setting) -> str:
    parts = [setting.meaning]
    if setting.allowed:
        parts.append(f"Allowed: {setting.allowed}.")
    parts.append(f"Default: {setting.default}." if setting.default != "required" else "Required.")
    if setting.matters:
        parts.append(f"Matters: {setting.matters}.")
    if setting.source:
        parts.append(f"Source: {setting.source}.")
    return " ".join(parts)


def _is_value(setting: Setting) -> bool:
    """Whether the default is a value, not a rule in words."""
    words = setting.default.split()
    return len(words) == 1 and setting.default not in ("none",)


def _value(text: str, setting: Setting) -> Any:
    if setting.form == "whole number" and text.lstrip("-").isdecimal():
        return int(text)
    if setting.form == "number":
        return float(text)
    if setting.form.startswith("list of"):
        return [int(number) for number in text.strip("[]").split(",")]
    return [] if text == "[]" else text


def _reference(schema: dict[str, Any]) -> list[str]:
    """Return the names of the sections that a property leads to."""
    found = []
    for option in (schema, schema.get("items", {}), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if "$ref" in option:
            found.append(option["$ref"].rpartition("/")[2])
    return found


def _without_null(schema: dict[str, Any]) -> None:
    """Take 'null' out: a setting without a value is an error of ours."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if "anyOf" not in schema:
        return
    if len(options) == 1:
        del schema["anyOf"]
        schema.update({name: value for name, value in options[0].items() if name not in schema})
    else:
        schema["anyOf"] = options


def _rules(name: str, definition: dict[str, Any]) -> None:
    """Add what excludes or needs each other."""
    if name in _FROM_PRESET:
        then: dict[str, Any] = {"required": _FROM_PRESET[name]}
        if name == "Gpus":
            then["properties"] = {"memory": {"required": ["bandwidth", "capacity"]}}
        definition["if"] = {"not": {"required": ["preset"]}}
        definition["then"] = then
    if name in _EITHER:
        definition["oneOf"] = [{"required": [key]} for key in _EITHER[name]]
    if name in _INSTEAD:
        key, others = _INSTEAD[name]
        definition["dependentSchemas"] = {key: {"not": {"anyOf": [{"required": [other]} for other in others]}}}
    if name == "FaultEntry":
        definition["allOf"] = [{"oneOf": [{"required": [key]} for key in keys]} for keys in (FAULT_KINDS, PLACES)]
    if name == "Entry":
        definition["oneOf"] = [{"required": [kind]} for kind in KINDS]
