"""Scenarios around hand-made results."""

from __future__ import annotations

from scalefab.scenario.scenario import Origin, RunOptions, Scenario
from scalefab.simulator.result import Result
from scalefab.workload.spec import WorkloadSpec

TEXT = "scalefab: 1\nname: example\n# a comment with <script>alert(1)</script>\n"


def make_scenario(result: Result, name: str = "example", text: str = TEXT) -> Scenario:
    """A scenario with a few settings of each origin."""
    return Scenario(
        name=name,
        path="example.yaml",
        text=text,
        fabric_spec=result.fabric.spec,
        fabric=result.fabric,
        workload=WorkloadSpec(()),
        graph=result.graph,
        options=RunOptions(),
        resolved={
            "scalefab": 1,
            "name": name,
            "fabric": {"gpus": {"count": result.fabric.endpoints, "port_rate": "800Gb/s"}, "frame_max": "2048B"},
            "workload": [{"name": name, "all_to_all": {"size": "1MiB", "posted": True}, "after": []}],
        },
        origins={
            "fabric.gpus.count": Origin("file", "example.yaml:4"),
            "fabric.gpus.port_rate": Origin("preset", "gpu-a"),
            "fabric.frame_max": Origin("set", "--set fabric.frame_max=2048B"),
            "workload[0].all_to_all.posted": Origin("default", ""),
        },
        warnings=("the switch has idle ports",),
    )
