"""Ctrl-C before there is a result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import RunInterrupted


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn Ctrl-C into our own error before Typer makes another exit code of it."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted("interrupted before there was a result") from None
