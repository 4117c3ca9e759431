"""Two forms of the compiled loop: one for every run, and a lean one for runs in which nothing is lost, changed or checked.

The lean form has the settings of `FIXED` as constants in its code (`compiled.fixed`). It compiles in half the time, because what
they rule out is not looked at, and W1 runs 13 % faster in it; the same picoseconds and counters come out (docs/decisions/0024).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiled import bundle, is_cached, is_compiled
from .guess import Variant
from .kernel import run_kernel, run_lean
from .records import State

FIXED = tuple(
    (name, 0)
    for name in (
        *("raw", "rh", "paths", "load", "queues", "one_vc", "lossy", "careful", "mixed", "pfc", "drained"),
        *("verify", "values", "ordered", "tags", "eventful", "disturbed"),
    )
)
"""(field of `records.KERNEL`, value) of the lean form."""


def variant_of(state: State) -> Variant:
    """Return the form that a state runs in."""
    k = state.kernel[0]
    return Variant.LEAN if all(int(k[name]) == value for name, value in FIXED) else Variant.FULL


def entry_of(variant: Variant) -> Callable[..., tuple[int, int, int]]:
    """Return the entry of a form."""
    return run_lean if variant is Variant.LEAN else run_kernel


def pack(state: State, variant: Variant) -> Any:
    """Return what the entry of a form takes. Raises ValueError if the state does not suit it."""
    return bundle(state, FIXED if variant is Variant.LEAN else ())


def is_ready(variant: Variant) -> bool:
    """Whether a form is in this process or on disk."""
    entry = entry_of(variant)
    return is_compiled(entry) or is_cached(entry)
