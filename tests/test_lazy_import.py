"""What is loaded when: help and version answer at once, and the public names are there."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import scalefab

HEAVY = ("numba", "plotly", "pydantic", "numpy", "yaml", "rich")


TYPERS_OWN = {"pydantic"}  # newer versions of Typer load it by themselves to read options; the bare --help does not


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["check", "--help"],
        ["timeline", "--help"],
        ["bench", "--help"],
        ["explain", "--help"],
        ["explore", "--help"],
        ["schema", "--help"],
        ["catalogue", "--help"],
        ["fec", "--help"],
        ["--version"],
        [],
    ],
)
def test_nothing_heavy_is_loaded_to_answer(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom scalefab.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stderr.splitlines()[-1]))
    assert loaded <= (set() if arguments == ["--help"] else TYPERS_OWN)


def test_import_is_lazy_and_names_are_there() -> None:
    code = f"import scalefab, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    assert dir(scalefab) == sorted(scalefab.__all__)
    for name in scalefab.__all__:
        assert getattr(scalefab, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        scalefab.simulat  # noqa: B018


def test_the_version_is_the_package_s() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert scalefab.__version__ == project["version"]
