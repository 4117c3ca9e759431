"""What the user left out: values of presets, values that follow from others, the defaults of the catalogue. All as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ..errors import InputError, Problem
from ..fabric import catalogue
from ..fabric.tiers import derive, most_uplink_paths
from ..fabric.timing import PORT_RATES_BPS
from ..units import parse_rate_bps
from .paths import KeyPath, Marks, near_miss
from .problems import problem_at, shown
from .scenario import Origin

_WITH_RANKS = ("moe", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "permutation", "incast")


@dataclass(slots=True)
class Completed:
    """The file's data with everything filled in, and where what was filled in came from.

    ``silent`` holds settings that could not be filled in because another setting is at fault.
    """

    data: dict[str, Any]
    origins: dict[KeyPath, Origin] = field(default_factory=dict)
    silent: set[KeyPath] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)


def complete(data: Mapping[str, Any], marks: Marks, file: str) -> Completed:
    """Fill in a file's data (a copy of it is changed)."""
    result = Completed(_copied(data))
    if "name" not in result.data:
        _put(result, ("name",), _name_of(file), Origin("default", "the file's name"))
    fabric = result.data.get("fabric")
    if isinstance(fabric, dict):
        gpus = _section(result, "gpus", "gpus", marks)
        switches = _section(result, "switches", "switches", marks)
        if gpus is not None:
            _buffer(result, gpus, "gpus")
        if switches is not None:
            _switch_ports(result, "switches", switches, "gpus", gpus)
            _buffer(result, switches, "switches")
        _links(result, fabric)
        if isinstance(fabric.get("spine"), dict):
            _spine(result, gpus, switches, marks)
    _workload(result)
    return result


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _name_of(file: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(file).stem).strip("-._")[:64]
    return stem or "scenario"


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _put(result: Completed, path: KeyPath, value: Any, origin: Origin) -> None:
    _at(result.data, path[:-1])[path[-1]] = value
    result.origins[path] = origin


def _layer(result: Completed, path: KeyPath, below: Mapping[str, Any], origin: Origin) -> None:
    """Put values under those that are there already."""
    here = _at(result.data, path)
    for key, value in below.items():
        if isinstance(value, Mapping):
            if key not in here:
                here[key] = {}
            if isinstance(here[key], dict):
                _layer(result, (*path, key), value, origin)
        elif key not in here:
            _put(result, (*path, key), value, origin)


def _section(result: Completed, what: str, rows: str, marks: Marks) -> dict[str, Any] | None:
    """Fill ``fabric.gpus``, ``switches`` or ``spine`` from its preset, one of ``rows``, and from the defaults."""
    path: KeyPath = ("fabric", what)
    section = result.data["fabric"].get(what)
    if not isinstance(section, dict):
        return None
    name = section.get("preset")
    known = catalogue.names()[rows]
    if isinstance(name, str) and name in known:
        preset = catalogue.gpu(name) if rows == "gpus" else catalogue.switch(name)
        result.sources[what] = preset.source
        _layer(result, path, preset.settings, Origin("preset", f"{name} ({preset.source})"))
    elif isinstance(name, str):
        near = _near_preset(name, known)
        expected = "one of " + ", ".join(known) if not near else f"a name of the catalogue ({len(known)} there)"
        result.problems.append(problem_at((*path, "preset"), marks, f"{shown(name)} is no preset", expected, near))
        from_preset = ("stacks", "ports_per_stack", "port_rate", "memory", "ports", "buffer")
        result.silent |= {(*path, key) for key in from_preset} | {(*path, "memory", key) for key in ("bandwidth", "capacity")}
    _layer(result, path, catalogue.defaults()[rows], Origin("default", "open profile, section 7"))
    return section


def _near_preset(name: str, known: tuple[str, ...]) -> str:
    """Names share long beginnings, so a wrong one is compared without them too: ``switch-51.2`` is ``ethx-switch-51.2t``."""
    near = near_miss(name, known)
    inside = [preset for preset in known if name.lower() in preset]
    return inside[0] if inside and len(name) >= 4 else near


def _rate(section: Mapping[str, Any]) -> int | None:
    try:
        return parse_rate_bps(section.get("port_rate"))
    except InputError:
        return None
    except ValueError:  # UnitError: told where the setting is checked
        return None


def _buffer(result: Completed, section: dict[str, Any], what: str) -> None:
    path: KeyPath = ("fabric", what, "buffer")
    if "buffer" in section:
        return
    rate = _rate(section)
    try:
        buffer = catalogue.default_buffer(rate) if rate is not None else None
    except InputError:  # a rate that no port has: told where the rate is checked
        buffer = None
    if buffer is None:
        result.silent.add(path)
    else:
        _put(result, path, buffer, Origin("default", "by port rate, open profile, section 2"))


def _switch_ports(
    result: Completed, what: str, section: dict[str, Any], follows: str, followed: Mapping[str, Any] | None
) -> None:
    """Fill in port rate and ports of ``fabric.switches`` or ``spine``; its rate is that of the section it is cabled to."""
    path: KeyPath = ("fabric", what)
    if "port_rate" not in section:
        if followed is not None and "port_rate" in followed and _rate(followed) in PORT_RATES_BPS:  # else it is told there
            _put(result, (*path, "port_rate"), followed["port_rate"], Origin("default", f"follows fabric.{follows}.port_rate"))
        else:
            result.silent.add((*path, "port_rate"))
    name, rate = section.get("preset"), _rate(section)
    if "ports" in section or not isinstance(name, str) or name not in catalogue.names()["switches"]:
        return
    if rate is None or rate <= 0:
        result.silent.add((*path, "ports"))
        return
    origin = Origin("preset", f"{name} at {section['port_rate']} a port ({result.sources[what]})")
    _put(result, (*path, "ports"), catalogue.switch_ports(name, rate), origin)


def _spine(result: Completed, gpus: Mapping[str, Any] | None, switches: dict[str, Any] | None, marks: Marks) -> None:
    """Fill in the second tier: the spine itself, its cables, and how many of what make a plane."""
    path: KeyPath = ("fabric", "spine")
    fabric = result.data["fabric"]
    spine = fabric["spine"]
    if switches is not None and "preset" not in spine and "ports" not in spine:
        if switches.get("preset") in catalogue.names()["switches"]:
            _put(result, (*path, "preset"), switches["preset"], Origin("default", "follows fabric.switches.preset"))
        elif "preset" in switches:
            result.silent |= {(*path, key) for key in ("ports", "latency", "buffer")}
        elif "ports" in switches:
            _put(result, (*path, "ports"), switches["ports"], Origin("default", "follows fabric.switches.ports"))
        else:
            result.silent.add((*path, "ports"))
    _section(result, "spine", "switches", marks)
    _switch_ports(result, "spine", spine, "switches", switches)
    _buffer(result, spine, "spine")
    cables, others = spine.setdefault("cables", {}), fabric.get("cables")
    if isinstance(cables, dict) and "delay" not in cables and isinstance(others, dict):
        own = bool(cables)
        for key in ("length", "medium") if own or "delay" not in others else ("delay",):
            if key in others and key not in cables:
                _put(result, (*path, "cables", key), others[key], Origin("default", f"follows fabric.cables.{key}"))
    _plane(result, gpus, switches, spine)


def _plane(result: Completed, gpus: Mapping[str, Any] | None, switches: dict[str, Any] | None, spine: Mapping[str, Any]) -> None:
    """Fill in leaves, uplinks and spines: the smallest non-blocking plane that what is stated allows."""
    stated = {"leaves": (switches or {}).get("leaves"), "uplinks": (switches or {}).get("uplinks"), "spines": spine.get("count")}
    needed = [(gpus or {}).get(key) for key in ("count", "stacks", "ports_per_stack")]
    needed += [(switches or {}).get(key) for key in ("planes", "ports")] + [spine.get("ports")]
    whole = [value for value in (*needed, *(v for v in stated.values() if v is not None)) if _whole(value, 1, 4096)]
    if switches is None or len(whole) != len(needed) + sum(value is not None for value in stated.values()):
        result.silent.add(("fabric", "spine", "count"))  # what it follows from is at fault, told there
        return
    count, stacks, of_stack, planes, leaf_ports, spine_ports = whole[: len(needed)]
    plane = derive(count, -(-stacks * of_stack // planes), leaf_ports, spine_ports, **stated)
    rule = "smallest non-blocking plane" if stated["uplinks"] is None else "smallest plane with these uplinks"
    for path, value in (
        (("fabric", "switches", "leaves"), plane.leaves),
        (("fabric", "switches", "uplinks"), plane.uplinks),
        (("fabric", "spine", "count"), plane.spines),
    ):
        if path[-1] not in _at(result.data, path[:-1]):
            _put(result, path, value, Origin("default", rule))
    if "uplink_paths" not in switches:
        origin = Origin("default", "follows fabric.switches.uplinks, at most 16")
        _put(result, ("fabric", "switches", "uplink_paths"), most_uplink_paths(plane.uplinks), origin)


def _links(result: Completed, fabric: dict[str, Any]) -> None:
    cables = fabric.setdefault("cables", {})
    if not isinstance(cables, dict) or "delay" in cables:
        return
    defaults = catalogue.defaults()
    origin = Origin("default", "open profile, section 7")
    _layer(result, ("fabric", "cables"), defaults["cables"], origin)
    _layer(result, ("fabric",), {key: defaults[key] for key in ("phy_tx", "phy_rx")}, origin)


def _workload(result: Completed) -> None:
    """Fill in who takes part and the seed of the routing."""
    entries, run = result.data.get("workload"), result.data.get("run", {})
    if not isinstance(entries, list):
        return
    fabric = result.data.get("fabric")
    gpus = fabric.get("gpus") if isinstance(fabric, dict) else None
    count = gpus.get("count") if isinstance(gpus, dict) else None
    seed = run.get("seed", 1) if isinstance(run, dict) else None
    for index, entry in enumerate(entries):
        for kind in _WITH_RANKS if isinstance(entry, dict) else ():
            task = entry.get(kind)
            if not isinstance(task, dict):
                continue
            path: KeyPath = ("workload", index, kind)
            if "ranks" not in task and _whole(count, 2, 1024):
                _put(result, (*path, "ranks"), count, Origin("default", "follows fabric.gpus.count"))
            if kind == "moe" and "seed" not in task and _whole(seed, 0, 2**31 - 1):
                _put(result, (*path, "seed"), seed, Origin("default", "follows run.seed"))


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
