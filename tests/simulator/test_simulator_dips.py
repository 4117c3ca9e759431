"""Goodput by time: executed bytes add up, and what is said of a dip is what the bins show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import bare
from test_simulator_paths import DOWN, run

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.fec_loss import LineErrors
from scalefab.simulator.goodput import Recovery, dips_text, find_dips
from scalefab.simulator.result import Result
from scalefab.simulator.run import simulate


@pytest.fixture(scope="module")
def clean() -> Result:
    return simulate(bare("all_to_all: {bytes_per_pair: 256KiB}"))


def with_bins(result: Result, bins: list[int], *fault_ps: int) -> Result:
    """``bins`` in units of 1 MB: more than `FRAMES_LEAST` frames each."""
    return replace(result, executed_bin_ps=1000, executed_bins=np.array(bins) * 1_000_000, fault_ps=np.array(fault_ps))


def test_bytes_add_up_and_end_with_the_run(clean: Result) -> None:
    assert int(clean.executed_bins.sum()) == clean.data_bytes
    assert (len(clean.executed_bins) - 1) * clean.executed_bin_ps <= clean.completion_ps
    assert find_dips(clean) == ()


def test_a_dip_and_its_end(clean: Result) -> None:
    bins = [0, 50, 100, 100, 100, 40, 20, 60, 99, 100, *[100] * 40]
    (dip,) = find_dips(with_bins(clean, bins, 5400))
    assert (dip.at_ps, dip.dip, dip.lowest_ps) == (5400, 0.2, 6000)
    assert dip.before_Bps == pytest.approx(100e6 * 1e12 / 1000)
    assert dip.recovery_ps == 9000 - 5400
    assert str(dip).startswith("at 5.4 ns down to 20.0 % of ")


def test_a_run_that_ends_is_no_dip(clean: Result) -> None:
    (dip,) = find_dips(with_bins(clean, [100] * 40 + [30], 20_000))
    assert (dip.dip, dip.recovery_ps) == (1.0, 0) and str(dip) == "at 20 ns no dip"


def test_faults_before_the_first_data_and_in_one_bin(clean: Result) -> None:
    bins = [0, 100, 100, 10, 100, *[100] * 40]
    dips = find_dips(with_bins(clean, bins, 500, 3100, 3200, 10_000))
    assert [(dip.at_ps, dip.dip) for dip in dips] == [(3100, 0.1), (10_000, dips[1].dip)]
    assert dips_text(dips).count("at ") == 2


def test_the_time_that_a_fault_costs(clean: Result) -> None:
    (dip,) = find_dips(with_bins(clean, [100] * 20 + [60, 10, 20, 49, 100] + [100] * 40, 20_500))
    assert (dip.dip, dip.recovery_ps, dip.lost_ps) == (0.1, 25_000 - 20_500, 400 + 900 + 800 + 510)
    assert str(dip).endswith("back to 95 % after 4.5 ns, 2.61 ns lost")
    (dip,) = find_dips(with_bins(clean, [100] * 20 + [50] * 40, 20_000))
    assert (dip.dip, dip.recovery_ps, dip.lost_ps) == (0.5, 1000, 18_000)  # the last 4 bins hold the last bytes
    assert str(dip).endswith("settled at 50.0 % after 1 ns, 18 ns lost")


def test_last_bytes_that_something_holds_up_are_looked_at(clean: Result) -> None:
    (dip,) = find_dips(with_bins(clean, [100] * 40 + [0] * 200 + [100], 39_000))
    assert (dip.dip, dip.recovery_ps, dip.lost_ps) == (0.0, None, 200_000)


def test_it_settles_lower_where_a_plane_is_gone(clean: Result) -> None:
    (dip,) = find_dips(with_bins(clean, [100] * 20 + [30, 0, 0, 10, 49, 50] + [50, 51, 49] * 12, 20_000))
    assert (dip.outcome, dip.recovery_ps) == (Recovery.LOWER, 5_000)
    assert dip.level == pytest.approx(0.5, rel=0.01) and dip.dip == 0.0
    (dip,) = find_dips(with_bins(clean, [100] * 20 + [30, 0, 0, 10, 49, 50] + [20, 80] * 20, 20_000))
    assert (dip.outcome, dip.recovery_ps, dip.level) == (Recovery.NOT_BACK, None, 0.0)
    assert str(dip).endswith("lost") and "not back to 95 %" in str(dip)


def test_noise_is_no_dip(clean: Result) -> None:
    noisy = [100, 106, 94, 103, 97] * 4
    (dip,) = find_dips(with_bins(clean, noisy + [90, 110, 93, 107] * 10, 20_000))
    assert dip.outcome is Recovery.NO_DIP
    (dip,) = find_dips(with_bins(clean, noisy + [60, 100, 100, 100] * 10, 20_000))
    assert dip.outcome is Recovery.BACK


def test_what_cannot_be_told_is_said(clean: Result) -> None:
    bins = [8000] * 20 + [0, 9000, 4000] * 10
    few = replace(with_bins(clean, bins, 20_000), executed_bins=np.array(bins))
    (dip,) = find_dips(few)
    assert (dip.outcome, dip.recovery_ps, dip.lost_ps) == (Recovery.NOT_RESOLVED, None, 0)
    assert "frames a bin; 64 would do" in str(dip)
    (dip,) = find_dips(with_bins(clean, [20, 180] * 10 + [0, 9, 0, 9] * 10, 20_000))
    assert str(dip) == "at 20 ns not resolved: goodput varies by 77 % before it already"


@pytest.mark.parametrize(
    ("row", "times"),
    [
        (Fault(3_000_000, 1, FaultKind.LOSS_RATE, 0), []),
        (Fault(3_000_000, 1, FaultKind.LOSS_RATE, 1 << 50), [3_000_000]),
        (Fault(3_000_000, 1, FaultKind.RATE, 800 * 10**9), []),
        (Fault(3_000_000, 1, FaultKind.RATE, 400 * 10**9), [3_000_000]),
        (Fault(3_000_000, 1, FaultKind.DRAIN, -1), []),
        (Fault(3_000_000, 1, FaultKind.LINE_ERRORS, line=LineErrors(0.0, 0.0)), []),
        (Fault(3_000_000, 1, FaultKind.ACK_RESUME), []),
        (Fault(3_000_000, 1, FaultKind.PORT_DRAIN, 0), []),
        (Fault(0, 1, FaultKind.LOSS_RATE, 1 << 50), []),
    ],
)
def test_what_puts_things_back_is_no_fault(row: Fault, times: list[int]) -> None:
    assert run(bare("all_to_all: {bytes_per_pair: 256KiB}"), row).fault_ps.tolist() == times


def test_sen_makes_the_dip_short() -> None:
    """Others send to a GPU whose port has died: told by SEN at once, else by RH after 1203.2 us without a sign of life."""
    found = {}
    for sen in ("on", "off"):
        scenario = bare("all_to_all: {bytes_per_pair: 8MiB}", f"fabric.sen={sen}", gpus=4, stacks=2)
        result = run(scenario, Fault(20_000_000, 3, DOWN))
        (found[sen],) = find_dips(result)
        assert int(result.executed_bins.sum()) == result.data_bytes
    assert found["off"].dip == 0.0 and found["off"].lost_ps > 1_000_000_000
    assert found["on"].dip > 0.2 and found["on"].lost_ps < 150_000_000
