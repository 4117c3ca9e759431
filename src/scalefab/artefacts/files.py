"""All artefacts by the name that the command line gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Artefact:
    """One generated file: its short name, its file name, and what makes its text."""

    name: str
    file: str
    make: Callable[[], str]


def artefacts() -> tuple[Artefact, ...]:
    """Return every generated file."""
    from .c_header import c_header
    from .lua import lua_dissector
    from .systemverilog import systemverilog_package
    from .wire_format import wire_format

    return (
        Artefact("lua", "scalefab.lua", lua_dissector),
        Artefact("c", "scalefab.h", c_header),
        Artefact("sv", "scalefab_pkg.sv", systemverilog_package),
        Artefact("docs", "wire-format.md", wire_format),
    )
