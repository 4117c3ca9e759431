"""Commands that prove something about the protocol: industry cases, all states, litmus tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .interrupt import interruptible


def conformance(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID ...]", help="Such as LLR-02 CBFC-10; all without.", show_default=False)
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", metavar="FILE", help="A file of your own cases; docs/conformance.md.", show_default=False),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the record of every run as CSV too.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
) -> int:
    """Run conformance cases on the simulated switch: testers, faults and what must hold, each case a YAML file.

    One row a case and frame size: what was expected, what was measured, passed or not. Exit 1 when one failed.
    """
    from .conformance import run_conformance

    with interruptible():
        return run_conformance(ids or (), scenario=scenario, csv=csv, json_wanted=json)


def explore_command(
    protocol: Annotated[str, typer.Argument(metavar="llr|cbfc|rh|path-change", help="What to explore.", show_default=False)],
    width: Annotated[int, typer.Option("--width", help="Bits of a sequence number.")] = 3,
    window: Annotated[int, typer.Option("--window", help="Frames un-acknowledged at most; credits of the VC.")] = 3,
    faults: Annotated[int, typer.Option("--faults", help="Faults that the channel may make.")] = 2,
    plant: Annotated[
        str,
        typer.Option(
            "--plant",
            metavar="FAULT",
            help="A fault to plant and find. llr: no-duplicate-ack, overtaken-init; cbfc: double-charge, ineligible-cc-update; "
            "rh: no-duplicate-ack, nack-storm; path-change: blind-replay, stale-nonce, nonce-of-pair.",
            show_default=False,
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
) -> int:
    """Search every state that two ends and a bad channel can reach, with the transition functions that the simulator runs.

    Each state keeps the invariants, and from each one all is delivered once faults stop; if not, exit 1 with a shortest trace.
    """
    from .explore import explore_protocol

    with interruptible():
        return explore_protocol(protocol, width=width, window=window, faults=faults, plant=plant, json_wanted=json)


def litmus_command(
    tests: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME|FILE ...]", help="Such as MP IRIW, or files of your own; all without.", show_default=False),
    ] = None,
    on: Annotated[
        Path | None,
        typer.Option("--on", metavar="FILE", help="Scenario whose fabric, faults and options are used.", show_default=False),
    ] = None,
    instances: Annotated[
        int, typer.Option("--instances", min=1, max=100_000, help="Of each variant, at random places and times.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of places, times and other traffic.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
) -> int:
    """Run litmus tests of the memory model: what order forbids must not occur, and must occur without it.

    Each test runs with fences, release and acquire, and again without. Exit 1 when a forbidden outcome was seen, or when the
    relaxed variant never showed it. Format and meaning: docs/ordering.md.
    """
    from .litmus import run_tests

    with interruptible():
        return run_tests(tests or (), on=on, instances=instances, seed=seed, json_wanted=json)


PROOFS = (
    ("conformance", conformance, "Run the industry's conformance cases of LLR and CBFC, or your own."),
    ("explore", explore_command, "Search all states of a protocol for one that breaks a promise."),
    ("litmus", litmus_command, "Run litmus tests: what fences, release and acquire forbid, and what they do not."),
)
