"""What a report says of the scenario that ran: its name, text and settings. A scenario just read, or one of a run folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class OriginOfValue(Protocol):
    """Where the value of a setting came from; see `scenario.Origin`."""

    @property
    def kind(self) -> str:
        """``file``, ``set``, ``preset`` or ``default``."""

    @property
    def where(self) -> str:
        """File and line, option, or name."""


class Subject(Protocol):
    """What ran, as far as a report tells it; `scenario.Scenario` is one."""

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def path(self) -> str:
        """File that was read."""

    @property
    def text(self) -> str:
        """That file, as it was."""

    @property
    def resolved(self) -> Mapping[str, Any]:
        """Every setting, units in text."""

    @property
    def origins(self) -> Mapping[str, OriginOfValue]:
        """Where each came from, by dotted key."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of the file said about it."""


@dataclass(frozen=True, slots=True)
class SubjectOrigin:
    """An origin out of a manifest."""

    kind: str
    where: str


@dataclass(frozen=True, slots=True, eq=False)
class StoredSubject:
    """A subject out of a run folder."""

    name: str
    path: str
    text: str
    resolved: dict[str, Any]
    origins: dict[str, SubjectOrigin]
    warnings: tuple[str, ...]
