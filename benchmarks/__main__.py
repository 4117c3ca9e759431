"""``python -m benchmarks [W1 W3 ...] [--frame-max 4160] [--json]``: run the benchmark cases and print figures beside goals.

Speed is judged here, as figures of one run on one core with the machine named, never by a timed test. The kernel is loaded (or
compiled) before the clock starts; ``--repeat`` takes the fastest of several runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from dataclasses import asdict, replace
from typing import Any

from . import fec, fidelity, scale
from .cases import CASES, Case, Check

OTHERS = {module.CASE: module for module in (fec, fidelity, scale)}
KNOWN = (*CASES, *OTHERS)

LONG_S = 4.0
DEFAULT_FRAME_MAX = 4160  # 4 KiB of payload a frame, so that frames a second compare with other simulators


def _machine() -> str:
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            name = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), name)
    except OSError:
        pass  # not Linux: the generic name stands
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _run(case: Case, frame_max: int, repeat: int) -> tuple[dict[str, Any], tuple[Check, ...]]:
    from scalefab import __version__
    from scalefab.report.record import flat_object
    from scalefab.scenario import parse_scenario
    from scalefab.simulator.machine import return_freed_memory
    from scalefab.simulator.run import simulate
    from scalefab.simulator.verdict import judge

    return_freed_memory()
    scenario = parse_scenario(case.text(frame_max), f"{case.id}.yaml")
    # Rows about single frames are nobody's here, and memory is one of the figures.
    scenario = replace(scenario, options=replace(scenario.options, sample_frames=0, capture_frames=0))
    best = None
    spent_s = compile_s = 0.0
    for _ in range(repeat):
        if spent_s > LONG_S:  # long runs are steady: one says enough
            break
        result = simulate(scenario)
        spent_s += result.wall_s
        compile_s = max(compile_s, result.compile_s)  # the first run compiles, the fastest counts
        if best is None or result.wall_s < best.wall_s:
            best = result
    assert best is not None
    flat = flat_object(case.id, best, judge(best), __version__)
    flat["compile_s"] = round(compile_s, 6)
    return flat, case.checks(scenario, best)


def _print_text(case: Case, flat: dict[str, Any], checks: tuple[Check, ...]) -> None:
    print(f"{case.id}  {case.title}")
    print(
        f"    {flat['completion_us']:.3f} us, {flat['frames']:,} data frames, {flat['ack_frames']:,} ACK frames, "
        f"{flat['events']:,} events in {flat['wall_s']:.2f} s (compile {flat['compile_s']:.1f} s), {flat['peak_MB']:.0f} MB"
    )
    _print_checks(checks)


def _print_checks(checks: tuple[Check, ...]) -> None:
    for check in checks:
        goal = (
            f"{check.low:,.3f} .. {check.high:,.3f}"
            if math.isfinite(check.high)
            else f">= {check.low:{',.0f' if check.low >= 100 else 'g'}}"
        )
        print(f"    {'ok  ' if check.passed else 'FAIL'} {check.name}: {check.measured:,.3f} {check.unit} (goal {goal})")


def main() -> int:
    """Run the wanted cases; exit code 0, 1 when a goal is missed, 2 for unknown cases."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(KNOWN)}; all when none is named")
    parser.add_argument(
        "--frame-max", type=int, default=DEFAULT_FRAME_MAX, metavar="BYTES", help="largest frame (default %(default)s)"
    )
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each case; the fastest counts")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, keyed by case when there are several")
    wanted = parser.parse_args()
    unknown = [name for name in wanted.cases if name not in KNOWN]
    if unknown:
        print(f"benchmarks: unknown case {', '.join(unknown)}; known: {', '.join(KNOWN)}", file=sys.stderr)
        return 2
    names = wanted.cases or list(KNOWN)
    print(f"machine: {_machine()}", file=sys.stderr)
    objects: dict[str, dict[str, Any]] = {}
    passed = True
    for name in names:
        repeat = max(1, wanted.repeat)
        flat, checks = OTHERS[name].run(repeat) if name in OTHERS else _run(CASES[name], wanted.frame_max, repeat)
        passed = passed and all(check.passed for check in checks)
        flat["checks"] = [
            {key: value if not isinstance(value, float) or math.isfinite(value) else None for key, value in asdict(check).items()}
            | {"passed": check.passed}
            for check in checks
        ]
        objects[name] = flat | {"command": "benchmarks"}
        if wanted.json:
            continue
        if name in OTHERS:
            print(f"{name}  {OTHERS[name].TITLE}")
            _print_checks(checks)
        else:
            _print_text(CASES[name], flat, checks)
    if wanted.json:
        print(json.dumps(objects[names[0]] if len(names) == 1 else objects))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
