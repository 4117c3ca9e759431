"""``scalefab explain``, ``schema`` and ``catalogue``: what a scenario file may say, without a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ExitCode
from .output import say

if TYPE_CHECKING:
    from ..scenario.settings import Section, Setting


def explain(key: str, *, json_wanted: bool, markdown: bool) -> ExitCode:
    """Print one setting, a section, or with an empty key a line for each setting.

    Raises
    ------
    InputError
        No such setting.
    """
    from ..scenario.explain import find
    from ..scenario.reference import reference
    from ..scenario.settings import all_settings

    if markdown:
        say(reference())
        return ExitCode.OK
    section, settings = find(key) if key else (None, all_settings())
    if json_wanted:
        say(json.dumps(_object("explain", [asdict(setting) for setting in settings])))
    elif section is None and len(settings) == 1:
        say(_one(settings[0]))
    else:
        say(_many(section, settings))
    return ExitCode.OK


def _object(command: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"scalefab": __version__, "command": command, "rows": rows}


def _one(setting: Setting) -> str:
    from ..scenario.explain import form_words, override

    facts = [
        ("form", form_words(setting)),
        ("default", setting.default),
        ("source", setting.source),
        ("matters", setting.matters),
    ]
    if setting.example not in ("", "required", "none"):
        changed = " ".join(f"--set {text}" for text in (*setting.needs, override(setting)))
        name = setting.key.rpartition(".")[2]
        facts += [("example", f"{name}: {setting.example}"), ("", f"scalefab check FILE {changed}")]
    lines = [setting.key, f"  {setting.meaning}", *(f"  {label:<8}  {text}" for label, text in facts if text)]
    return "\n".join(lines)


def _many(section: Section | None, settings: tuple[Setting, ...]) -> str:
    """Return one line a setting: key, default, meaning."""
    width = max((len(setting.key) for setting in settings), default=0)
    lines = [f"{section.key}: {section.meaning}"] if section is not None else []
    lines += [f"{setting.key:<{width}}  {setting.meaning} [{setting.default}]" for setting in settings]
    return "\n".join(lines)


def schema() -> ExitCode:
    """Print the JSON schema of scenario files."""
    from ..scenario.schema import scenario_schema

    say(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
    return ExitCode.OK


def catalogue(*, json_wanted: bool) -> ExitCode:
    """Print presets of GPUs and switches with their sources, and the built-in fabrics."""
    rows = _presets()
    say(json.dumps(_object("catalogue", rows)) if json_wanted else _catalogue_words(rows))
    return ExitCode.OK


def _presets() -> list[dict[str, Any]]:
    from ..fabric import catalogue as presets
    from ..scenario.fabricfile import builtin_fabrics

    rows: list[dict[str, Any]] = []
    for name in presets.names()["gpus"]:
        gpu = presets.gpu(name)
        rows.append({"what": "gpu", **asdict(gpu), "kind": gpu.kind.value})
    for name in presets.names()["switches"]:
        switch = presets.switch(name)
        rows.append({"what": "switch", **asdict(switch), "kind": switch.kind.value})
    for name, text in builtin_fabrics().items():
        rows.append({"what": "fabric", "name": name, "note": text.splitlines()[0].lstrip("# "), "text": text})
    return rows


_TITLES = {
    "gpu": "GPUs (fabric.gpus.preset)",
    "switch": "Switches (fabric.switches.preset)",
    "fabric": "Fabrics (scalefab bench OP --on NAME)",
}


def _catalogue_words(rows: list[dict[str, Any]]) -> str:
    lines: list[str] = []
    for what, title in _TITLES.items():
        lines += ["", title] if lines else [title]
        for row in rows:
            if row["what"] == what:
                lines.append(f"  {row['name']:<20}  {_figures(row)}")
                lines += [f"  {'':<20}  {label}: {row[label]}" for label in ("source", "note") if what != "fabric" and row[label]]
    return "\n".join(lines)


def _figures(row: dict[str, Any]) -> str:
    from ..units import format_rate

    if row["what"] == "fabric":
        return str(row["note"])
    if row["what"] == "switch":
        return f"{format_rate(row['capacity_bps'])}, at most {row['max_ports']} ports ({row['kind']})"
    settings = row["settings"]
    ports = settings["stacks"] * settings["ports_per_stack"]
    memory = settings["memory"]
    native = "" if row["ethernet"] else ", as if its links were Ethernet"
    return f"{ports} x {settings['port_rate']}, memory {memory['bandwidth']}, {memory['capacity']} ({row['kind']}{native})"
