"""``scalefab dissect``: every packet of a capture with its fields and the verdict on it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ExitCode, InputError, Problem, UnitError, WireError
from .output import say

if TYPE_CHECKING:
    from ..capture.dissection import Dissection, Layer, Value
    from ..capture.reader import CapturedPacket
    from ..protocol.frame import WireFormat

_PS_A_SECOND = 10**12
_CHUNK = 200  # lines printed at once
_SHOWN_BYTES = 32  # of data, in words; --json and --fields have all
_PREFIX = "scalefab."
_OF_PACKET = ("number", "t_ps", "interface", "size_bytes", "kind", "title", "verdict")

Pair = tuple["CapturedPacket", "Dissection | None"]


def dissect_file(
    file: Path,
    *,
    json_wanted: bool,
    limit: int | None,
    fields: str,
    frame_max: str,
    ethertypes: str,
    slap_safe: bool,
    fcs: str,
) -> ExitCode:
    """Print the packets of a capture.

    Parameters
    ----------
    file
        pcapng or pcap.
    json_wanted
        One JSON object instead of words.
    limit
        Packets to print at most, None = all.
    fields
        Names joined by commas: print only these, a line a packet; "" = everything.
    frame_max, ethertypes, slap_safe
        What the link has agreed on.
    fcs
        Whether packets end with their FCS: ``find`` = as the file or else the bytes tell.

    Raises
    ------
    InputError
        An option that cannot be, or a file that is no capture or is damaged: what comes before the damage has been printed.
    """
    wire = _wire(frame_max, ethertypes, slap_safe)
    chosen = _chosen(fields)
    mode = _mode(fcs)
    pairs = _pairs(file, wire, mode, limit)
    if json_wanted:
        _print_json(pairs, chosen)
    elif chosen:
        _print((_line(packet, found, chosen) for packet, found in pairs), head="\t".join(chosen))
    else:
        _print(_words(packet, found) for packet, found in pairs)
    return ExitCode.OK


def _wire(frame_max: str, ethertypes: str, slap_safe: bool) -> WireFormat:
    from ..protocol.frame import WireFormat
    from ..units import parse_size_bytes

    try:
        data, control = (int(word, 0) for word in ethertypes.split(","))
    except ValueError:
        raise InputError(
            [Problem(f"'{ethertypes}' cannot be read", "two EtherTypes, 0x88B5,0x88B6", key="--ethertypes")]
        ) from None
    try:
        return WireFormat(parse_size_bytes(frame_max), slap_safe, data, control)
    except UnitError as error:
        raise InputError([Problem(str(error), key="--frame-max")]) from error
    except WireError as error:
        raise InputError([Problem(str(error))]) from error


def _mode(fcs: str) -> Any:
    from ..protocol.trailer import FcsMode

    try:
        return FcsMode(fcs)
    except ValueError:
        raise InputError([Problem(f"'{fcs}' is unknown", " or ".join(FcsMode), key="--fcs")]) from None


def _chosen(fields: str) -> tuple[str, ...]:
    from ..protocol.naming import field_names

    if not fields:
        return ()
    names = [word.strip().removeprefix(_PREFIX) for word in fields.split(",")]
    known = (*_OF_PACKET, *field_names())
    problems = []
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            problems.append(Problem(f"'{name}' is no field", "a name such as th.opcode", near[0] if near else "", key="--fields"))
    if problems:
        raise InputError(problems)
    return tuple(names)


def _pairs(file: Path, wire: WireFormat, mode: Any, limit: int | None) -> Iterator[Pair]:
    from ..capture.dissect import dissect_frame, dissect_line
    from ..capture.pcapng import LinkType
    from ..capture.reader import read_capture
    from ..protocol.trailer import FcsMode

    told = {4: FcsMode.PRESENT, 0: FcsMode.ABSENT}
    for packet in read_capture(file):
        if limit is not None and packet.number > limit:
            return
        link = packet.interface.link_type
        if link == LinkType.ETHERNET:
            known = told.get(packet.interface.fcs_bytes, FcsMode.FIND) if mode is FcsMode.FIND else mode
            yield packet, dissect_frame(packet.data, wire, fcs=known, size_bytes=packet.size_bytes)
        elif link == LinkType.USER0:
            yield packet, dissect_line(packet.data, wire, size_bytes=packet.size_bytes)
        else:
            yield packet, None


def _print(lines: Iterator[str], *, head: str = "") -> None:
    """Print lines as they come, many at once; those before a damage too."""
    ready = [head] if head else []
    try:
        for line in lines:
            ready.append(line)
            if len(ready) >= _CHUNK:
                say("\n".join(ready))
                ready = []
    finally:
        if ready:
            say("\n".join(ready))


def _print_json(pairs: Iterator[Pair], chosen: Sequence[str]) -> None:
    """Print one object, a row at a time: a capture may be larger than memory. A damage ends the rows and stands behind them."""
    say(f'{{"scalefab": {json.dumps(__version__)}, "command": "dissect", "rows": [')
    problems: tuple[Problem, ...] = ()
    try:
        _print(_rows(pairs, chosen))
    except InputError as error:
        problems = error.problems
        raise
    finally:
        say(f'], "problems": {json.dumps([asdict(problem) for problem in problems])}}}')


def _rows(pairs: Iterator[Pair], chosen: Sequence[str]) -> Iterator[str]:
    comma = ""
    for packet, found in pairs:
        row = {name: _told(packet, found, name) for name in chosen} if chosen else _row(packet, found)
        yield comma + json.dumps(row)
        comma = ","


def _row(packet: CapturedPacket, found: Dissection | None) -> dict[str, Any]:
    row: dict[str, Any] = {name: _of_packet(packet, found, name) for name in _OF_PACKET}
    row["link_type"] = packet.interface.link_type
    if packet.comment:
        row["comment"] = packet.comment
    if found is None:
        return row
    row["titles"] = list(found.titles)
    row["icrc"] = found.icrc
    row["fcs"] = found.fcs
    row["faults"] = [asdict(fault) for fault in found.faults]
    row["layers"] = [
        {"name": layer.name, "title": layer.title, "offset_bytes": layer.offset_bytes, "fields": _values(layer)}
        for layer in found.layers
    ]
    return row


def _values(layer: Layer) -> dict[str, Any]:
    """Values by name; a list where a name comes more than once."""
    out: dict[str, Any] = {}
    for value in layer.values:
        plain = _plain(value)
        if value.name in out:
            out[value.name] = [*(out[value.name] if isinstance(out[value.name], list) else [out[value.name]]), plain]
        else:
            out[value.name] = plain
    return out


def _plain(value: Value) -> int | str:
    return value.value.hex() if isinstance(value.value, bytes) else value.value


def _of_packet(packet: CapturedPacket, found: Dissection | None, name: str) -> Any:
    if name == "number":
        return packet.number
    if name == "t_ps":
        return packet.t_ps
    if name == "interface":
        return packet.interface.name
    if name == "size_bytes":
        return packet.size_bytes
    if found is None:
        return f"link type {packet.interface.link_type} is not read here" if name == "verdict" else ""
    if name == "kind":
        return str(found.kind)
    if name == "title":
        return " ".join(found.titles)
    if found.faults:
        return str(found.faults[0])
    return "not of the profile" if found.kind == "other" else "ok"


def _told(packet: CapturedPacket, found: Dissection | None, name: str) -> Any:
    """Return a value of the packet, or the list of values that a field has in it."""
    if name in _OF_PACKET:
        return _of_packet(packet, found, name)
    if found is None:
        return []
    if name in ("icrc.status", "fcs.status"):
        return [str(found.icrc if name.startswith("icrc") else found.fcs)]
    return [_plain(v) for layer in found.layers for v in layer.values if f"{layer.name}.{v.name}" == name]


def _line(packet: CapturedPacket, found: Dissection | None, chosen: Sequence[str]) -> str:
    told = (_told(packet, found, name) for name in chosen)
    return "\t".join(",".join(map(str, value)) if isinstance(value, list) else str(value) for value in told)


def _words(packet: CapturedPacket, found: Dissection | None) -> str:
    """One packet for people: a line of its own, then a line a layer."""
    seconds, ps = divmod(packet.t_ps, _PS_A_SECOND)
    head = f"{packet.number}  {seconds}.{ps:012d} s  {packet.interface.name or '-'}  {packet.size_bytes} B"
    if found is None:
        return f"{head}  {_of_packet(packet, found, 'verdict')}"
    head += f"  {found.kind}  {_summary(found)}  ICRC {found.icrc}  FCS {found.fcs}  "
    lines = [head + str(_of_packet(packet, found, "verdict"))]
    lines += [f"    also {fault}" for fault in found.faults[1:]]
    for layer in found.layers:
        title = f" {layer.title}" if layer.title else ""
        lines.append(f"    {layer.offset_bytes:>4} {layer.name}{title}: {' '.join(_shown(layer))}")
    return "\n".join(lines)


def _summary(found: Dissection) -> str:
    layers = {layer.name: layer for layer in found.layers}
    text = ""
    if "oefh" in layers and "rh" in layers:
        text = f"{layers['oefh']['src']} -> {layers['oefh']['dst']} VC {layers['rh']['vc']} PSN {layers['rh']['psn']}: "
    return text + ", ".join(found.titles)


def _shown(layer: Layer) -> Iterator[str]:
    from ..protocol.naming import shows_hex

    for value in layer.values:
        f = value.field
        if f is not None and f.is_reserved and not (any(value.value) if isinstance(value.value, bytes) else value.value):
            continue
        if isinstance(value.value, bytes):
            more = f"... {len(value.value)} B" if len(value.value) > _SHOWN_BYTES else ""
            yield f"{value.name}={value.value[:_SHOWN_BYTES].hex()}{more}"
            continue
        number = f"{value.value:#x}" if f is not None and shows_hex(f) else str(value.value)
        yield f"{value.name}={number}" + (f"({value.word})" if value.word else "")
