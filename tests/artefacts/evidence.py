"""Make frames of every kind, let tshark, Scapy and ``scalefab dissect`` read them, and compare every field.

python tests/artefacts/evidence.py 43000 > docs/evidence/dissectors.txt
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import scapy
from comparing import all_fields, told, write
from samples import USER0, Sample, Seen, samples
from test_scapy import flat as scapy_flat
from test_scapy import forget

from scalefab.artefacts.lua import lua_dissector
from scalefab.artefacts.scapy_layer import LLDP_TLV, ethernet, line
from scalefab.capture.dissect import dissect_frame, dissect_line

SEED = 2025


def by_tshark(made: Sequence[Sample]) -> list[Seen]:
    with tempfile.TemporaryDirectory() as folder:
        lua, capture = Path(folder, "scalefab.lua"), Path(folder, "made.pcapng")
        lua.write_text(lua_dissector(), encoding="utf-8")
        write(capture, made)
        return told(lua, capture)


def by_scapy(sample: Sample) -> Seen:
    data = sample.data
    if sample.name == "LLDP":
        at = data.index(bytes.fromhex("02454c01")) - 2
        data = data[at : at + 2 + (int.from_bytes(data[at : at + 2]) & 511)]
        packet = LLDP_TLV(data)
    else:
        packet = (line if sample.link_type == USER0 else ethernet)(data)
    seen = scapy_flat(packet)
    if forget(packet) != data:
        seen["bytes built again"] = [0]
    return seen


def by_dissect(sample: Sample) -> Seen:
    found = dissect_line(sample.data) if sample.link_type == USER0 else dissect_frame(sample.data)
    seen: Seen = {}
    for layer in found.layers:
        for value in layer.values:
            seen.setdefault(f"{layer.name}.{value.name}", []).append(value.value)
    if sample.name == "LLDP":
        seen.pop("fcs.fcs", None)
    if (found.icrc, found.fcs, found.faults) != (sample.icrc, sample.fcs, ()):
        seen["verdict"] = [0]
    return seen


def main() -> int:
    count = int(sys.argv[1])
    made = list(samples(SEED, count))
    version = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout.split(".\n")[0]
    values = sum(len(listed) for sample in made for listed in sample.seen.values())
    print(f"{count} packets, seed {SEED}; {values} field values, each told by the value that the packet was made from")
    print(f"{len(all_fields())} different fields; with tags, without FCS, on a line with preambles, as the raw carrier has them")
    wrong = {
        version: sum(a != b.seen for a, b in zip(by_tshark(made), made, strict=True)),
        f"Scapy {scapy.__version__}, and the same bytes built again": sum(by_scapy(s) != s.seen for s in made),
        "scalefab dissect, and its verdict on ICRC and FCS": sum(by_dissect(s) != s.seen for s in made),
    }
    for who, number in wrong.items():
        print(f"{who}: {number} packets differ")
    for name, number in Counter(sample.name for sample in made).items():
        print(f"  {number:6} {name}")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
