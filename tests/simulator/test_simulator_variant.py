"""The lean form of the kernel gives what the full one gives, and is taken where nothing that it leaves out can happen."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from simulated import bare
from test_simulator_tiers import tiered

from scalefab.compiled import jit_enabled
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.scenario.scenario import Scenario
from scalefab.simulator import records, run
from scalefab.simulator.guess import Variant, guess
from scalefab.simulator.run import simulate
from scalefab.simulator.states import state_of
from scalefab.simulator.variant import FIXED, pack, variant_of

LEAN = (
    bare("all_to_all: {bytes_per_pair: 64KiB}", stacks=2),
    bare("all_to_all: {bytes_per_pair: 8KiB, operation: store, posted: false}", gpus=5),
    bare("permutation: {operation: get, bytes: 200KiB}", "fabric.gpus.response_queue=1KiB"),
    bare("incast: {operation: load, bytes: 24KiB, transaction: 64B}", "fabric.gpus.buffer=8KiB"),
    bare("permutation: {operation: put_signal, bytes: 64KiB}", spray="least_queued", stacks=3),
    bare("all_to_all: {bytes_per_pair: 64KiB}", "fabric.llr.enabled=off"),
    tiered("all_to_all: {bytes_per_pair: 64KiB}"),
)


def flat(result: Any) -> dict[str, Any]:
    left_out = {"manifest", "wall_s", "compile_s", "peak_MB", "notes"}
    return {field.name: getattr(result, field.name) for field in fields(result) if field.name not in left_out}


@pytest.mark.parametrize("scenario", LEAN, ids=range(len(LEAN)))
def test_both_forms_give_the_same(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    assert guess(scenario) is variant_of(state_of(scenario, 1)) is Variant.LEAN
    lean = simulate(scenario)
    monkeypatch.setattr(run, "variant_of", lambda _state: Variant.FULL)
    full = simulate(scenario)
    assert lean.completion_ps == full.completion_ps and lean.events == full.events
    assert np.array_equal(lean.operations.done_ps, full.operations.done_ps)
    assert np.array_equal(lean.stage_ps, full.stage_ps) and np.array_equal(lean.link_load, full.link_load)
    for field in fields(lean.ports):
        assert np.array_equal(getattr(lean.ports, field.name), getattr(full.ports, field.name)), field.name


FULL = (
    bare("all_to_all: {bytes_per_pair: 8KiB}", "run.verify=memory"),
    bare("all_to_all: {bytes_per_pair: 8KiB}", "fabric.ber=1e-4"),
    bare("all_to_all: {bytes_per_pair: 8KiB}", "fabric.vc_map=one"),
    bare("program: {threads: ['0: store.posted 1:0x0 1; fence; store 1:0x2000 2']}"),
    bare("point_to_point: {operation: atomic, bytes: 4KiB}"),
    replace(bare("all_to_all: {bytes_per_pair: 8KiB}"), faults=(Fault(1_000_000, 0, FaultKind.RATE, 400 * 10**9),)),
    replace(bare("all_to_all: {bytes_per_pair: 8KiB}"), faults=(Fault(1_000_000, 0, FaultKind.DRAIN, 50 * 10**9),)),
    replace(bare("all_to_all: {bytes_per_pair: 8KiB}"), faults=(Fault(1_000_000, 0, FaultKind.CC_STOP),)),
)


@pytest.mark.parametrize("scenario", FULL, ids=range(len(FULL)))
def test_what_the_lean_form_leaves_out_runs_in_the_full_one(scenario: Scenario) -> None:
    assert variant_of(state_of(scenario, 1)) is Variant.FULL
    assert simulate(scenario).operations_done == len(scenario.graph)


def test_every_fixed_setting_is_one_of_the_kernel() -> None:
    assert {name for name, _ in FIXED} <= set(records.KERNEL.names or ())


@pytest.mark.skipif(not jit_enabled(), reason="interpreted code takes the state as it is")
def test_a_state_that_does_not_suit_the_lean_form_is_refused() -> None:
    state = state_of(FULL[0], 1)
    with pytest.raises(ValueError, match="verify"):
        pack(state, Variant.LEAN)
