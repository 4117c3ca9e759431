"""C, SystemVerilog and the document say what the tables say, and are no older than they."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scalefab.artefacts.c_header import c_header
from scalefab.artefacts.files import artefacts
from scalefab.artefacts.lua import lua_dissector
from scalefab.artefacts.systemverilog import systemverilog_package
from scalefab.artefacts.wire_format import bit_diagram, wire_format
from scalefab.protocol.fields import Field, Header
from scalefab.protocol.layout import OEFH, RH
from scalefab.protocol.naming import enumerations, field_names, header_key, headers
from scalefab.protocol.opcodes import OPCODES
from scalefab.protocol.tables import FORMS

ROOT = Path(__file__).parents[2]


def drawn(rng: random.Random, header: Header) -> tuple[bytes, list[tuple[Field, int]]]:
    """Random bytes and the value of each field up to 64 bits, read as one number."""
    data = rng.randbytes(header.size_bytes)
    bits = "".join(f"{byte:08b}" for byte in data)
    found = [(f, int(bits[f.bit : f.bit + f.width], 2)) for whole in header.fields for f in (whole, *whole.parts)]
    return data, [(f, value) for f, value in found if f.width <= 64]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_header_compiles_without_warnings_and_reads_every_field(tmp_path: Path) -> None:
    (tmp_path / "scalefab.h").write_text(c_header())
    rng = random.Random(1)
    lines, expected = ['#include "scalefab.h"', "#include <inttypes.h>", "#include <stdio.h>", "int main(void) {"], []
    for header in headers():
        data, values = drawn(rng, header)
        listed = ", ".join(map(str, data))
        key = header_key(header).upper()
        lines.append(f"{{ uint8_t p[SCALEFAB_{key}_BYTES] = {{ {listed} }}, q[SCALEFAB_{key}_BYTES] = {{ 0 }};")
        for f, value in values:
            name = f.name.upper()
            lines.append(f'printf("%" PRIu64 "\\n", SCALEFAB_GET(p, {key}, {name}));')
            lines.append(f"SCALEFAB_SET(q, {key}, {name}, SCALEFAB_GET(p, {key}, {name}));")
            lines.append(f'if (SCALEFAB_GET(q, {key}, {name}) != SCALEFAB_GET(p, {key}, {name})) printf("set {key} {name}\\n");')
            expected.append(str(value))
        lines.append("}")
    lines += ['return SCALEFAB_OPCODE_ERROR != 63 || scalefab_get_le32((const uint8_t *)"\\1\\2\\3\\4") != 0x04030201u; }']
    (tmp_path / "t.c").write_text("\n".join(lines))
    flags = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror"]
    subprocess.run(["gcc", *flags, "t.c", "-o", "t"], cwd=tmp_path, check=True, timeout=120)
    assert subprocess.run(["./t"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split() == expected


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs iverilog")
def test_systemverilog_package_compiles_and_its_structs_lie_as_on_the_wire(tmp_path: Path) -> None:
    (tmp_path / "scalefab_pkg.sv").write_text(systemverilog_package())
    rng = random.Random(2)
    declared, done, expected = [], [], []
    members = dict(struct_members(systemverilog_package()))
    for header in headers():
        data, _ = drawn(rng, header)
        key, bits = header_key(header), "".join(f"{byte:08b}" for byte in data)
        declared.append(f"{key}_t x_{key};")
        done.append(f"x_{key} = {8 * len(data)}'h{data.hex()};")
        for f, member in zip(header.fields, members[key], strict=True):
            done.append(f'$display("%b", x_{key}.{member});')
            expected.append(bits[f.bit : f.bit + f.width])
    text = "\n".join(["module top;", "import scalefab_pkg::*;", *declared, "initial begin", *done, "end", "endmodule"])
    (tmp_path / "top.sv").write_text(text)
    command = ["iverilog", "-g2012", "-Wall", "-o", "t.vvp", "scalefab_pkg.sv", "top.sv"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (built.returncode, [line for line in built.stderr.splitlines() if "timescale" not in line]) == (0, [])
    said = subprocess.run(["vvp", "-n", "t.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    assert said.stdout.split() == expected


@pytest.mark.skipif(shutil.which("verilator") is None, reason="needs verilator")
def test_verilator_finds_nothing_in_the_package(tmp_path: Path) -> None:
    (tmp_path / "scalefab_pkg.sv").write_text(systemverilog_package())
    top = "module top(input scalefab_pkg::oefh_t h, output scalefab_pkg::opcode_e op, output logic [15:0] dst);\n"
    top += "  assign dst = h.dst_id;\n  assign op = scalefab_pkg::OPCODE_LOAD;\nendmodule\n"
    (tmp_path / "top.sv").write_text(top)
    command = ["verilator", "--lint-only", "-Wall", "-Wno-UNUSED", "scalefab_pkg.sv", "top.sv", "--top-module", "top"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def struct_members(text: str) -> list[tuple[str, list[str]]]:
    found = re.findall(r"typedef struct packed \{(.*?)\} (\w+)_t;", text, re.S)
    return [(name, re.findall(r"logic(?: signed)? \[\d+:0\] (\w+);", body)) for body, name in found]


def test_systemverilog_structs_are_as_long_as_their_layouts() -> None:
    text = systemverilog_package()
    found = re.findall(r"typedef struct packed \{(.*?)\} (\w+)_t;", text, re.S)
    sizes = {name: sum(int(n) + 1 for n in re.findall(r"logic.*?\[(\d+):0\] \w+;", body)) for body, name in found}
    assert sizes == {header_key(h): 8 * h.size_bytes for h in headers()}
    names = re.findall(r"(?:localparam [^;]*?|, |^    )(\b[A-Z][A-Z0-9_]+)(?= =)", text, re.M)
    assert len(names) == len(set(names)), "a name stands twice"


def test_the_document_is_not_stale() -> None:
    """To renew it: scalefab artefacts docs > docs/wire-format.md"""
    assert (ROOT / "docs" / "wire-format.md").read_text(encoding="utf-8") == wire_format()


def test_the_document_says_what_it_is_and_holds_every_row() -> None:
    text = wire_format()
    assert "open profile" in text and "not\nByteDance's confidential wire format" in text
    for row in OPCODES.values():
        assert f"| {row.opcode} | {row.name} |" in text
    for rows in FORMS.values():
        for form in rows.values():
            assert f"| {form.number:#04x} | {form.name} |" in text
    for header in headers():
        for f in header.fields:
            assert re.search(rf"^\| {f.bit} \| {f.width} \| {f.name} \| .* \| `{f.origin}` \|$", text, re.M), (
                header.name,
                f.name,
            )


def test_bit_diagrams() -> None:
    assert "\n".join(bit_diagram(OEFH)) == (
        " 0                   1                   2                   3\n"
        " 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1\n"
        "+-------------------------------+-------------------------------+\n"
        "|             dst_id            |           reserved0           |\n"
        "+-------------------------------+-------------------------------+\n"
        "|           reserved1           |             src_id            |\n"
        "+-------------------------------+-------+---+-------+-----------+\n"
        "|          total_length         | stack | a | uplink|    hash   |\n"
        "+-------------------------------+-------+---+-------+-----------+\n"
        "|           ethertype           |\n"
        "+-------------------------------+\n"
        "a: port"
    )
    for header in headers():
        lines = [line for line in bit_diagram(header) if line[:1] in "+|"]
        assert all(len(line) == len(set(line)) or line[-1] in "+|" for line in lines)
        assert len({len(line) for line in lines if line[0] == "|"}) <= 2


def test_every_generated_file_says_that_the_profile_is_open() -> None:
    for artefact in artefacts():
        text = artefact.make()
        assert "do not edit" in text and "confidential wire format" in text, artefact.name
        assert text == artefact.make()


def test_the_dissector_holds_every_row_and_field() -> None:
    text = lua_dissector()
    for row in OPCODES.values():
        assert f'name = "{row.name}"' in text
    for header in headers():
        for f in header.fields:
            assert f'name = "{f.name}"' in text


def test_names_are_unique() -> None:
    assert len(field_names()) == len(set(field_names()))
    assert len({header_key(h) for h in headers()}) == len(headers())
    assert len({e.name for e in enumerations()}) == len(enumerations())
    assert "rh.psn" in field_names() and RH in headers()
