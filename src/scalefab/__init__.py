"""scalefab: EthLink and ETH-X, open and runnable. A supernode file and a workload go in, a verdict with its evidence comes out.

Everything is loaded when it is first used, so that ``import scalefab`` and ``scalefab --help`` cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors
    from .scenario import Scenario, read_scenario
    from .simulator.result import Result
    from .simulator.run import simulate

__version__ = "0.1.0"

__all__ = ["Result", "Scenario", "__version__", "errors", "read_scenario", "simulate"]

_HOMES = {
    "Result": ".simulator.result",
    "Scenario": ".scenario.scenario",
    "read_scenario": ".scenario.read",
    "simulate": ".simulator.run",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module(".errors", __name__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home, __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
