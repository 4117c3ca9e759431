"""pcapng: what the writer writes the reader reads; damage is told with its byte."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.capture.pcapng import Interface, LinkType, Writer
from scalefab.capture.reader import read_capture
from scalefab.errors import InputError

PORTS = (
    Interface("GPU 0 -> switch plane 0", LinkType.ETHERNET, 4, 800 * 10**9, "frames"),
    Interface("GPU 0 -> switch plane 0.phy", LinkType.USER0),
)


class Packet(NamedTuple):
    interface: int
    t_ps: int
    data: bytes
    comment: str = ""


def written(packets: list[Packet], interfaces: tuple[Interface, ...] = PORTS) -> bytes:
    stream = io.BytesIO()
    writer = Writer(stream, interfaces, application="scalefab test", comment="by hand")
    for packet in packets:
        writer.packet(packet.interface, packet.t_ps, packet.data, packet.comment)
    return stream.getvalue()


def kept(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


packets = st.lists(
    st.builds(
        Packet,
        st.integers(0, 1),
        st.integers(0, 2**62 // 1000).map(lambda ns: ns * 1000),
        st.binary(max_size=70),
        st.text(max_size=20).filter(lambda text: "\0" not in text),
    ),
    max_size=5,
)


@settings(deadline=None)
@given(packets)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, made: list[Packet]) -> None:
    path = kept(tmp_path_factory.mktemp("pcap") / "a.pcapng", written(made))
    assert [(p.interface, p.t_ps, p.data, p.comment) for p in read_capture(path)] == [
        (PORTS[p.interface], p.t_ps, p.data, p.comment) for p in made
    ]


def test_times_are_rounded_down_to_ns(tmp_path: Path) -> None:
    data = written([Packet(0, 1_999, b"a")])
    assert next(read_capture(kept(tmp_path / "a", data))).t_ps == 1_000


def test_bytes_are_those_of_the_draft() -> None:
    assert written([], ())[:28].hex() == "0a0d0d0a40000000" + "4d3c2b1a01000000ffffffffffffffff" + "01000700"
    data = written([Packet(0, 5_000, b"abcde")], (Interface("p", 1, 4),))
    interface = data[len(written([], ())) :]
    # IDB: length, link type 1, snaplen 0, if_name "p", if_tsresol 9, if_fcslen 4, end
    assert interface[:48].hex() == (
        "01000000"
        + "30000000"
        + "0100"
        + "0000"
        + "00000000"
        + "0200010070000000"
        + "0900010009000000"
        + "0d00010004000000"
        + "00000000"
        + "30000000"
    )
    packet = interface[48:]
    assert packet[:28].hex() == "06000000" + "34000000" + "00000000" + "00000000" + "05000000" + "05000000" * 2
    assert packet[28:36] == b"abcde\0\0\0"
    assert packet[36:].hex() == "02000400" + "02000000" + "00000000" + "34000000"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: b"", "it is empty"),
        (lambda data: data[:-5], "bytes, .* are there"),
        (lambda data: data + b"\1\2", "2 bytes at byte"),
        (lambda data: data[:-4] + b"\1\0\0\0", "two lengths"),
        (lambda data: data.replace(b"\x06\0\0\0\x34\0\0\0\0\0\0\0", b"\x06\0\0\0\x34\0\0\0\x09\0\0\0"), "is damaged"),
        (lambda data: data.replace(b"\x05\0\0\0\x05\0\0\0\x05\0\0\0", b"\x05\0\0\0\xff\0\0\0\x05\0\0\0"), "255 bytes of packet"),
    ],
)
def test_damage_is_told(change: object, said: str, tmp_path: Path) -> None:
    data = written([Packet(0, 5_000, b"abcde")], (Interface("p", 1, 4),))
    path = kept(tmp_path / "a.pcapng", change(data))  # type: ignore[operator]
    with pytest.raises(InputError, match=said):
        list(read_capture(path))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_capture(tmp_path / "nowhere"))
