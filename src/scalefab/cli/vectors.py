"""``scalefab vectors``: golden vectors into a new folder."""

from __future__ import annotations

import json
from pathlib import Path

from .. import __version__
from ..errors import ExitCode, InputError, Problem
from .output import say


def write_vectors(folder: Path, *, json_wanted: bool) -> ExitCode:
    """Write all files.

    Raises
    ------
    InputError
        The folder holds something, is none, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError([Problem("is not empty; nothing was written", "a new or empty folder", file=str(folder))])
        from ..artefacts.vector_files import vector_files

        files = vector_files()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        problem = Problem(f"cannot be written: {error.strerror}", "a new or empty folder", file=str(error.filename or folder))
        raise InputError([problem]) from error
    facts = json.loads(files["index.json"])["files"]
    vectors = {fact["file"][:-5]: fact["vectors"] for fact in facts if "vectors" in fact}
    if json_wanted:
        rows = [{"set": name, "vectors": count} for name, count in vectors.items()]
        say(json.dumps({"scalefab": __version__, "command": "vectors", "folder": str(folder), "rows": rows}))
    else:
        said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in vectors.items())
        say(f"{folder}: {len(files)} files; vectors: {said}; README.md tells how to read them")
    return ExitCode.OK
