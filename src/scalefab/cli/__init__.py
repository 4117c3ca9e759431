"""The command line: parse, call, print. `main` is the entry point; everything else loads when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    Parameters
    ----------
    argv
        Arguments without the program; None = those of the process.
    """
    from .app import run_app

    sys.exit(int(run_app(sys.argv[1:] if argv is None else argv)))
