"""The journal of a sweep: one JSON object a line, appended at one stroke and synced, so that it survives whatever ends a sweep.

========== ========================================================================================================
``event``  what it says
========== ========================================================================================================
``start``  a sweep begins or goes on: version, scenario, how many points are asked for and how many are there already
``point``  a point has its row, for good: ``key``, settings, figures or an error, who ran it and when
========== ========================================================================================================

A point's key is the hash of its resolved scenario and of this version, so a sweep that goes on runs what is missing and nothing
else, whatever order or grid it is asked for in. A last line that a crash cut short is taken off (and its point run again).
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from ..errors import InputError, Problem

JOURNAL_FILE = "journal.jsonl"
Row = dict[str, Any]


class Journal:
    """The journal of one folder, open for appending; only one process may hold it.

    Parameters
    ----------
    folder
        Made when it is not there.

    Raises
    ------
    InputError
        Another sweep holds it, or what lies there is no journal.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL_FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError([Problem(f"'{self.path}' cannot be written: {error.strerror}", "a folder", key="--out")]) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise InputError([Problem(f"another sweep writes to '{folder}'", "a folder of its own", key="--out")]) from None
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:  # cut short by a crash
            os.ftruncate(self._file, len(whole))
        self.rows = self._read(whole)

    def _read(self, text: bytes) -> dict[str, Row]:
        rows: dict[str, Row] = {}
        for number, line in enumerate(text.splitlines(), 1):
            try:
                entry = json.loads(line)
                if entry["event"] == "point":
                    rows[entry["key"]] = entry
            except (ValueError, KeyError, TypeError):
                self.close()
                message = "is not a line of a sweep's journal"
                raise InputError([Problem(message, "a folder of 'scalefab sweep'", file=str(self.path), line=number)]) from None
        return rows

    def start(self, **facts: Any) -> None:
        """Write that a sweep begins or goes on."""
        self._append({"event": "start", **facts})

    def add(self, row: Row) -> None:
        """Write a point's row; it is on disk when this returns.

        Raises
        ------
        ValueError
            The point has a row already: it was run twice.
        """
        if row["key"] in self.rows:
            raise ValueError(f"point {row['number']} has a row in {self.path} already")
        self._append({"event": "point", **row})
        self.rows[row["key"]] = {"event": "point", **row}

    def _append(self, entry: Row) -> None:
        text = json.dumps(entry, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
        os.write(self._file, text)
        os.fsync(self._file)

    def close(self) -> None:
        """Let others have it."""
        os.close(self._file)
