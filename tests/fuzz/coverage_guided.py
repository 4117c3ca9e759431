"""Coverage-guided fuzzing of every decoder with atheris: ``python tests/fuzz/coverage_guided.py -max_total_time=300``.

The first byte of an input chooses the wire format and whether the frame gets right checksums. Needs ``pip install atheris``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))

with atheris.instrument_imports(include=["scalefab"]):
    import corpus


def one_input(data: bytes) -> None:
    """Give one input to all decoders."""
    if not data:
        return
    choice, body = data[0], bytearray(data[1:])
    if choice & 1:
        corpus.seal(body)
    corpus.check_bytes(bytes(body), corpus.WIRES[(choice >> 1) % 3])


def main() -> None:
    """Write the first corpus and let atheris run."""
    with tempfile.TemporaryDirectory() as folder:
        for i, data in enumerate(corpus.frames() + corpus.link_forms()):
            Path(folder, f"{i:03}").write_bytes(bytes([i % 6 | 1]) + data)
        atheris.Setup([*sys.argv, folder, "-max_len=2200", "-print_final_stats=1"], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
