"""What goes to stdout and stderr. A reader that has gone away (a closed pipe) ends the printing, never the run."""

from __future__ import annotations

import os
import sys


def say(text: str) -> None:
    """Print a piece of the result to stdout."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _close_quietly()


def flush() -> None:
    """Send what is left to stdout."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _close_quietly()


def _close_quietly() -> None:
    """Point stdout at nothing: Python would complain about the pipe once more when it exits."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def complain(text: str, *, located: bool = False) -> None:
    """Print one error to stderr, in one line; ``located`` ones begin with file and line, as compilers print them."""
    note(text if located else f"scalefab: {text}")


def warn(text: str) -> None:
    """Print one warning to stderr, in one line."""
    note(f"scalefab: warning: {text}")


def note(text: str) -> None:
    """Print one line to stderr, whatever characters came from a file."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(text.splitlines()))
    encoding = sys.stderr.encoding or "utf-8"
    print(line.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)
