"""``scalefab artefacts``: write what is generated from the profile's tables."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from ..errors import ExitCode, InputError, Problem
from .output import note, say


def write_artefacts(target: str) -> ExitCode:
    """Print one artefact, or write all of them into a folder.

    Parameters
    ----------
    target
        Name of an artefact, or a folder, made if it is not there.

    Raises
    ------
    InputError
        The folder cannot be made or written, or the target looks like a mistyped name.
    """
    from ..artefacts.files import artefacts

    files = artefacts()
    for artefact in files:
        if artefact.name == target:
            say(artefact.make())
            return ExitCode.OK
    folder = Path(target)
    names = [artefact.name for artefact in files]
    near = get_close_matches(target, names, 1, 0.5)
    if near and not folder.exists() and folder.parent == Path() and not target.endswith("/"):
        expected = f"one of {', '.join(names)}, or a folder such as ./{target}/"
        raise InputError([Problem(f"'{target}' is no artefact", expected, near[0], key="TARGET")])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for artefact in files:
            path = folder / artefact.file
            path.write_text(artefact.make(), encoding="utf-8")
            note(f"wrote {path}")
    except OSError as error:
        raise InputError(
            [Problem(f"cannot be written: {error.strerror}", "a folder", file=str(error.filename or folder))]
        ) from error
    return ExitCode.OK
