"""Commands, options and exit codes (Typer); what a command does stands in a module of its own, loaded when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ExitCode, InputError, ScalefabError
from .interrupt import interruptible
from .output import complain, flush
from .proofs import PROOFS

_HELP = "EthLink and ETH-X, open and runnable: simulate a GPU scale-up network, every frame of it, and hear what limits it."
_EPILOG = """\b
Exit codes:
  0  ok
  1  a check failed, or the result cannot be right (lost frames, nothing moved)
  2  the input cannot be used; every fault is told with file and line
  3  the input is valid, but such a network cannot be built
  4  the simulated network stopped moving
  5  interrupted or stopped at run.until; the partial result is valid

The result goes to stdout, everything else to stderr."""


class TimelineForm(StrEnum):
    """Forms of a timeline."""

    CHROME = "chrome"
    PERFETTO = "perfetto"


app = typer.Typer(
    name="scalefab",
    help=_HELP,
    epilog=_EPILOG,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario: a supernode and a workload, YAML.", show_default=False)]
_Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting, such as fabric.frame_max=4160B; may be repeated."),
]


_Fidelity = Annotated[
    str,
    typer.Option(
        "--fidelity",
        metavar="packet|flow",
        help="Every frame, or flows at fair rates: an estimate in a hundredth of the time. As --set run.fidelity=.",
        show_default=False,
    ),
]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> int:
    if version:
        from .. import __version__

        print(f"scalefab {__version__}")
        return ExitCode.OK
    if context.invoked_subcommand is None:
        complain("no command is given; 'scalefab --help' lists them")
        return ExitCode.INPUT
    return ExitCode.OK


@app.command(epilog=_EPILOG, short_help="Simulate a scenario and say what limits it.")
def run(
    file: _File,
    overrides: _Set = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Run folder, new or empty; default: runs/NAME-TIME.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no tables.")] = False,
    capture: Annotated[
        int,
        typer.Option(
            "--capture", metavar="N", min=0, max=1_000_000, help="Write the first N frames as capture.pcapng.", show_default=False
        ),
    ] = 0,
    capture_phy: Annotated[
        bool, typer.Option("--capture-phy", help="With --capture: preambles and ordered sets too, on interfaces PORT.phy.")
    ] = False,
    frames: Annotated[
        int,
        typer.Option("--frames", metavar="N", min=0, max=1_000_000, help="Rows of the sample of frames in frames.csv, at most."),
    ] = 50_000,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the tables as Parquet too (extra 'parquet').")] = False,
    fidelity: _Fidelity = "",
    threads: Annotated[
        int,
        typer.Option(
            "--threads", metavar="N", min=1, max=64, help="Threads, for planes that nothing ties together; same result."
        ),
    ] = 1,
) -> int:
    """Simulate a scenario; print the verdict; write a run folder with report.html, tables and manifest."""
    from .run import Kept, run_scenario, with_fidelity

    kept = Kept(out, capture_frames=capture, capture_phy=capture_phy, sample_frames=frames, parquet=parquet, threads=threads)
    with interruptible():
        return run_scenario(file, with_fidelity(overrides or (), fidelity), kept=kept, json_wanted=json, quiet=quiet)


_Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]


@app.command(epilog=_EPILOG, short_help="Draw the report of a run again.")
def report(run: _Run) -> int:
    """Draw the report of a run again from what its folder keeps, in place."""
    from .stored import draw_again

    with interruptible():
        return draw_again(run)


@app.command(epilog=_EPILOG, short_help="Show what differs between two runs.")
def compare(
    before: _Run,
    after: _Run,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the comparison as one HTML file too.", show_default=False)
    ] = None,
) -> int:
    """Show changed settings beside changed results of two runs; what a machine needed for them is told, not counted."""
    from .stored import compare_runs

    with interruptible():
        return compare_runs(before, after, json_wanted=json, html=html)


@app.command(epilog=_EPILOG, short_help="Write the first part of a run as a timeline.")
def timeline(
    run: _Run,
    form: Annotated[
        TimelineForm, typer.Option("--format", help="Chrome JSON, or native Perfetto (extra 'perfetto').")
    ] = TimelineForm.CHROME,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Default: timeline.json or timeline.pftrace in RUN.", show_default=False),
    ] = None,
) -> int:
    """Write the first part of a run as a timeline for ui.perfetto.dev: frames on lines, operations, credits, buffers."""
    from .stored import write_timeline

    with interruptible():
        return write_timeline(run, form, out)


@app.command(epilog=_EPILOG, short_help="Validate a scenario without running it.")
def check(
    file: _File,
    overrides: _Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
) -> int:
    """Validate a scenario without running it: every fault with file and line."""
    from .check import check_scenario

    with interruptible():
        return check_scenario(file, overrides or (), json_wanted=json)


@app.command("profile", epilog=_EPILOG, short_help="Say where the time of a run goes.")
def profile_command(
    file: _File,
    overrides: _Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> int:
    """Say where the time of a run goes: reading, building, kernel; and inside the kernel by kind of event, ns each."""
    from .profile import profile_scenario

    with interruptible():
        return profile_scenario(file, overrides or (), json_wanted=json, quiet=quiet)


@app.command("bench", epilog=_EPILOG, short_help="Print nccl-tests' table from simulation.")
def bench_command(
    operation: Annotated[
        str,
        typer.Argument(
            metavar="OP",
            help="all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, sendrecv; or as nccl-tests: all_reduce_perf.",
            show_default=False,
        ),
    ],
    fabric: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="FABRIC",
            help="Scenario file (its fabric is used), or a name of 'scalefab catalogue': ethx64.",
            show_default=False,
        ),
    ],
    begin: Annotated[str, typer.Option("-b", "--minbytes", metavar="SIZE", help="First size; K, M, G are powers of 1024.")] = "8",
    end: Annotated[str, typer.Option("-e", "--maxbytes", metavar="SIZE", help="Last size.")] = "256M",
    factor: Annotated[int, typer.Option("-f", "--stepfactor", metavar="N", help="From one size to the next.")] = 2,
    ranks: Annotated[int, typer.Option("-n", "-g", "--ranks", metavar="N", help="The first N GPUs take part; 0 = all.")] = 0,
    datatype: Annotated[
        str, typer.Option("-d", "--datatype", metavar="TYPE", help="Element type: float, half, int8 ...")
    ] = "float",
    root: Annotated[int, typer.Option("-r", "--root", metavar="RANK", help="Root of a broadcast.")] = 0,
    algorithm: Annotated[
        str,
        typer.Option("--algorithm", metavar="NAME", help="ring, direct, or auto: the faster one for each size."),
    ] = "auto",
    overrides: _Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    fidelity: _Fidelity = "",
) -> int:
    """Simulate a collective over a range of sizes and print the table of nccl-tests, with the lower bound beside each time."""
    from .bench import Asked, bench
    from .run import with_fidelity

    asked = Asked(operation, fabric, begin, end, factor, ranks, datatype, root, algorithm)
    with interruptible():
        return bench(asked, with_fidelity(overrides or (), fidelity), json_wanted=json, quiet=quiet)


class TableForm(StrEnum):
    """Forms of a table on stdout."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


@app.command("sweep", epilog=_EPILOG, short_help="Run a scenario many times with settings varied.")
def sweep_command(
    file: _File,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=V,V...", help="A setting and its values; may be repeated.", show_default=False),
    ] = None,
    side_by_side: Annotated[
        bool, typer.Option("--list", help="First values together, then second ones; without it every combination.")
    ] = False,
    overrides: _Set = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder of journal, tables and report; a sweep goes on where one lies. Default: sweeps/NAME.",
            show_default=False,
        ),
    ] = None,
    processes: Annotated[int, typer.Option("--processes", metavar="N", help="On this machine; 0 = as many as cores.")] = 0,
    scheduler: Annotated[
        str,
        typer.Option("--scheduler", metavar="tcp://...", help="Run on this Dask cluster (extra 'dask').", show_default=False),
    ] = "",
    fidelity: _Fidelity = "",
    form: Annotated[TableForm, typer.Option("--format", help="Of the table on stdout.")] = TableForm.TEXT,
    json: Annotated[bool, typer.Option("--json", help="As --format json: one object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> int:
    """Run every point of a grid, as many at a time as there are cores; what is done is never run again.

    Exit 5 after Ctrl-C: table and report hold what is done, the same command goes on. Exit 1 when a point ended with an error.
    """
    from .run import with_fidelity
    from .sweep import Asked, sweep

    asked = Asked(vary or (), side_by_side, out, processes, scheduler)
    with interruptible():
        return sweep(file, with_fidelity(overrides or (), fidelity), asked, form="json" if json else form.value, quiet=quiet)


@app.command("explain", epilog=_EPILOG, short_help="Say what a setting of a scenario file is.")
def explain_command(
    key: Annotated[
        str,
        typer.Argument(
            metavar="[KEY]", help="Such as fabric.frame_max, frame_max or fabric.gpus; all without it.", show_default=False
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the whole reference, docs/scenario.md.")] = False,
) -> int:
    """Say what a setting is: form, unit, limits, default, where it comes from and what a run shows of it."""
    from .explain import explain

    return explain(key, json_wanted=json, markdown=markdown)


@app.command("schema", epilog=_EPILOG, short_help="Print the JSON schema of scenario files, for editors.")
def schema_command() -> int:
    """Print the JSON schema (draft 2020-12) of scenario files; docs/scenario.md says how an editor takes it."""
    from .explain import schema

    return schema()


@app.command("catalogue", epilog=_EPILOG, short_help="List presets of GPUs, switches and fabrics, with sources.")
def catalogue_command(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
) -> int:
    """List the presets of GPUs and switches with their sources, and the built-in fabrics."""
    from .explain import catalogue

    return catalogue(json_wanted=json)


fabric_app = typer.Typer(name="fabric", help="What a scenario's network is made of, without running it.", no_args_is_help=True)
app.add_typer(fabric_app)


@fabric_app.command("draw", epilog=_EPILOG, short_help="Draw how GPUs and switches are cabled, as SVG.")
def fabric_draw(
    file: _File,
    overrides: _Set = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.svg", help="Where to write the drawing; default: stdout.", show_default=False),
    ] = None,
) -> int:
    """Draw the wiring of a scenario as SVG: planes and GPUs, or leaves, spines and GPUs. Nothing is run."""
    from .fabric import draw_fabric

    with interruptible():
        return draw_fabric(file, overrides or (), out=out)


@app.command(epilog=_EPILOG, short_help="Compare header stacks: what is left of a wire byte for data.")
def headers(
    size: Annotated[str, typer.Option("--size", metavar="LIST", help="Data bytes of a transaction.")] = "64,128,256,1K,4K",
    pack: Annotated[bool, typer.Option("--pack", help="Also as many transactions a frame as fit.")] = False,
    frame_max: Annotated[str, typer.Option("--frame-max", metavar="SIZE", help="Largest frame of the open profile.")] = "2048B",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
) -> int:
    """Compare header stacks: data as a share of the bytes on the line, with preamble and gap."""
    from .headers import compare_stacks

    with interruptible():
        return compare_stacks(size, frame_max, pack=pack, json_wanted=json)


@app.command(epilog=_EPILOG, short_help="Write golden vectors for silicon and other implementations.")
def vectors(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty folder.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
) -> int:
    """Write golden vectors as JSON and $readmemh hexadecimal: frames good and bad, link forms, target sequences."""
    from .vectors import write_vectors

    with interruptible():
        return write_vectors(folder, json_wanted=json)


@app.command(epilog=_EPILOG, short_help="Take a capture apart: every field, and the verdict on ICRC and FCS.")
def dissect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Capture: pcapng or pcap.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=0, metavar="N", help="Packets to print at most.", show_default=False)
    ] = None,
    fields: Annotated[
        str,
        typer.Option(
            "--fields", metavar="NAME,...", help="Print only these, a line a packet: number,th.opcode,...", show_default=False
        ),
    ] = "",
    frame_max: Annotated[str, typer.Option("--frame-max", metavar="SIZE", help="Largest frame of the link.")] = "2048B",
    ethertypes: Annotated[
        str, typer.Option("--ethertypes", metavar="DATA,CONTROL", help="EtherTypes of the link.")
    ] = "0x88B5,0x88B6",
    slap_safe: Annotated[bool, typer.Option("--slap-safe", help="Ids are carried as locally administered addresses.")] = False,
    fcs: Annotated[
        str,
        typer.Option("--fcs", metavar="find|present|absent", help="Whether packets end with their FCS; find: the file tells."),
    ] = "find",
) -> int:
    """Take a capture apart: every packet with its opcodes, every field, and the verdict on ICRC and FCS."""
    from .dissect import dissect_file

    with interruptible():
        return dissect_file(
            file,
            json_wanted=json,
            limit=limit,
            fields=fields,
            frame_max=frame_max,
            ethertypes=ethertypes,
            slap_safe=slap_safe,
            fcs=fcs,
        )


@app.command(epilog=_EPILOG, short_help="Write the Wireshark dissector, C and SystemVerilog constants, the wire format.")
def artefacts(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="lua, c, sv or docs: print that one. Else a folder: write all there.", show_default=False
        ),
    ],
) -> int:
    """Write what is generated from the profile's tables: Wireshark dissector, C header, SystemVerilog package, document."""
    from .artefacts import write_artefacts

    with interruptible():
        return write_artefacts(target)


@app.command(epilog=_EPILOG, short_help="Show what each FEC code costs on a link and what it leaves.")
def fec(
    rate: Annotated[str, typer.Option("--rate", metavar="RATE", help="Port rate.")] = "800Gb/s",
    ber: Annotated[float, typer.Option("--ber", metavar="RATIO", help="Bit error ratio before FEC.")] = 1e-5,
    burst: Annotated[
        float, typer.Option("--burst", metavar="P", help="P(a wrong PAM4 symbol is followed by another); 0: independent bits.")
    ] = 0.0,
    depth: Annotated[int, typer.Option("--depth", metavar="N", help="Codewords interleaved; 0: the usual number.")] = 0,
    frame: Annotated[str, typer.Option("--frame", metavar="SIZE", help="Frame, first header byte to FCS.")] = "64B",
    length: Annotated[str, typer.Option("--length", metavar="LENGTH", help="Cable, for the loop that LLR goes back.")] = "3m",
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Really encode, corrupt and decode N codewords of each code too.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the trials.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write frame loss against bit error ratio as an HTML page.", show_default=False
        ),
    ] = None,
) -> int:
    """Show latency, codeword and frame loss, and goodput with LLR of a link under each FEC code and under none."""
    from .fec import FecOptions, show_codes

    options = FecOptions(rate, ber, burst, depth, frame, length, trials, seed)
    with interruptible():
        return show_codes(options, json_wanted=json, out=out)


for _name, _command, _short in PROOFS:
    app.command(_name, epilog=_EPILOG, short_help=_short)(_command)


def run_app(argv: Sequence[str]) -> ExitCode:
    """Run one command line and return its exit code; errors become one line each on stderr."""
    try:
        code = ExitCode(app(args=list(argv), prog_name="scalefab", standalone_mode=False) or ExitCode.OK)
    except InputError as error:
        for problem in error.problems:
            complain(str(problem), located=bool(problem.file))
        code = error.exit_code
    except ScalefabError as error:
        complain(str(error))
        code = error.exit_code
    except MemoryError:
        complain("not enough memory for this scenario")
        code = ExitCode.FAILED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        complain(f"{where}{error.strerror or error}")
        code = ExitCode.FAILED
    except Exception as error:
        # Typer's usage errors: their class has moved between versions, what they can say has not.
        if not hasattr(error, "format_message"):
            raise
        complain(f"{error.format_message()} ('scalefab --help' tells how)")
        code = ExitCode.INPUT
    flush()
    return code
