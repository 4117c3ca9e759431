"""Conformance cases: their files, what is wrong with a file, the 22 built-in ones, and the command."""

from __future__ import annotations

import csv
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from scalefab.cli import app
from scalefab.conformance.expectation import QUANTITIES
from scalefab.conformance.expressions import ExpressionError, parse_expression
from scalefab.conformance.load import built_in_cases, built_in_ids, parse_cases, read_cases
from scalefab.conformance.measures import FLOW_MEASURES, PORT_COUNTERS, RX_STATES, STATES, TX_STATES, VC_COUNTERS
from scalefab.conformance.models import Case
from scalefab.conformance.plan import make_plan
from scalefab.conformance.run import Row, make_plans, run_plans
from scalefab.conformance.settings import PortSettings, Topology
from scalefab.conformance.traffic import FAULT_ACTIONS, Fault, Flow
from scalefab.errors import ExitCode, InputError

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "conformance.md"
IDS = [f"LLR-{n:02d}" for n in range(1, 11)] + [f"CBFC-{n:02d}" for n in range(1, 13)]
SIZES_ALL = 23

CASE = """
id: T-1
traffic: [{name: a, source: tester1, destination: tester2, frames: 100}]
expect: [{flow: a, measure: lost, equals: 0}]
"""


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        make_plans(parse_cases(text, "case.yaml"))
    return [str(problem) for problem in error.value.problems]


def run_text(text: str) -> list[Row]:
    return list(run_plans(make_plans(parse_cases(text, "case.yaml"))))


def test_ids_in_order() -> None:
    assert list(built_in_ids()) == IDS


@pytest.mark.parametrize("name", IDS)
def test_built_in_case_passes(name: str) -> None:
    rows = list(run_plans(make_plans(built_in_cases([name]))))
    assert rows
    assert [row.note for row in rows if not row.passed] == []
    assert {row.id for row in rows} == {name}


@pytest.mark.parametrize("name", ["LLR-09", "CBFC-01", "CBFC-02", "CBFC-04"])
def test_all_sizes_are_a_row_each(name: str) -> None:
    for one in built_in_cases([name])[:1]:
        assert len(one.case.sizes) == SIZES_ALL
        assert {64, 65, 127, 128, 129, 1517, 1518, 1519, 9215, 9216, 9217} <= set(one.case.sizes)
        assert 63 not in one.case.sizes


@pytest.mark.parametrize("file", ["settings.yaml", "tables.yaml", "acceptance.yaml"])
def test_settings_and_faults_do_what_the_document_says(file: str) -> None:
    rows = list(run_plans(make_plans(read_cases(HERE / file))))
    assert [(row.id, row.size_bytes, row.note) for row in rows if not row.passed] == []


def test_every_problem_is_told_with_its_line() -> None:
    text = (HERE / "broken.yaml").read_text(encoding="utf-8")
    expected = (HERE / "broken.txt").read_text(encoding="utf-8").splitlines()
    assert [line.replace("case.yaml", "broken.yaml") for line in problems(text)] == expected


def test_empty_and_foreign_files() -> None:
    assert problems("") == ["case.yaml:1: the file is empty; expected a case, or a list of cases"]
    assert problems("5") == ["case.yaml:1: the file holds 5; expected a case, or a list of cases"]
    assert problems("[]") == ["case.yaml:1: cases: is empty; expected at least 1"]


def test_ends_of_a_link_must_agree() -> None:
    text = CASE + "ports: {tester1: {credit_size: 64}, dut1: {credit_size: 128}}\n"
    assert problems(text) == [
        "case.yaml:5: ports.tester1.credit_size: credit_size at tester1 and at dut1 differ; expected one value a link"
    ]
    more_special = parse_cases(CASE + "ports: {all: {credit_size: 64}, dut1: {credit_size: 128}}\n", "case.yaml")
    plan = make_plan(more_special[0].case, 64)
    assert [plan.limits[port].credit_size for port in ("tester1", "dut1", "tester2", "dut2")] == [128, 128, 64, 64]


def test_a_pcp_with_its_dei_goes_before_the_pcp_alone() -> None:
    for text in ("{5/1: 2, 5: 1}", "{5: 1, 5/1: 2}"):
        case = parse_cases(CASE + f"ports: {{all: {{pcp_map: {text}}}}}\n", "case.yaml")[0].case
        assert case.ports.all.pcp_map == {10: 1, 11: 2}


def test_a_value_that_yaml_splits_is_told_to_be_quoted() -> None:
    told = problems(CASE.replace("equals: 0", "equals: min(2, frames)"))
    assert any("must stand in quotes" in line for line in told)


def test_vcs_that_the_bench_does_not_have() -> None:
    text = CASE.replace("frames: 100", "frames: 100, vc: 9") + "topology: {vcs: 8}\n"
    assert problems(text) == [
        "case.yaml:5: topology.vcs: VC 9 is named, the links have 8; expected topology.vcs: 10, or lower VCs"
    ]


def test_a_list_is_a_file_too() -> None:
    entry = CASE.strip().replace("\n", "\n  ")
    cases = parse_cases(f"- {entry}\n- {entry.replace('T-1', 'T-2')}\n", "list.yaml")
    assert [one.case.id for one in cases] == ["T-1", "T-2"]


def test_bare_numbers_have_the_documented_units() -> None:
    bare = parse_cases(CASE + "topology: {rate: 400, cable: 5, phy: 100}\nidle: 2000\nports: {all: {replay_timer: 7000}}\n", "c")
    text = parse_cases(
        CASE + "topology: {rate: 400Gb/s, cable: 5m, phy: 100ns}\nidle: 2us\nports: {all: {replay_timer: 7us}}\n", "c"
    )
    assert bare[0].case == text[0].case


def test_computed_limits_are_those_of_the_document() -> None:
    plan = make_plan(parse_cases(CASE + "topology: {limits_for: 500m}\n", "c")[0].case, 64)
    of = plan.limits["dut2"]
    assert (plan.round_trip_ps, of.outstanding_bytes_max, of.outstanding_frames_max) == (5_405_200, 540_520, 6_435)
    assert (of.replay_timer, of.data_age, of.credit_limit) == (10_810_400, 43_241_600, 8_934)


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 * 3 + 1", 7), ("ceil(65 / 64)", 2), ("2**20 - 1", 1_048_575), ("7 // 2", 3), ("1us + 5ns", 1_005_000), ("2KiB", 2_048)],
)
def test_arithmetic(text: str, value: int) -> None:
    assert parse_expression(text).value(lambda _: 0) == value


@pytest.mark.parametrize(
    "text",
    ["f'{1}'", "[1]", "(lambda: 1)()", "a.b.c", "x[1]", "1 if 1 else 2", "open('x')", "2**", "max(1)", "'a'", "1j", "x.y[40]"],
)
def test_no_more_than_arithmetic(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_expression(text)


def test_arithmetic_has_an_end() -> None:
    for text in ("2**64**2", "9**64*9**64*9**64*9**64", "1 / 0", "2**0.5"):
        with pytest.raises(ExpressionError):
            parse_expression(text).value(lambda _: 0)


def test_a_wrong_expectation_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built_in = files("scalefab.conformance").joinpath("cases", "LLR-02.yaml").read_text(encoding="utf-8")
    planted = built_in.replace("counter: LLR_TX_REPLAY, equals: 1", "counter: LLR_TX_REPLAY, equals: 2")
    assert planted != built_in
    file = tmp_path / "planted.yaml"
    file.write_text(planted, encoding="utf-8")
    assert app.run_app(["conformance", "--scenario", str(file)]) is ExitCode.FAILED
    out = capsys.readouterr().out
    assert "LLR-02 64 B: dut2.LLR_TX_REPLAY: expected == 2, measured 1" in out
    assert "1 cases, 3 runs: 3 failed" in out


def test_json_and_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "records.csv"
    assert app.run_app(["conformance", "llr-05", "--json", "--csv", str(records)]) is ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert found["command"] == "conformance"
    assert [row["size_bytes"] for row in found["rows"]] == [64, 1518, 9216]
    for row in found["rows"]:
        assert row["id"] == "LLR-05" and row["passed"] is True and row["note"] == ""
        assert row["expected"].keys() == row["measured"].keys()
        assert row["expected"]["dut1.LLR_RX_EXPECTED_SEQ_POISONED"] == "== 1"
        assert row["measured"]["dut1.LLR_RX_EXPECTED_SEQ_POISONED"] == 1
        assert (row["source"], row["destination"]) == ("tester1", "tester2")
    with records.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["result"] for line in lines] == ["pass"] * 3
    assert lines[0]["case"] == "LLR-05" and lines[0]["frame_size_bytes"] == "64"


def test_unknown_ids_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_app(["conformance", "LLR-1", "CBFC-13"]) is ExitCode.INPUT
    err = capsys.readouterr().err
    assert "no case 'LLR-1'" in err and "no case 'CBFC-13'" in err and "did you mean" in err


def test_the_same_file_gives_the_same_numbers() -> None:
    text = CASE.replace("frames: 100", "frames: 2000") + "faults: [{port: tester1, frame_loss: 1%}]\n"
    text = text.replace("equals: 0}]", "equals: 0}, {port: tester1, counter: LLR_TX_OK, at_least: 1}]")
    first, again = run_text(text)[0], run_text(text)[0]
    assert [check.measured for check in first.checks] == [check.measured for check in again.checks]
    assert first.checks[1].measured != 2000  # something was lost and sent again


def test_the_document_names_everything() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    words = [*PORT_COUNTERS, *VC_COUNTERS, *STATES, *FLOW_MEASURES, *QUANTITIES, *FAULT_ACTIONS]
    words += [*Topology.model_fields, *PortSettings.model_fields, *Flow.model_fields, *Fault.model_fields, *Case.model_fields]
    missing = [word for word in words if f"`{word}`" not in document and f"`{word}: " not in document]
    assert missing == []
    assert [state for state in (*TX_STATES, *RX_STATES) if state not in document] == []


def test_examples_of_the_document_are_cases() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
    whole = [block for block in blocks if block.startswith("id:")]
    assert whole
    for block in whole:
        assert [row.note for row in run_text(block) if not row.passed] == []
    for block in (block for block in blocks if block.startswith("ports:")):
        parse_cases(CASE + block, "document")
    for block in (block for block in blocks if block.startswith("  - {port:")):
        parse_cases(CASE.split("expect:")[0] + "expect:\n" + block, "document")
