"""Broken files and exactly what is said about them: the class of the error, then one line a problem."""

from pathlib import Path

import pytest

from scalefab.errors import InfeasibleError, InputError
from scalefab.scenario import read_scenario

BROKEN = Path(__file__).parent / "broken"
FILES = sorted(path.name for path in BROKEN.glob("*.yaml"))


def test_every_broken_file_has_its_message() -> None:
    assert len(FILES) >= 14
    assert sorted(path.with_suffix(".yaml").name for path in BROKEN.glob("*.txt")) == FILES


@pytest.mark.parametrize("name", FILES)
def test_message(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN)  # messages begin with the path as the user wrote it
    with pytest.raises(InputError) as caught:
        read_scenario(name)
    assert f"{caught.value.code}\n{caught.value}\n" == (BROKEN / name).with_suffix(".txt").read_text()


def test_a_typo_is_one_line_with_file_line_and_near_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN)
    with pytest.raises(InputError) as caught:
        read_scenario("typo-switchs.yaml")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.key, problem.near) == ("typo-switchs.yaml", 4, "fabric.switchs", "switches")
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_is_another_error_than_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN)
    with pytest.raises(InfeasibleError) as caught:
        read_scenario("does-not-fit.yaml")
    assert caught.value.exit_code == 3
    with pytest.raises(InputError) as caught_input:
        read_scenario("ranges.yaml")
    assert caught_input.value.exit_code == 2


def test_a_fault_of_the_network_and_one_of_the_workload_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN)
    with pytest.raises(InputError) as caught:
        read_scenario("does-not-fit.yaml", ["workload.0.all_to_all.ranks=100"])
    assert caught.value.code == "INPUT"
    assert [problem.key for problem in caught.value.problems] == ["fabric.gpus.count", "workload[0].all_to_all.ranks"]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rack.yaml").write_text("scalefab: 1\n")
    with pytest.raises(InputError, match=r"^rak\.yaml: cannot be read: No such file.*did you mean 'rack\.yaml'\?$"):
        read_scenario("rak.yaml")
    with pytest.raises(InputError, match="Is a directory"):
        read_scenario(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_scenario("a\0b")
    Path("large.yaml").write_bytes(b"# " + b"x" * (1 << 20))
    with pytest.raises(InputError, match=r"^large\.yaml: is larger than 1 MB"):
        read_scenario("large.yaml")
