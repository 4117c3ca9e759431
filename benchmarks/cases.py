"""The benchmark cases: scenario, what must hold, and where the figures come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalefab.scenario.scenario import Scenario
    from scalefab.simulator.result import Result

FABRIC = """
scalefab: 1
name: {name}
fabric:
  gpus:
    preset: ethlink-gpu-1x800g
    count: {gpus}
    tx_latency: 0ns
    rx_latency: 0ns
    memory: {{latency: 0ns}}
  switches: {{planes: 1, ports: {gpus}, port_rate: 800Gb/s, latency: 200ns}}
  cables: {{delay: 50ns}}
  frame_max: {frame_max}B
workload:
  - {workload}
run: {{pack: {pack}}}
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a benchmark's verdict: ``measured`` must lie in [low, high]."""

    name: str
    low: float
    high: float
    measured: float
    unit: str

    @property
    def passed(self) -> bool:
        """Whether the figure lies where it must."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark."""

    id: str
    title: str
    gpus: int
    workload: str
    checks: Callable[[Scenario, Result], tuple[Check, ...]]
    pack: str = "on"

    def text(self, frame_max: int) -> str:
        """Return the scenario file."""
        return FABRIC.format(name=self.id.lower(), gpus=self.gpus, frame_max=frame_max, workload=self.workload, pack=self.pack)


def _speed(result: Result, least_per_s: float) -> tuple[Check, ...]:
    rate = result.frames / result.wall_s if result.wall_s else 0.0
    events = result.events / max(1, result.frames + result.ack_frames)
    on = min(result.ack_frames, int(result.ports.llr_acks.sum()), result.cf_updates)  # 0 = some part of the protocol was off
    return (
        Check("data frames a second", least_per_s, float("inf"), rate, "frames/s"),
        Check("events a frame, ACK frames counted", 0.0, 3.1, events, ""),
        Check("lost frames", 0, 0, result.lost_frames, ""),
        Check("ACK frames, LLR's ACKs, CF_UPDATEs: all of them", 1, float("inf"), on, ""),
    )


def _w1(_scenario: Scenario, result: Result) -> tuple[Check, ...]:
    # The bound: 63 MiB of packets out of one port, each frame with preamble and gap (671.570 us at 4 KiB, 683.265 us at 1984 B).
    bound_us = result.bound_ps / 1e6
    return (
        Check("completion above its bound, at most 3 %", bound_us, bound_us * 1.03, result.completion_ps / 1e6, "us"),
        *_speed(result, 4e6),
    )


def _w2(_scenario: Scenario, result: Result) -> tuple[Check, ...]:
    bound_us = result.bound_ps / 1e6
    return (
        Check("completion above its bound, at most 3 %", bound_us, bound_us * 1.03, result.completion_ps / 1e6, "us"),
        Check("peak memory", 0, 600, result.peak_MB, "MB"),
        Check("simulated in", 0, 8, result.wall_s, "s"),
        *_speed(result, 1e6),
    )


def _w4(_scenario: Scenario, result: Result) -> tuple[Check, ...]:
    frames = 64 * 63 * 128  # each way: 64 KiB a pair in 512 B stores, and as many answers
    # The uplink carries requests of 512 + 48 + 20 B and answers of 84 B: the bound counts both.
    bound_us = result.bound_ps / 1e6
    return (
        Check("data frames, stores and answers", 2 * frames, 2 * frames, result.frames, ""),
        Check("completion above its bound, at most 10 %", bound_us, bound_us * 1.10, result.completion_ps / 1e6, "us"),
        Check("simulated in", 0, 0.6, result.wall_s, "s"),
        *_speed(result, 1e6),
    )


def _w3(scenario: Scenario, result: Result) -> tuple[Check, ...]:
    # alpha-beta: 2 (n - 1) / n x 256 MiB at 100 GB/s = 5284.8 us over the payload efficiency, and 126 steps of 300 ns.
    size, ranks = 256 << 20, 64
    data_us = 2 * (ranks - 1) * size / ranks / 100e9 * 1e6
    step_us = 2 * 0.050 + 0.200
    low = data_us / result.payload_efficiency + 2 * (ranks - 1) * step_us
    return (
        Check("completion above alpha-beta, at most 2 %", low, low * 1.02, result.completion_ps / 1e6, "us"),
        *_speed(result, 2.5e6),
    )


CASES = {
    case.id: case
    for case in (
        Case("W1", "64 GPUs, one 64-port 800G switch, all-to-all 1 MiB a pair", 64, "all_to_all: {bytes_per_pair: 1MiB}", _w1),
        Case(
            "W3",
            "64 GPUs, one 64-port 800G switch, ring all-reduce 256 MiB in 64 chunks",
            64,
            "all_reduce: {size: 256MiB, algorithm: ring, chunks: 64}",
            _w3,
        ),
        Case("W2", "1024 GPUs on one flat switch, all-to-all 64 KiB a pair", 1024, "all_to_all: {bytes_per_pair: 64KiB}", _w2),
        Case(
            "W4",
            "W1's fabric, 64 KiB a pair as 512 B stores with responses, one transaction a frame",
            64,
            "all_to_all: {bytes_per_pair: 64KiB, operation: store, transaction: 512B, posted: false}",
            _w4,
            pack="off",
        ),
    )
}
