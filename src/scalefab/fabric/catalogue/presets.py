"""Reads the catalogue's tables. Values stay text with units, so that a scenario can show where each came from."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

from ...errors import InputError, Problem
from ...units import format_rate, parse_rate_bps


class PresetKind(Enum):
    """How far the figures of a row can be trusted."""

    GENERIC = "generic"  #: no product: a shape of the open profile
    PUBLIC = "public"  #: as published by the vendor
    REMEMBERED = "remembered"  #: as published, but no stored copy was at hand
    IDEAL = "ideal"  #: cannot be bought; isolates one effect


@dataclass(frozen=True, slots=True)
class GpuPreset:
    """One kind of endpoint.

    Attributes
    ----------
    name
        Its key in the catalogue.
    kind
        How far the figures can be trusted.
    ethernet
        Whether the product owns Ethernet ports; else its scale-up bandwidth is described as if it were EthLink ports.
    settings
        What the row itself says, keyed as ``fabric.gpus`` of a scenario: stacks, ports_per_stack, port_rate, memory (bandwidth,
        capacity); quantities are text with units. The rest is in `defaults`, but ``buffer``, which follows the port rate
        (`default_buffer`). A copy, free to change.
    source, note
        Where the figures come from; what the mapping to ports leaves out.
    """

    name: str
    kind: PresetKind
    ethernet: bool
    settings: dict[str, Any]
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class SwitchPreset:
    """One kind of switch; `switch_ports` says how many ports it has at a rate.

    Attributes
    ----------
    name, kind, source, note
        As in `GpuPreset`.
    capacity_bps
        Sum of the port rates, one direction, bits/s.
    max_ports
        Most ports that the chip can be split into.
    settings
        What the row itself says, keyed as ``fabric.switches`` of a scenario: latency, where one is known; else the one in
        `defaults` holds. A copy, free to change.
    """

    name: str
    kind: PresetKind
    capacity_bps: int
    max_ports: int
    settings: dict[str, Any]
    source: str
    note: str


@cache
def _table(file: str) -> dict[str, Any]:
    import yaml  # here, not above: `--help` needs no catalogue

    text = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    return table


def _row(file: str, name: str, what: str, key: str) -> dict[str, Any]:
    table = _table(file)
    if name not in table:
        near = get_close_matches(name.lower(), table, n=1, cutoff=0.5)
        known = ", ".join(table)
        raise InputError([Problem(f"no {what} '{name}' in the catalogue", f"one of {known}", near[0] if near else "", key=key)])
    return dict(deepcopy(table[name]))


def names() -> dict[str, tuple[str, ...]]:
    """Return all names in the catalogue, in its order, under ``gpus`` and ``switches``."""
    return {"gpus": tuple(_table("gpus.yaml")), "switches": tuple(_table("switches.yaml"))}


def gpu(name: str) -> GpuPreset:
    """Look up a kind of endpoint.

    Raises
    ------
    InputError
        Unknown name; carries the near miss and the key ``fabric.gpus.preset``.
    """
    row = _row("gpus.yaml", name, "GPU", "fabric.gpus.preset")
    kind, native, source, note = (row.pop(key) for key in ("kind", "native", "source", "note"))
    return GpuPreset(name, PresetKind(kind), native == "ethernet", row, source, note)


def switch(name: str) -> SwitchPreset:
    """Look up a kind of switch.

    Raises
    ------
    InputError
        Unknown name; carries the near miss and the key ``fabric.switches.preset``.
    """
    row = _row("switches.yaml", name, "switch", "fabric.switches.preset")
    kind, capacity, max_ports, source, note = (row.pop(key) for key in ("kind", "capacity", "max_ports", "source", "note"))
    return SwitchPreset(name, PresetKind(kind), parse_rate_bps(capacity), max_ports, row, source, note)


def switch_ports(preset: SwitchPreset | str, port_rate_bps: int) -> int:
    """Return how many ports of ``port_rate_bps`` a switch has: capacity / rate, at most ``max_ports``.

    Raises
    ------
    InputError
        Unknown name, or a rate that is not positive.
    """
    known = switch(preset) if isinstance(preset, str) else preset
    if port_rate_bps <= 0:
        raise InputError([Problem(f"a port of {port_rate_bps} b/s", "a positive rate", key="fabric.switches.port_rate")])
    return min(known.capacity_bps // port_rate_bps, known.max_ports)


def defaults() -> dict[str, Any]:
    """Return what holds when nobody says otherwise, keyed as ``fabric`` of a scenario; a copy, quantities are text with units.

    Holds ``gpus`` and ``switches`` (latencies), ``cables``, ``phy_tx`` and ``phy_rx`` (open profile section 7).
    """
    table = deepcopy(_table("defaults.yaml"))
    del table["buffers"]  # by rate: `default_buffer`
    return dict(table)


def default_buffer(port_rate_bps: int) -> str:
    """Return the receive buffer a VC and port for a port rate, as text with its unit (open profile section 2, own).

    Raises
    ------
    InputError
        No such port rate.
    """
    by_rate = {parse_rate_bps(rate): size for rate, size in _table("defaults.yaml")["buffers"].items()}
    if port_rate_bps not in by_rate:
        known = ", ".join(format_rate(rate) for rate in sorted(by_rate))
        raise InputError([Problem(f"no default buffer for ports of {format_rate(port_rate_bps)}", f"one of {known}")])
    return str(by_rate[port_rate_bps])
