"""Scenarios for the simulator's tests, as text with holes."""

from __future__ import annotations

from typing import Any

from scalefab.scenario import parse_scenario
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result
from scalefab.simulator.run import simulate

BARE = """
scalefab: 1
fabric:
  gpus:
    preset: ethlink-gpu-1x800g
    count: {gpus}
    stacks: {stacks}
    port_rate: {rate}
    tx_latency: 0ns
    rx_latency: 0ns
    memory: {{latency: 0ns}}
  switches: {{planes: {planes}, ports: {gpus}, port_rate: {rate}, latency: 200ns}}
  cables: {{delay: 50ns}}
  frame_max: {frame_max}B
workload:
  - {workload}
run: {{spray: {spray}, pack: {pack}}}
"""


def bare(workload: str, *overrides: str, gpus: int = 4, stacks: int = 1, planes: int = 0, **holes: Any) -> Scenario:
    """A domain without endpoint and memory latencies, 50 ns a link, 200 ns a switch: what closed forms are about."""
    values = {"rate": "800Gb/s", "frame_max": 2048, "spray": "round_robin", "pack": "on"} | holes
    text = BARE.format(workload=workload, gpus=gpus, stacks=stacks, planes=planes or stacks, **values)
    return parse_scenario(text, "bare.yaml", overrides)


def run_bare(workload: str, *overrides: str, **holes: Any) -> Result:
    return simulate(bare(workload, *overrides, **holes))
