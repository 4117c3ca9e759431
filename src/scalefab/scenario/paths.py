"""Where a setting stands: paths such as ``workload[0].moe.ranks`` as tuples, and the mark (file and line) of each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

KeyPath = tuple[str | int, ...]

_PART = re.compile(r"([^.\[\]]+)((?:\[[0-9]{1,6}\])*)")


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value was written: ``file`` and ``line`` (from 1), or an override (``file`` = ``--set a.b=3``, ``line`` = 0)."""

    file: str
    line: int

    @property
    def is_override(self) -> bool:
        """Whether an override wrote the value."""
        return self.line == 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


Marks = dict[KeyPath, Mark]


def printable(text: str, limit: int = 40) -> str:
    """Return a text of the user's on one line: control characters escaped, the end left out when it is long."""
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= limit else text[: limit - 3] + "..."


def dotted(path: KeyPath) -> str:
    """Return a path as people write it: ``("workload", 0, "moe")`` is ``workload[0].moe``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + printable(part)
    return text


def parse_dotted(text: str) -> KeyPath | None:
    """Read a path as people write it; list positions may be ``workload[0].x`` or ``workload.0.x``. None = not a path."""
    path: list[str | int] = []
    for piece in text.split("."):
        match = _PART.fullmatch(piece.strip())
        if match is None:
            return None
        name = match.group(1).strip()
        path.append(int(name) if name.isdecimal() and name.isascii() and len(name) <= 6 else name)
        path.extend(int(index) for index in re.findall(r"[0-9]+", match.group(2)))
    return tuple(path)


def mark_of(path: KeyPath, marks: Mapping[KeyPath, Mark]) -> Mark | None:
    """Return the mark of a path, or of the nearest thing around it that was written somewhere."""
    for length in range(len(path), -1, -1):
        mark = marks.get(path[:length])
        if mark is not None:
            return mark
    return None


def near_miss(word: object, allowed: Iterable[str]) -> str:
    """Return the allowed word that ``word`` was probably meant to be, "" when none looks like it."""
    if not isinstance(word, str) or not word or len(word) > 64:
        return ""
    choices = sorted(set(allowed))
    folded = {choice.lower().replace("-", "_"): choice for choice in choices}
    wanted = word.lower().replace("-", "_").replace(" ", "_")
    if wanted in folded:
        return folded[wanted]
    close = difflib.get_close_matches(wanted, list(folded), n=1, cutoff=0.6)
    if close:
        return folded[close[0]]
    longer = [choice for key, choice in folded.items() if len(wanted) >= 3 and (key.startswith(wanted) or wanted.startswith(key))]
    return longer[0] if longer else ""


def near_file(path: Path, suffixes: Collection[str]) -> str:
    """Return the file beside ``path`` that was probably meant, "" when none looks like it; endings count for nothing."""
    try:
        there = {entry.stem: entry.name for entry in path.parent.iterdir() if entry.suffix in suffixes and entry.is_file()}
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return ""
    near = near_miss(path.stem, there)
    return there[near] if near else ""
