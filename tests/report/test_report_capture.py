"""The capture of simulated runs: real bytes of every kind of operation, as many as the simulator counted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from scalefab.capture.dissect import dissect_frame, dissect_line
from scalefab.capture.dissection import Check
from scalefab.capture.pcapng import LinkType
from scalefab.capture.reader import CapturedPacket, read_capture
from scalefab.errors import InputError
from scalefab.protocol.codec import decode
from scalefab.protocol.frame import Frame, WireFormat
from scalefab.protocol.layout import RhOp
from scalefab.protocol.opcodes import OPCODES, is_aligned
from scalefab.protocol.profile import Opcode
from scalefab.protocol.record import decode_ordered_set
from scalefab.report.capturefile import require_capture, write_capture
from scalefab.report.frames import FrameMaker, at_hop, memory_bytes
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result
from scalefab.simulator.run import simulate

sys.path.append(str(Path(__file__).parents[1] / "simulator"))
from simulated import bare

WORK = {
    "load": "{permutation: {operation: load, bytes: 3072B, transaction: 128B, repeat: 2}}",
    "store": "{permutation: {operation: store, bytes: 2048B, transaction: 64B, repeat: 2}}",
    "posted": "{permutation: {operation: store, bytes: 2048B, transaction: 64B, posted: on}}",
    "reduce": "{permutation: {operation: reduce, bytes: 4096B, transaction: 128B}}",
    "atomic": "{permutation: {operation: atomic, bytes: 8B, repeat: 5}}",
    "put": "{permutation: {operation: put, bytes: 10001B, repeat: 2}}",
    "send": "{permutation: {operation: send, bytes: 10001B, repeat: 3}}",
    "get": "{permutation: {operation: get, bytes: 10001B, repeat: 2}}",
    "mixed": "{all_to_all: {bytes_per_pair: 20000B}}",
}
OPCODES_OF = {
    "load": {Opcode.LOAD, Opcode.LOAD_RSP},
    "store": {Opcode.STORE, Opcode.STORE_RSP},
    "posted": {Opcode.STORE},
    "reduce": {Opcode.REDUCE, Opcode.STORE_RSP},
    "atomic": {Opcode.ATOMIC, Opcode.ATOMIC_RSP},
    "put": {Opcode.RDMA_WRITE, Opcode.COMPLETION},
    "send": {Opcode.SEND, Opcode.COMPLETION},
    "get": {Opcode.RDMA_READ, Opcode.RDMA_READ_RSP},
}


@cache
def run(name: str) -> tuple[Scenario, Result]:
    scenario = bare(WORK[name], gpus=4, stacks=2)
    scenario = replace(scenario, options=replace(scenario.options, capture_frames=100_000))
    return scenario, simulate(scenario)


def frames_of(name: str) -> tuple[Result, list[Frame]]:
    scenario, result = run(name)
    assert result.trace is not None
    maker = FrameMaker(result.graph, result.fabric, result.trace, scenario.options.spray)
    found = []
    for row in range(len(result.trace.frames)):
        data = maker.encoded(row)  # raises when the size is not the simulator's
        assert len(data) == result.trace.frames[row]["size_bytes"]
        found.append(decode(data, WireFormat(scenario.fabric_spec.frame_max)))
    return result, found


@pytest.mark.parametrize("name", OPCODES_OF)
def test_every_kind_becomes_frames_of_exactly_the_simulated_size(name: str) -> None:
    result, frames = frames_of(name)
    data = [frame for frame in frames if frame.rh.op == RhOp.DATA]
    assert len(data) == result.frames_sent
    assert len(frames) - len(data) == result.ack_frames
    seen = Counter(t.th.opcode for frame in data for t in frame.transactions)
    assert set(seen) == OPCODES_OF[name]
    carried = sum(len(t.parts[-1]) for frame in data for t in frame.transactions if OPCODES[t.th.opcode].body)
    if name == "get":
        carried -= 8 * seen[Opcode.RDMA_READ]  # its body is a length
    if name != "atomic":
        assert carried == result.data_bytes
    assert all(is_aligned(OPCODES[t.th.opcode], t.th.length, t.th.kind, t.th.address) for f in data for t in f.transactions)


@pytest.mark.parametrize("name", OPCODES_OF)
def test_tags_tie_answers_to_requests(name: str) -> None:
    """A tag of a pair is asked with once and answered once; bit 15 says which space it is of."""
    _, frames = frames_of(name)
    asked: Counter[tuple[int, int, int]] = Counter()
    answered: Counter[tuple[int, int, int]] = Counter()
    for frame in frames:
        for t in frame.transactions:
            row = OPCODES[t.th.opcode]
            if row.is_response:
                answered[frame.oefh.dst_id, frame.oefh.src_id, t.th.tag] += t.th.last
            else:
                asked[frame.oefh.src_id, frame.oefh.dst_id, t.th.tag] += t.th.last
            serial = t.th.opcode in (Opcode.ATOMIC, Opcode.RDMA_WRITE, Opcode.SEND, Opcode.ATOMIC_RSP, Opcode.COMPLETION)
            assert t.th.tag >> 15 == int(serial)
    if name == "posted":
        assert {tag for _, _, tag in asked} == {0}
        assert not answered
        return
    assert set(asked.values()) == {1}
    assert asked == answered


def test_the_packets_of_a_message_cover_it_once() -> None:
    _, frames = frames_of("send")
    messages: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    numbers: dict[tuple[int, int], set[int]] = {}
    for frame in frames:
        for t in frame.transactions:
            if t.th.opcode == Opcode.SEND:
                key = (frame.oefh.src_id, frame.oefh.dst_id, t.th.tag)
                messages.setdefault(key, []).append((t.th.context, t.th.length, t.th.last))
                numbers.setdefault(key[:2], set()).add(t.th.address >> 32 & 0xFFFF)
    assert len(messages) == 12
    for packets in messages.values():
        packets.sort()
        assert [index for index, _, _ in packets] == list(range(6))
        assert sum(length for _, length, _ in packets) == 10_001
        assert [last for _, _, last in packets] == [0, 0, 0, 0, 0, 1]
    assert all(found == {0, 1, 2} for found in numbers.values())


def test_payload_is_memory_that_holds_its_own_addresses() -> None:
    assert memory_bytes(16, 10).hex() == "1000000000000000" + "1800"
    assert memory_bytes(0x1234 + 3, 8) == memory_bytes(0x1230, 24)[7:15]
    _, frames = frames_of("put")
    for frame in frames:
        for t in frame.transactions:
            if t.th.opcode == Opcode.RDMA_WRITE:
                assert t.parts[0] == memory_bytes(t.th.address, t.th.length)


def test_a_switch_takes_one_of_ttl_and_mends_the_fcs() -> None:
    scenario, result = run("put")
    assert result.trace is not None
    data = FrameMaker(result.graph, result.fabric, result.trace, scenario.options.spray).encoded(0)
    before, after = decode(data), decode(at_hop(data, 2))
    assert (before.net.ttl, after.net.ttl) == (3, 1)
    assert replace(after, net=before.net) == before


def captured(name: str, path: Path, *, phy: bool) -> tuple[Result, list[CapturedPacket]]:
    scenario, result = run(name)
    write_capture(path, scenario, result, phy=phy)
    return result, list(read_capture(path))


def test_every_hop_is_a_packet_on_the_interface_of_its_port(tmp_path: Path) -> None:
    result, packets = captured("mixed", tmp_path / "a.pcapng", phy=False)
    trace = result.trace
    assert trace is not None
    assert len(packets) == len(trace.hops)
    assert all(p.interface.link_type == LinkType.ETHERNET and p.interface.fcs_bytes == 4 for p in packets)
    assert all(p.interface.speed_bps == 800 * 10**9 for p in packets)
    assert [packet.t_ps for packet in packets] == [int(t) // 1000 * 1000 for t in np.sort(trace.hops["start_ps"])]
    ways: dict[bytes, list[str]] = {}
    for packet in packets:
        frame = decode(packet.data)  # checks FCS, ICRC and every rule
        name = packet.interface.name
        ways.setdefault(packet.data[18:], []).append(name)
        sender, receiver = name.split(" -> ")
        assert (sender, frame.net.ttl) == (f"GPU {frame.oefh.src_id}", 3) or (receiver, frame.net.ttl) == (
            f"GPU {frame.oefh.dst_id}",
            2,
        )
    assert packets[0].comment.startswith("frame 0 hop 0: PUT 0 part 0, GPU 0 -> GPU ")


def test_phy_interfaces_carry_preambles_and_ordered_sets(tmp_path: Path) -> None:
    result, packets = captured("mixed", tmp_path / "a.pcapng", phy=True)
    trace = result.trace
    assert trace is not None
    phy = [p for p in packets if p.interface.link_type == LinkType.USER0]
    frames = [packet.data for packet in phy if packet.data[0] == 0xFB]
    sets = [packet.data for packet in phy if packet.data[0] == 0x5C]
    assert all(p.interface.name.endswith(".phy") for p in phy)
    assert (len(frames), len(sets)) == (len(trace.hops), len(trace.updates))
    plain = [p.data for p in packets if p.interface.link_type == LinkType.ETHERNET]
    assert [data[:8] for data in frames] == [b"\xfb" + 6 * b"\x55" + b"\xd5"] * len(frames)
    assert [data[8:] for data in frames] == plain
    ordered = trace.updates[np.argsort(trace.updates["t_ps"], kind="stable")]
    for data, row in zip(sets, ordered, strict=True):
        values = decode_ordered_set(data)
        assert [values[n] for n in ("vc0", "freed0", "vc1", "freed1")] == [int(row[n]) for n in ("vc0", "c0", "vc1", "c1")]
    assert [p.t_ps for p in packets] == sorted(p.t_ps for p in packets)


def test_other_header_stacks_cannot_be_captured() -> None:
    require_capture("ethlink")
    with pytest.raises(InputError, match="only their sizes are known"):
        require_capture("roce")


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_it(tmp_path: Path) -> None:
    _, packets = captured("mixed", tmp_path / "a.pcapng", phy=True)
    fields = ("frame.interface_name", "frame.time_epoch", "frame.encap_type", "frame.len", "eth.fcs.status", "frame.comment")
    command = ["tshark", "-r", str(tmp_path / "a.pcapng"), "-o", "eth.check_fcs:TRUE", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == len(packets)
    for (name, time, _, size, status, comment), packet in zip(lines, packets, strict=True):
        interface = packet.interface
        assert name == interface.name
        assert round(float(time) * 1e9) * 1000 == packet.t_ps
        assert int(size) == len(packet.data)
        assert status == ("1" if interface.link_type == LinkType.ETHERNET else "")  # 1 = good
        assert comment == packet.comment


@pytest.mark.parametrize("name", WORK)
def test_dissect_finds_nothing_wrong_with_it(name: str, tmp_path: Path) -> None:
    _, packets = captured(name, tmp_path / "a.pcapng", phy=True)
    for packet in packets:
        found = (dissect_line if packet.interface.link_type == LinkType.USER0 else dissect_frame)(packet.data)
        assert not found.faults
        assert found.fcs is (Check.ABSENT if len(packet.data) == 8 else Check.GOOD)
