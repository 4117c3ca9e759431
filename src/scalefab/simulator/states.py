"""The kernel's arrays for a scenario, or why this machine cannot hold them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..errors import InputError
from ..scenario.scenario import Scenario
from .linksetup import make_links
from .records import State
from .setup import Kept, make_ports, make_state


def state_of(scenario: Scenario, horizon_ps: int, kept: Kept = Kept.WHERE_LOST) -> State:
    """Build the arrays of a scenario.

    Parameters
    ----------
    scenario
        What is simulated.
    horizon_ps
        Expected length of the run; load is kept in parts of it.
    kept
        Whether RH keeps copies of frames.

    Raises
    ------
    InputError, InfeasibleError
        An operation is too long to be counted; the arrays do not fit in the memory of this machine. The file is named.
    """
    with _in_file(scenario.path):
        return make_state(scenario.graph, scenario.fabric, scenario.options, max(horizon_ps, 1), scenario.faults, None, kept)


def check_room(scenario: Scenario) -> None:
    """Raise InfeasibleError as `state_of` does where what is on its way on links does not fit in memory; nothing is kept."""
    fabric, spec = scenario.fabric, scenario.fabric.spec
    links = (spec.link,) * fabric.ports
    with _in_file(scenario.path):
        make_links(fabric, make_ports(fabric), links, scenario.faults, scenario.options.seed, spec.frame_max)


@contextmanager
def _in_file(path: str) -> Iterator[None]:
    """Name the scenario's file in what is wrong with it."""
    try:
        yield
    except InputError as error:
        raise type(error)([replace(problem, file=path) for problem in error.problems]) from None
