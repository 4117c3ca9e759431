"""``python -m benchmarks FLOW``: flow fidelity and cost estimates held against the packet simulator, scenario by scenario.

Each scenario is estimated, run with frames and run as flows by the command line, one process each: seconds and memory are a
user's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scalefab.simulator.guess import Variant
from scalefab.simulator.warm import compile_apart, needs_compiling

from .cases import CASES, Check

CASE = "FLOW"
TITLE = "flow fidelity and cost estimates against frames"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

_GOAL = 0.05
_MOE = ("ethx16-mixtral", "ethx64-deepseek-v3", "ethx64-deepseek-v3-skewed", "ethx256-qwen3")
_FLAGGED = "ethx512-deepseek-v3"  # its result says that half of the operations are shorter than their way
_FLAGGED_GOAL = 0.15
_COST_GOAL = 0.30
_W2_S = 1.0
_FRAME_MAX = 4160


def _command(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-m", "scalefab", *words, "--json"], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _ran(file: Path, folder: Path, *more: str) -> dict[str, Any]:
    return _command("run", str(file), "--quiet", "--frames", "0", "--out", str(folder), *more)


def run(repeat: int) -> tuple[dict[str, Any], tuple[Check, ...]]:
    """Return the figures as a flat object and the goals beside them; ``repeat`` is not looked at, the runs are long."""
    del repeat
    flat: dict[str, Any] = {"case": CASE}
    checks: list[Check] = []
    if needs_compiling(Variant.LEAN):  # what is estimated is a run, not a compiler
        compile_apart(Variant.LEAN)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for name in ("W1", "W3", "W2", *_MOE, _FLAGGED):
            file = EXAMPLES / f"{name}.yaml"
            if name in CASES:
                file = root / f"{name}.yaml"
                file.write_text(CASES[name].text(_FRAME_MAX))
            cost = _command("check", str(file))["estimate"]
            packet = _ran(file, root / f"{name}-packet")
            flow = _ran(file, root / f"{name}-flow", "--fidelity", "flow")
            flat |= {f"{name}_packet_us": packet["completion_us"], f"{name}_flow_us": flow["completion_us"]}
            flat |= {f"{name}_packet_s": packet["wall_s"], f"{name}_flow_s": flow["wall_s"]}
            goal = _FLAGGED_GOAL if name == _FLAGGED else _GOAL
            error = flow["completion_us"] / packet["completion_us"] - 1
            checks.append(Check(f"{name} flow / frames - 1", -goal, goal, error, ""))
            for figure, measured, told in (
                ("frames", packet["frames"], cost["frames"]),
                ("events", packet["events"], cost["events"]),
                ("seconds", packet["wall_s"], cost["seconds"]),
                ("memory", packet["peak_MB"], cost["memory_MB"]),
            ):
                flat[f"{name}_estimated_{figure}"] = told
                if figure != "seconds" or measured > 0.1:
                    checks.append(
                        Check(f"{name} estimated {figure} / real - 1", -_COST_GOAL, _COST_GOAL, told / measured - 1, "")
                    )
            if name == "W2":
                checks.append(Check("W2 as flows, building included", 0, _W2_S, flow["wall_s"], "s"))
    return flat, tuple(checks)
