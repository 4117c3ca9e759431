"""The reader takes pcap and pcapng of either byte order and resolution, and names the byte of any damage."""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path

import pytest

from scalefab.capture.pcapng import Interface, Writer
from scalefab.capture.reader import CapturedPacket, read_capture
from scalefab.errors import InputError

DATA = [bytes(64), b"\x5c" + bytes(7), bytes(range(61))]


def pcap(order: str, magic: int, ticks: int, link: int = 1) -> bytes:
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for i, data in enumerate(DATA):
        out += struct.pack(order + "IIII", 7 + i, ticks // 4, len(data), len(data) + i) + data
    return out


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str) -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, link: int, *options: bytes) -> bytes:
    return block(order, 1, struct.pack(order + "HHI", link, 0, 0) + b"".join(options) + bytes(4))


def packet(order: str, index: int, ticks: int, data: bytes) -> bytes:
    head = struct.pack(order + "IIIII", index, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(order, 6, head + data)


def read(path: Path, content: bytes) -> list[CapturedPacket]:
    path.write_bytes(content)
    return list(read_capture(path))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "ticks"), [(0xA1B2C3D4, 10**6), (0xA1B23C4D, 10**9)])
def test_pcap(tmp_path: Path, order: str, magic: int, ticks: int) -> None:
    packets = read(tmp_path / "x", pcap(order, magic, ticks))
    assert [p.data for p in packets] == DATA
    assert [p.t_ps for p in packets] == [(7 + i) * 10**12 + 10**12 // 4 for i in range(3)]
    assert [(p.number, p.size_bytes) for p in packets] == [(1, 64), (2, 9), (3, 63)]
    assert packets[0].interface == Interface("", 1)


def test_pcap_tells_of_an_fcs(tmp_path: Path) -> None:
    link = 1 | 1 << 26 | 2 << 28
    assert read(tmp_path / "x", pcap("<", 0xA1B2C3D4, 10**6, link))[0].interface.fcs_bytes == 4


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng(tmp_path: Path, order: str) -> None:
    content = section(order)
    content += interface(order, 1, option(order, 2, b"p0"), option(order, 9, b"\x09"), option(order, 13, b"\x04"))
    content += interface(order, 147, option(order, 9, bytes((0x80 | 10,))), option(order, 14, struct.pack(order + "q", 5)))
    content += block(order, 5, bytes(12))  # statistics: passed over
    content += packet(order, 0, 1234, DATA[0]) + packet(order, 1, 512, DATA[1])
    content += block(order, 3, struct.pack(order + "I", len(DATA[2])) + DATA[2])
    other = "<" if order == ">" else ">"
    content += section(other) + interface(other, 1) + packet(other, 0, 3_000_000, DATA[0])
    packets = read(tmp_path / "x", content)
    assert [p.data for p in packets] == [*DATA, DATA[0]]
    assert [p.t_ps for p in packets] == [1_234_000, 5 * 10**12 + 10**12 // 2, 0, 3 * 10**12]
    assert [(p.interface.name, p.interface.link_type, p.interface.fcs_bytes) for p in packets] == [
        ("p0", 1, 4),
        ("", 147, -1),
        ("p0", 1, 4),
        ("", 1, -1),
    ]


def test_reads_what_the_writer_writes(tmp_path: Path) -> None:
    stream = io.BytesIO()
    writer = Writer(stream, [Interface("a", 1, 4), Interface("a.phy", 147)], application="tests")
    writer.packet(0, 5_000, DATA[0], "hello")
    writer.packet(1, 6_000, DATA[1])
    packets = read(tmp_path / "x", stream.getvalue())
    assert [(p.t_ps, p.data, p.comment) for p in packets] == [(5_000, DATA[0], "hello"), (6_000, DATA[1], "")]


def test_delivers_what_comes_before_a_damage(tmp_path: Path) -> None:
    for whole in (pcap("<", 0xA1B2C3D4, 10**6), section("<") + interface("<", 1) + b"".join(packet("<", 0, 0, d) for d in DATA)):
        (tmp_path / "x").write_bytes(whole[:-5])
        packets = []
        with pytest.raises(InputError) as caught:
            for one in read_capture(tmp_path / "x"):
                packets.append(one)
        assert [p.data for p in packets] == DATA[:2]
        assert "byte" in str(caught.value) and "are there" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\x0a", "1 bytes only"),
        (b"GARBAGE!", "47 41 52 42"),
        (struct.pack("<I", 0xA1B2C3D4) + bytes(5), "9 of 24 bytes"),
        (struct.pack("<I", 0x0A0D0D0A) + bytes(20), "no byte order"),
        (section("<") + struct.pack("<II", 6, 13) + bytes(8), "wrong length, 13"),
        (section("<") + struct.pack("<II", 6, 0xFFFFFFF0) + bytes(8), "4294967280 bytes, 16 are there"),
        (section("<") + packet("<", 0, 0, b"x"), "interface 0 of 0"),
        (section("<") + block("<", 1, b"\x01"), "damaged"),
        (section("<") + struct.pack("<III", 6, 12, 16), "two lengths"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "x", content)
    assert said in str(caught.value) and len(caught.value.problems) == 1


def test_any_bytes_end_in_packets_or_one_input_error(tmp_path: Path) -> None:
    rng = random.Random(1)
    seeds = [pcap("<", 0xA1B2C3D4, 10**6), pcap(">", 0xA1B23C4D, 10**9)]
    seeds.append(
        section("<") + interface("<", 1, option("<", 2, b"\xff\xfe"), option("<", 9, b"\xff")) + packet("<", 0, 9, DATA[2])
    )
    for _ in range(3000):
        content = bytearray(rng.choice(seeds))
        for at in rng.choices(range(len(content)), k=rng.randint(1, 6)):
            content[at] = rng.getrandbits(8)
        try:
            read(tmp_path / "x", bytes(content[: rng.randint(0, len(content))]))
        except InputError as error:
            assert error.problems[0].file == str(tmp_path / "x")
