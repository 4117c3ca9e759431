"""The checked file -> the frozen specifications that the other rooms build from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import InputError, Problem
from ..fabric.spec import CableSpec, EndpointSpec, FabricSpec, Fec, MemorySpec, SpineSpec, SwitchSpec
from ..fabric.timing import cable_delay_ps
from ..protocol.multipath import Spray
from ..protocol.opcodes import AtomicOp, ElementType
from ..protocol.operations import Kind
from ..workload import spec
from ..workload.programtext import parse_thread
from ..workload.spec import (
    Algorithm,
    Collective,
    CollectiveKind,
    MoeLayer,
    MoeModel,
    Pattern,
    Phase,
    Precision,
    Routing,
    WorkloadSpec,
)
from ..workload.values import Atomic
from .entries import (
    AllToAll,
    AtomicWork,
    Broadcast,
    CollectiveTask,
    Entry,
    Incast,
    Moe,
    MoeModelFields,
    PatternTask,
    Permutation,
    PointToPoint,
    Program,
    RingTask,
)
from .fidelity import Fidelity
from .linksettings import link_spec
from .models import Cables, FabricSection, RunSection, Spine
from .paths import dotted, near_file, near_miss, printable
from .scenario import RunOptions, Verify

ReadModel = Callable[[Path], MoeModel]


def fabric_spec(section: FabricSection, sources: dict[str, str]) -> FabricSpec:
    """Return the specification of the domain; ``sources`` = source of the presets of GPUs, switches and spine."""
    gpus, switches = section.gpus, section.switches
    memory = MemorySpec(gpus.memory.bandwidth, gpus.memory.latency, gpus.memory.capacity)
    return FabricSpec(
        endpoints=EndpointSpec(
            name=gpus.preset or "custom",
            count=gpus.count,
            stacks=gpus.stacks,
            ports_per_stack=gpus.ports_per_stack,
            port_rate_bps=gpus.port_rate,
            tx_latency_ps=gpus.tx_latency,
            rx_latency_ps=gpus.rx_latency,
            buffer_bytes=gpus.buffer,
            memory=memory,
            source=sources.get("gpus", ""),
            response_queue_bytes=gpus.response_queue,
        ),
        switches=SwitchSpec(
            name=switches.preset or "custom",
            planes=switches.planes,
            radix=switches.ports,
            port_rate_bps=switches.port_rate,
            latency_ps=switches.latency,
            buffer_bytes=switches.buffer,
            source=sources.get("switches", ""),
            leaves=switches.leaves or 1,
            uplinks=switches.uplinks or 0,
            uplink_paths=switches.uplink_paths or 1,
            spine=_spine(section.spine, sources.get("spine", "")) if section.spine is not None else None,
        ),
        cables=_cables(section.cables),
        fec=Fec[section.fec.upper()],
        fec_depth=section.fec_depth or 0,
        header_stack=section.header_stack,
        frame_max=section.frame_max,
        phy_tx_ps=section.phy_tx or 0,
        phy_rx_ps=section.phy_rx or 0,
        ber=section.ber,
        burst=section.burst or 0.0,
        link=link_spec(section),
    )


def _spine(spine: Spine, source: str) -> SpineSpec:
    return SpineSpec(
        name=spine.preset or "custom",
        count=spine.count,
        radix=spine.ports,
        port_rate_bps=spine.port_rate,
        latency_ps=spine.latency,
        buffer_bytes=spine.buffer,
        cables=_cables(spine.cables),
        source=source,
    )


def _cables(cables: Cables) -> CableSpec:
    if cables.delay is not None:
        return CableSpec(length_mm=0, medium="", delay_ps=0, link_delay_ps=cables.delay)
    length, medium = cables.length or 0, cables.medium or ""
    return CableSpec(length_mm=length, medium=medium, delay_ps=cable_delay_ps(length, medium))


def run_options(section: RunSection) -> RunOptions:
    """Return the options of the run."""
    return RunOptions(
        seed=section.seed,
        fidelity=Fidelity(section.fidelity),
        spray=Spray[section.spray.upper()],
        pack=section.pack,
        window_frames=section.window,
        ack_every_frames=section.ack_every,
        ack_delay_ps=section.ack_delay,
        service_frames=section.service,
        until_ps=section.until,
        verify=Verify(section.verify),
    )


def workload_spec(entries: list[Entry], folder: Path, read_model: ReadModel) -> WorkloadSpec:
    """Return the workload's entries.

    Parameters
    ----------
    entries
        Checked entries of the file.
    folder
        Where relative paths of model files start.
    read_model
        Reads a Hugging Face ``config.json``; its InputErrors are carried on.

    Raises
    ------
    InputError
        Names given twice, ``after`` an entry that is not there, model files that cannot be used. Keys, no lines.
    """
    problems: list[Problem] = []
    names = _names(entries, problems)
    phases: list[Phase] = []
    for index, (entry, name) in enumerate(zip(entries, names, strict=True)):
        _check_after(entry, index, names, problems)
        after = None if entry.after is None else tuple(entry.after)
        phase = Phase(name, after, entry.start)
        task = entry.task
        if isinstance(task, Moe):
            try:
                phases.append(_moe(phase, task, folder, read_model, f"workload[{index}].moe.model"))
            except InputError as error:
                problems += error.problems
        elif isinstance(task, Program):
            threads = tuple(parse_thread(text) for text in task.threads)
            stack = -1 if task.stack is None else task.stack
            phases.append(spec.Program(phase.name, phase.after, phase.start_ps, threads, stack))
        elif isinstance(task, CollectiveTask):
            phases.append(_collective(phase, entry.kind, task))
        else:
            phases.append(_pattern(phase, entry.kind, task))
    if problems:
        raise InputError(problems)
    return WorkloadSpec(tuple(phases))


def _names(entries: list[Entry], problems: list[Problem]) -> list[str]:
    """Names given, and for the others their kind, numbered from the second of a name on."""
    given = {entry.name for entry in entries if entry.name}
    names: list[str] = []
    for index, entry in enumerate(entries):
        name = entry.name
        if name is None:
            name, number = entry.kind, 1
            while name in given or name in names:
                number += 1
                name = f"{entry.kind}-{number}"
        elif name in names:
            first = names.index(name)
            problems.append(
                Problem(f"'{name}' is the name of workload[{first}] too", "another name", key=f"workload[{index}].name")
            )
        names.append(name)
    return names


def _check_after(entry: Entry, index: int, names: list[str], problems: list[Problem]) -> None:
    for name in entry.after or ():
        key = dotted(("workload", index, "after"))
        if name not in names:
            expected = "the name of another entry"
            problems.append(Problem(f"'{printable(name)}' is no entry", expected, near_miss(name, names), key=key))


def _collective(phase: Phase, kind: str, task: CollectiveTask) -> Collective:
    ranks = task.ranks or 0
    size = getattr(task, "size", None)
    if isinstance(task, AllToAll) and task.bytes_per_pair is not None:
        size = task.bytes_per_pair * ranks
    return Collective(
        name=phase.name,
        after=phase.after,
        start_ps=phase.start_ps,
        kind=CollectiveKind(kind),
        algorithm=Algorithm(task.algorithm) if isinstance(task, RingTask) else Algorithm.DIRECT,
        size_bytes=size or 0,
        ranks=ranks,
        root=task.root if isinstance(task, Broadcast) else 0,
        operation=Kind[task.operation.upper()],
        posted=bool(task.posted),
        transaction_bytes=task.transaction or 0,
        stack=-1 if task.stack is None else task.stack,
        chunks=(task.chunks or 0) if isinstance(task, RingTask) else 0,
        atomics=task.atomics if isinstance(task, AllToAll) else 0,
    )


def _pattern(phase: Phase, kind: str, task: PatternTask) -> Pattern:
    return Pattern(
        name=phase.name,
        after=phase.after,
        start_ps=phase.start_ps,
        pattern=kind,
        operation=Kind[task.operation.upper()],
        bytes=task.bytes,
        src=task.src if isinstance(task, PointToPoint) else 0,
        dst=task.dst if isinstance(task, PointToPoint | Incast) else 0,
        shift=task.shift if isinstance(task, Permutation) else 1,
        ranks=(task.ranks or 0) if isinstance(task, Permutation | Incast) else 0,
        repeat=task.repeat,
        posted=bool(task.posted),
        transaction_bytes=task.transaction or 0,
        stack=-1 if task.stack is None else task.stack,
        address=task.address,
        atomic=_atomic(task.atomic) if task.atomic is not None else None,
    )


def _atomic(work: AtomicWork) -> Atomic:
    return Atomic(AtomicOp[work.do.upper()], ElementType[work.type.upper()], work.value, work.compare)


def _moe(phase: Phase, task: Moe, folder: Path, read_model: ReadModel, key: str) -> MoeLayer:
    return MoeLayer(
        name=phase.name,
        after=phase.after,
        start_ps=phase.start_ps,
        model=_moe_model(task, folder, read_model, key),
        tokens_per_gpu=task.tokens_per_gpu,
        ranks=task.ranks or 0,
        dispatch=Precision(task.dispatch),
        combine=Precision(task.combine),
        routing=Routing(task.routing),
        zipf_exponent=1.0 if task.zipf_exponent is None else task.zipf_exponent,
        seed=task.seed or 0,
        expert_compute_ps=task.expert_compute,
        dedup=task.dedup,
    )


def _moe_model(task: Moe, folder: Path, read_model: ReadModel, key: str) -> MoeModel:
    if isinstance(task.model, MoeModelFields):
        return MoeModel(**task.model.model_dump())
    path = folder / task.model
    if not _is_file(path):
        named, near = f"'{printable(task.model, 120)}'", near_file(path, (path.suffix,))
        message = f"{named} is a folder" if _is_folder(path) else f"there is no file {named}"
        raise InputError([Problem(message, f"a config.json, from the folder {folder}", near, key=key)])
    return read_model(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
