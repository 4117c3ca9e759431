"""Which of the kernel's two forms a scenario will probably run in (`variant`). No Numba here."""

from __future__ import annotations

from enum import Enum

from ..fabric.linkspec import Sen, VcMap
from ..scenario.scenario import Scenario, Verify


class Variant(Enum):
    """Which form."""

    LEAN = "lean"
    FULL = "full"


def guess(scenario: Scenario) -> Variant:
    """Return the form that a scenario will probably run in, before its state is made: to begin compiling early."""
    spec = scenario.fabric_spec
    plain = not scenario.faults and spec.ber == 0 and scenario.options.verify is Verify.OFF
    plain = plain and spec.link.sen is not Sen.LOAD and spec.link.vc_map is not VcMap.ONE
    return Variant.LEAN if plain else Variant.FULL
