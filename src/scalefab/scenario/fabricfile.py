"""A fabric without a workload: the ``fabric`` and ``run`` sections of a scenario file, or one of the built-in fabrics by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..errors import InputError, Problem
from ..fabric.arrays import Fabric
from ..fabric.build import build_fabric
from ..fabric.faultspec import Fault
from ..fabric.spec import FabricSpec
from ..fabric.wiring import advice
from ..workload.build import build_graph
from ..workload.spec import WorkloadSpec
from .assemble import fabric_spec, run_options
from .document import read_document
from .entries import Model
from .faultlist import fault_table, outage_advice
from .faultmodels import FaultEntry
from .models import FabricSection, RunSection
from .overrides import apply_overrides
from .paths import near_miss, parse_dotted, printable
from .problems import located
from .quantities import Name
from .read import check_data, check_version, read_text
from .resolved import origins
from .scenario import Origin, RunOptions, Scenario

FABRICS = "fabrics"
"""Folder of the built-in fabrics, beside this file."""


class FabricFile(Model):
    """A supernode: a scenario without its workload."""

    scalefab: Literal[1] = Field(description="Version of this layout.")
    name: Name = Field(description="Name of the fabric; default: the file's name.")
    fabric: FabricSection = Field(description="The network.")
    faults: list[FaultEntry] | None = Field(
        None, min_length=1, max_length=1000, description="What goes wrong on links, and when; default: nothing."
    )
    run: RunSection = Field(default_factory=lambda: RunSection(), description="Options of the run.")


@dataclass(frozen=True, slots=True, eq=False)
class FabricSetup:
    """A network that is ready for workloads, and how runs on it are carried out.

    ``resolved`` and ``origins`` as in `Scenario`, without a workload.
    """

    name: str
    path: str
    text: str
    spec: FabricSpec
    fabric: Fabric
    options: RunOptions
    resolved: dict[str, Any]
    origins: dict[str, Origin]
    warnings: tuple[str, ...]
    faults: tuple[Fault, ...] = ()

    def scenario(self, workload: WorkloadSpec) -> Scenario:
        """Return the run of a workload on this network; nothing of the network is built again.

        Raises
        ------
        InputError
            The workload does not suit the network.
        """
        return Scenario(
            name=self.name,
            path=self.path,
            text=self.text,
            fabric_spec=self.spec,
            fabric=self.fabric,
            workload=workload,
            graph=build_graph(workload, self.spec.endpoints.count, self.spec.mtu),
            options=self.options,
            resolved=self.resolved,
            origins=self.origins,
            warnings=self.warnings,
            faults=self.faults,
        )


def builtin_fabrics() -> dict[str, str]:
    """Return the text of every built-in fabric by name."""
    folder = resources.files(__package__).joinpath(FABRICS)
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".yaml")), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".yaml"): entry.read_text(encoding="utf-8") for entry in files}


def read_fabric(where: str, overrides: Sequence[str] = ()) -> FabricSetup:
    """Read a fabric.

    Parameters
    ----------
    where
        A scenario file (its workload is not looked at, nor is ``run.until``), or the name of a built-in fabric: ``ethx64``.
    overrides
        Settings of ``fabric`` and ``run`` to change, each ``key=value``.

    Raises
    ------
    InputError, InfeasibleError
        As `read_scenario`.
    """
    text = _text(where)
    document, problems = apply_overrides(read_document(text, where), overrides)
    problems += [problem for override in overrides for problem in _unread(override)]
    check_version(document)
    document.data.pop("workload", None)
    checked, filled = check_data(FabricFile, document, where, problems)
    spec = fabric_spec(checked.fabric, filled.sources)
    try:
        fabric = build_fabric(spec)
        faults = fault_table(checked.faults or (), fabric, seed=checked.run.seed)
    except InputError as error:
        raise type(error)([located(problem, document.marks) for problem in error.problems]) from None
    resolved = dict(checked.model_dump(mode="json", exclude_none=True))
    return FabricSetup(
        name=checked.name,
        path=where,
        text=text,
        spec=spec,
        fabric=fabric,
        options=replace(run_options(checked.run), until_ps=0),
        resolved=resolved,
        origins=origins(resolved, document.data, document.marks, filled.origins),
        warnings=(*advice(spec), *outage_advice(checked.faults or (), spec)),
        faults=faults,
    )


def _text(where: str) -> str:
    """Return the text of a file; where there is none of that name, of a built-in fabric."""
    try:
        is_file = Path(where).is_file()
    except (OSError, ValueError):
        is_file = False
    known = builtin_fabrics()
    if not is_file and where in known:
        return known[where]
    try:
        return read_text(where)
    except InputError as error:
        if Path(where).suffix or Path(where).parent != Path():
            raise
        near = near_miss(where, known) or error.problems[0].near
        expected = "a scenario file, or one of " + ", ".join(known)
        raise InputError([Problem(f"'{printable(where)}' is no fabric", expected, near)]) from None


def _unread(override: str) -> list[Problem]:
    path = parse_dotted(override.partition("=")[0]) or ()
    file = f"--set {printable(override, 80)}"
    if path[:1] == ("workload",):
        return [Problem("is read by nothing, the workload of the file is not run", "a setting of fabric or run", file=file)]
    if path == ("run", "until"):
        return [Problem("is read by nothing, every row runs until it is done", "no run.until", file=file)]
    return []
