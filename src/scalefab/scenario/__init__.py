"""The user's file -> fabric, workload and run options, with file and line for every fault in it. Loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .read import parse_scenario, read_scenario
    from .scenario import Origin, RunOptions, Scenario

__all__ = ["Origin", "RunOptions", "Scenario", "parse_scenario", "read_scenario"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "read" if name in ("parse_scenario", "read_scenario") else "scenario"
    return getattr(import_module(f".{module}", __name__), name)
