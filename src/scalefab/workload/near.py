"""The near miss of an unknown name, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return the known name that looks most like ``name``, "" when none does."""
    found = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else ""
