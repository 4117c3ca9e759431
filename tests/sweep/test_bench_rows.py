"""The rows of a sweep: every byte counted, closed forms kept, the faster algorithm chosen; one kernel for all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scalefab.errors import InfeasibleError, InputError, NoProgressError, RunInterrupted
from scalefab.scenario.fabricfile import FabricSetup, builtin_fabrics, read_fabric
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import Progress, simulate
from scalefab.sweep import nccl
from scalefab.sweep.bench import Row, make_plan, run_rows
from scalefab.sweep.nccl import Operation
from scalefab.workload.spec import Algorithm

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("fabric.gpus.count=8", "fabric.gpus.stacks=1", "fabric.switches.planes=1")


@pytest.fixture(scope="module")
def setup() -> FabricSetup:
    return read_fabric("ethx16", SMALL)


def rows(setup: FabricSetup, operation: Operation, sizes: tuple[int, ...], **more: object) -> list[Row]:
    return list(run_rows(setup, make_plan(setup, operation, sizes, **more), simulate))  # type: ignore[arg-type]


@pytest.mark.parametrize("operation", list(Operation))
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_every_byte_arrives_and_no_row_beats_its_bound(setup: FabricSetup, operation: Operation, ranks: int) -> None:
    there = ("ring", "direct") if operation not in (Operation.ALL_TO_ALL, Operation.SENDRECV) else ("direct",)
    for algorithm in there:
        for row in rows(setup, operation, (1000, 100_001), ranks=ranks, algorithm=algorithm, datatype="half"):
            assert (row.wrong, row.lost_frames) == (0, 0)
            assert 0 < row.bound_ps <= row.time_ps
            assert row.algbw_GBps == pytest.approx(row.size_bytes / row.time_ps * 1e3)
            assert row.busbw_GBps == pytest.approx(row.algbw_GBps * float(nccl.bus_factor(operation, ranks)))


def test_large_sizes_come_near_the_line_rate(setup: FabricSetup) -> None:
    (row,) = rows(setup, Operation.ALL_TO_ALL, (16 << 20,))
    assert 0.98 < row.busbw_GBps / (100 * 1984 / (1984 + 48 + 20)) <= 1.0  # headers and trailers 48 B, preamble and gap 20 B


def test_auto_takes_the_faster_and_says_which(setup: FabricSetup) -> None:
    small, large = rows(setup, Operation.BROADCAST, (64, 4 << 20))
    assert small.algorithm is Algorithm.DIRECT and large.algorithm is Algorithm.RING
    for row in (small, large):
        alone = {name: rows(setup, Operation.BROADCAST, (row.size_bytes,), algorithm=name)[0] for name in ("ring", "direct")}
        assert row.time_ps == min(other.time_ps for other in alone.values())
        assert all(alone[name].time_ps == time_ps for name, time_ps in row.tried_ps.items())


def test_an_algorithm_that_cannot_win_is_not_run(setup: FabricSetup) -> None:
    small, _ = rows(setup, Operation.ALL_REDUCE, (64, 1 << 20))
    assert set(small.tried_ps) == {"direct"}  # the ring's 14 steps have a bound above direct's time


def test_rows_do_not_compile_again(setup: FabricSetup) -> None:
    compiled = []

    def counted(scenario: Scenario) -> Result:
        def watch(progress: Progress) -> None:
            if progress.phase == "compile":
                compiled.append(progress.cached)

        return simulate(scenario, progress=watch)

    plan = make_plan(setup, Operation.ALL_REDUCE, (8, 1 << 20, 8), algorithm="ring")
    assert len(list(run_rows(setup, plan, counted))) == 3
    assert compiled[1:] == [True, True]


def test_a_lost_byte_is_counted(setup: FabricSetup) -> None:
    def lossy(scenario: Scenario) -> Result:
        result = simulate(scenario)
        return replace(result, data_bytes=result.data_bytes - 5)

    (row,) = run_rows(setup, make_plan(setup, Operation.SENDRECV, (64,)), lossy)
    assert row.wrong == 2  # elements of 4 B

    def unfinished(scenario: Scenario) -> Result:
        result = simulate(scenario)
        result.operations.executed_ps[0] = -1
        return result

    (row,) = run_rows(setup, make_plan(setup, Operation.SENDRECV, (64,)), unfinished)
    assert row.wrong == 16


@pytest.mark.parametrize(("status", "error"), [(Status.PARTIAL, RunInterrupted), (Status.NO_PROGRESS, NoProgressError)])
def test_a_run_that_does_not_end_ends_the_sweep(setup: FabricSetup, status: Status, error: type[Exception]) -> None:
    done: list[Row] = []

    def stopping(scenario: Scenario) -> Result:
        result = simulate(scenario)
        return replace(result, status=status) if done else result

    with pytest.raises(error):
        for row in run_rows(setup, make_plan(setup, Operation.SENDRECV, (64, 128)), stopping):
            done.append(row)
    assert [row.size_bytes for row in done] == [64]


def test_what_a_plan_refuses(setup: FabricSetup) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(setup, Operation.ALL_TO_ALL, (1 << 20,), ranks=9, root=1, algorithm="ring")
    assert [problem.file for problem in caught.value.problems] == ["--ranks", "--algorithm", "--root"]
    with pytest.raises(InputError, match="no size leaves each of 8 ranks anything"):
        make_plan(setup, Operation.ALL_GATHER, (8, 64))
    assert make_plan(setup, Operation.ALL_GATHER, (8, 64, 128)).skipped == (8, 64)


@pytest.mark.parametrize("name", builtin_fabrics())
def test_built_in_fabrics_are_there(name: str) -> None:
    setup = read_fabric(name)
    assert (setup.name, setup.warnings) == (name, ())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_a_fabric(path: Path) -> None:
    setup = read_fabric(str(path))
    assert setup.spec.endpoints.count >= 2 and setup.options.until_ps == 0
    assert not [key for key in setup.origins if key.startswith("workload")]


def test_a_fabric_needs_no_workload_and_tells_its_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rack.yaml").write_text(builtin_fabrics()["ethx16"].replace("planes", "plains"))
    with pytest.raises(InputError, match=r"^rack\.yaml:6: fabric\.switches\.plains: unknown setting; did you mean 'planes'\?$"):
        read_fabric("rack.yaml")
    with pytest.raises(InputError, match=r"'ethx46' is no fabric; expected a scenario file, or one of .*did you mean 'ethx64'"):
        read_fabric("ethx46")
    with pytest.raises(InputError, match=r"^rak\.yaml: cannot be read: .*did you mean 'rack\.yaml'"):
        read_fabric("rak.yaml")
    with pytest.raises(InfeasibleError, match=r"^--set fabric\.gpus\.count=100: fabric\.gpus\.count: each of the"):
        read_fabric("ethx64", ["fabric.gpus.count=100"])
    with pytest.raises(InputError, match=r"^--set run\.until=1us: is read by nothing"):
        read_fabric("ethx64", ["run.until=1us"])
