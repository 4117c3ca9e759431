"""Running a hypothesis machine, and counting how much it tried."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


class CountedMachine(RuleBasedStateMachine):
    """A machine that counts in ``seen``."""

    seen: ClassVar[Counter[str]] = Counter()  # of all runs of a test


def run_machine(machine: type[CountedMachine], **limits: Any) -> Counter[str]:
    """Run a machine with a count of its own; return what it saw."""
    counted = type(machine.__name__, (machine,), {"seen": Counter()})
    rules = settings(deadline=None, suppress_health_check=list(HealthCheck), **limits)
    run_state_machine_as_test(counted, settings=rules)
    seen: Counter[str] = counted.seen
    return seen
