"""``scalefab bench``: nccl-tests' table from simulation. Rows are printed as they come; Ctrl-C leaves those that are there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ExitCode, InputError, NoProgressError, Problem, RunInterrupted
from .output import complain, note, say, warn
from .progress import make_reporter

if TYPE_CHECKING:
    from ..scenario.fabricfile import FabricSetup
    from ..scenario.scenario import Scenario
    from ..simulator.result import Result
    from ..sweep.bench import Plan, Row


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command, as the user wrote them."""

    operation: str
    fabric: str
    begin: str
    end: str
    factor: int
    ranks: int
    datatype: str
    root: int
    algorithm: str


def bench(asked: Asked, overrides: Sequence[str], *, json_wanted: bool, quiet: bool) -> ExitCode:
    """Simulate the sweep and print it.

    Raises
    ------
    InputError
        With every fault of the options, or of the fabric.
    """
    from ..report.nccltable import footer, header, line

    setup, plan = _prepared(asked, overrides)
    for text in setup.warnings:
        warn(text)
    if plan.skipped:
        least, most = plan.skipped[0], plan.skipped[-1]
        note(f"left out: {least} .. {most} B share out to less than 16 B for each of {plan.ranks} ranks")
    if not json_wanted:
        say(header(setup, plan, asked.factor))
    rows: list[Row] = []
    code = _rows(setup, plan, rows, quiet=quiet, show=None if json_wanted else lambda row: say(line(plan, row)))
    say(json.dumps(_object(setup, plan, rows, code)) if json_wanted else footer(plan, rows))
    return code


def _prepared(asked: Asked, overrides: Sequence[str]) -> tuple[FabricSetup, Plan]:
    """Read options and fabric; the faults of all options are told at once."""
    from ..scenario.fabricfile import read_fabric
    from ..sweep import nccl
    from ..sweep.bench import make_plan

    problems: list[Problem] = []

    def checked(read: Any, *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except InputError as error:
            problems.extend(error.problems)
            return None

    operation = checked(nccl.read_operation, asked.operation)
    datatype = checked(nccl.read_datatype, asked.datatype)
    begin, end = checked(nccl.read_size, asked.begin, "-b"), checked(nccl.read_size, asked.end, "-e")
    sizes: tuple[int, ...] = (checked(nccl.sizes, begin, end, asked.factor) if begin and end else None) or ()
    setup = checked(read_fabric, asked.fabric, overrides)
    if problems:
        raise InputError(problems)
    plan = make_plan(setup, operation, sizes, ranks=asked.ranks, datatype=datatype, root=asked.root, algorithm=asked.algorithm)
    return setup, plan


def _rows(setup: FabricSetup, plan: Plan, rows: list[Row], *, quiet: bool, show: Any) -> ExitCode:
    """Add row after row to ``rows``; return what the process exits with."""
    from ..simulator.run import simulate
    from ..sweep.bench import run_rows

    def simulated(scenario: Scenario) -> Result:
        reporter = make_reporter(quiet)
        try:
            return simulate(scenario, progress=reporter)
        finally:
            if reporter is not None:
                reporter.close()

    try:
        for row in run_rows(setup, plan, simulated):
            rows.append(row)
            if show is not None:
                show(row)
    except (RunInterrupted, KeyboardInterrupt) as error:
        complain(f"{str(error) or 'interrupted'}; the rows before are valid")
        return ExitCode.INTERRUPTED
    except NoProgressError as error:
        complain(str(error))
        return ExitCode.NO_PROGRESS
    for row in rows:
        if row.wrong:
            complain(f"{row.size_bytes} B: {row.wrong} elements did not arrive exactly once")
    return ExitCode.FAILED if any(row.wrong for row in rows) else ExitCode.OK


def _object(setup: FabricSetup, plan: Plan, rows: list[Row], code: ExitCode) -> dict[str, Any]:
    from ..report.nccltable import flat_row, mean_busbw_GBps

    status = {ExitCode.OK: "done", ExitCode.INTERRUPTED: "partial", ExitCode.NO_PROGRESS: "no_progress"}
    return {
        "scalefab": __version__,
        "command": "bench",
        "status": status.get(code, "failed"),
        "operation": plan.operation.value,
        "fabric": setup.name,
        "fidelity": setup.options.fidelity.value,
        "ranks": plan.ranks,
        "skipped_bytes": list(plan.skipped),
        "mean_busbw_GBps": round(mean_busbw_GBps(rows), 6),
        "rows": [flat_row(plan, row, setup.options.fidelity) for row in rows],
    }
