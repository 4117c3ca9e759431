"""The table of nccl-tests, out-of-place half, and columns of our own after it: bound, share of the bound, algorithm.

Column widths, heads and the way figures are shortened are nccl-tests', so that what reads its tables reads these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import __version__
from ..scenario.fabricfile import FabricSetup
from ..scenario.fidelity import FLOW_LEAVES_OUT, Fidelity
from ..sweep.bench import Plan, Row
from ..sweep.nccl import printed_root, redop
from ..units import format_rate


def header(setup: FabricSetup, plan: Plan, factor: int) -> str:
    """Return the lines above the rows."""
    gpus = setup.spec.endpoints
    name, planes = plan.operation.value, setup.spec.switches.planes
    ports = f"{gpus.ports} x {format_rate(gpus.port_rate_bps)} a GPU, {planes} switch plane{'s' if planes > 1 else ''}"
    lines = [
        f"# scalefab {__version__}, in the form of nccl-tests; simulated, no GPU took part",
        f"# Collective test starting: {name}_perf",
        f"# fabric {setup.name}: {plan.ranks} of {gpus.count} GPUs, {ports}",
        f"# minBytes {plan.sizes[0]} maxBytes {plan.sizes[-1]} step: {factor}(factor)",
        "# time: on the network, until the last byte is executed at its target; no kernel launch, no arithmetic",
        *([f"# {FLOW_LEAVES_OUT}"] if setup.options.fidelity is Fidelity.FLOW else []),
        "#",
        "# " + f"{'':>10}  {'':>12}  {'':>8}  {'':>6}  {'':>6}" + "           out-of-place         " + "          bound",
        "# " + _heads(("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "bound", "of it", "algo")),
        "# " + _heads(("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(%)", "")),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _heads(words: Sequence[str]) -> str:
    widths = (10, 12, 8, 6, 6, 7, 6, 6, 6, 9, 6, 6)
    return "  ".join(f"{word:>{width}}" for word, width in zip(words, widths, strict=True))


def line(plan: Plan, row: Row) -> str:
    """Return one row."""
    root = printed_root(plan.operation, plan.root)
    left = f"{row.size_bytes:>12}  {row.count:>12}  {plan.datatype:>8}  {redop(plan.operation):>6}  {root:>6}"
    time = f"  {shortened(row.time_ps / 1e6, 7)}  {shortened(row.algbw_GBps, 6)}  {shortened(row.busbw_GBps, 6)}  {row.wrong:>6g}"
    ours = f"  {shortened(row.bound_ps / 1e6, 9)}  {100 * row.bound_fraction:>6.1f}  {row.algorithm.value:>6}"
    return left + time + ours


def shortened(value: float, width: int) -> str:
    """Return a figure in ``width`` characters: two decimals while they fit, then one, none, and an exponent."""
    for digits in (2, 1, 0):
        text = f"{value:.{digits}f}"
        if len(text) <= width:
            return text.rjust(width)
    return f"{value:.{max(0, width - 6)}e}".rjust(width)


def footer(plan: Plan, rows: Sequence[Row]) -> str:
    """Return the lines below the rows."""
    wrong = sum(row.wrong for row in rows)
    lines = [
        f"# {'Out of bounds values':<20} : {wrong} {'FAILED' if wrong else 'OK'}",
        f"# {'Avg bus bandwidth':<20} : {mean_busbw_GBps(rows):g}",
        "#",
        f"# Collective test concluded: {plan.operation.value}_perf",
    ]
    return "\n".join(lines)


def mean_busbw_GBps(rows: Sequence[Row]) -> float:
    """Return the mean of the rows' bus bandwidths, each row counted once, as nccl-tests does; 0 without rows."""
    return sum(row.busbw_GBps for row in rows) / len(rows) if rows else 0.0


def flat_row(plan: Plan, row: Row, fidelity: Fidelity = Fidelity.PACKET) -> dict[str, Any]:
    """Return one row of ``bench --json``; what speaks of frames is null at flow fidelity."""
    framed = fidelity is Fidelity.PACKET
    return {
        "size_bytes": row.size_bytes,
        "count": row.count,
        "type": plan.datatype,
        "redop": redop(plan.operation),
        "root": printed_root(plan.operation, plan.root),
        "algorithm": row.algorithm.value,
        "time_us": round(row.time_ps / 1e6, 6),
        "algbw_GBps": round(row.algbw_GBps, 6),
        "busbw_GBps": round(row.busbw_GBps, 6),
        "wrong": row.wrong,
        "bound_us": round(row.bound_ps / 1e6, 6),
        "bound_percent": round(100 * row.bound_fraction, 3),
        "frames": row.frames if framed else None,
        "lost_frames": row.lost_frames if framed else None,
        "tried_us": {name: round(time_ps / 1e6, 6) for name, time_ps in row.tried_ps.items()},
    }
