"""Litmus tests: forbidden outcomes never occur with order and do without; also on links that err, flap and die."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scalefab.cli.litmus import run_tests
from scalefab.conformance.litmus.load import built_in_tests, parse_litmus, read_litmus
from scalefab.conformance.litmus.run import FABRIC, Row, run_litmus
from scalefab.errors import ExitCode, InputError
from scalefab.scenario import parse_scenario

FAILING = FABRIC.replace("count: 8}", "count: 8, response_queue: 1KiB}").replace(
    "workload:",
    """  ber: 1.0e-5
  burst: 0.97
faults:
  - {at: 10us, link: gpu2.port0, flap: {period: 60us, down: 10us, count: 60}}
  - {at: 25us, link: gpu3.port1, flap: {period: 47us, down: 5us, count: 80}}
  - {at: 30us, link: gpu0.port2, flap: {period: 71us, down: 15us, count: 50}}
  - {at: 1ms, node: plane3, down: on, until: 2ms}
workload:""",
    1,
)


@pytest.mark.parametrize("name", built_in_tests())
def test_order_forbids_the_outcome_and_without_it_it_occurs(name: str) -> None:
    for row in run_litmus(read_litmus([name]), 1500, 1):
        assert not row.failure, row


@pytest.mark.parametrize("name", ["MP", "MP+put", "MP+put_signal", "SB", "2+2W", "CoRR", "MP+page"])
def test_failures_do_not_change_what_order_means(name: str) -> None:
    for row in run_litmus(read_litmus([name]), 800, 2, parse_scenario(FAILING, "failing.yaml", ())):
        assert not row.failure, row


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 8))
def test_failures_do_not_change_what_order_means_at_length(seed: int) -> None:
    for row in run_litmus(read_litmus([]), 4000, seed, parse_scenario(FAILING, "failing.yaml", ())):
        assert not row.failure, row


def test_the_same_seed_gives_the_same_outcomes() -> None:
    first, second = (list(run_litmus(read_litmus(["SB"]), 100, 9)) for _ in range(2))
    assert first == second


def test_a_fence_that_is_left_out_is_caught() -> None:
    broken = read_litmus(["MP+put"])[0]
    text = "\n".join(
        [
            "name: broken",
            "places: {x: 2, x8: x + 130944, y: 2}",
            "threads:",
            '  - "0: put.posted x 128KiB value=1; store.posted y 1"',
            '  - "1: r0 = load.acquire y; r1 = load x; r2 = load x8"',
            f"outcome: {broken.text}",
        ]
    )
    (row,) = run_litmus([parse_litmus(text, "broken.yaml")], 1000, 1)
    assert row.failure == "a forbidden outcome was seen" and row.seen > 0


BROKEN = {
    "places: {x: 2}\nthreads: ['0: stor x 1']": ("threads", "no instruction 'stor'", "store"),
    "places: {x: 2}\nthreads: ['0: store z 1']": ("threads", "'z' in 'store z 1' is no target", ""),
    "places: {x: 2, y: w + 8}\nthreads: ['0: store x 1']": ("places", "'w + 8' is no place", ""),
    "places: {x: 2}\nthreads: ['0: r0 = store x 1']": ("threads", "'store x 1' brings nothing back", ""),
    "places: {x: 2}\nthreads: ['0: r0 = load x; r0 = load x']": ("threads", "'r0' is taken already", ""),
}


@pytest.mark.parametrize("body", BROKEN)
def test_what_is_wrong_with_a_file_is_told_with_its_line(body: str) -> None:
    where, message, near = BROKEN[body]
    with pytest.raises(InputError) as caught:
        parse_litmus(f"name: t\noutcome: x == 1\n{body}\n", "t.yaml")
    found = [p for p in caught.value.problems if p.message == message]
    assert found and found[0].file == "t.yaml" and found[0].line >= 3 and where in found[0].key and found[0].near == near


def test_an_outcome_of_unknown_names_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        parse_litmus("name: t\nplaces: {x: 2}\nthreads: ['0: r0 = load x']\noutcome: r1 == 1 and x = 2\n", "t.yaml")
    assert [p.message for p in caught.value.problems] == ["'r1' is no register and no place", "'x = 2' is no condition"]


def test_what_was_shown_before_ctrl_c_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(run_litmus(read_litmus(["CoWW"]), 20, 1))

    def interrupted(*_args: object) -> Iterator[Row]:
        yield from rows
        raise KeyboardInterrupt

    monkeypatch.setattr("scalefab.conformance.litmus.run.run_litmus", interrupted)
    assert run_tests(["CoWW"], on=None, instances=20, seed=1, json_wanted=False) is ExitCode.INTERRUPTED
    said = capsys.readouterr()
    assert "CoWW" in said.out and "interrupted after 1 variants" in said.err


def test_a_domain_that_is_too_small_is_refused() -> None:
    small = parse_scenario(FABRIC.replace("count: 8", "count: 4"), "small.yaml", ())
    with pytest.raises(InputError, match="IRIW needs 6 GPUs"):
        list(run_litmus(read_litmus(["IRIW"]), 10, 1, small))
