"""What a workload asks for, as frozen values in integer units. `scalefab.workload.build` turns these into one operation graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..protocol.layout import Order, Scope
from ..protocol.profile import Kind
from .values import Atomic


class Algorithm(Enum):
    """How a collective is carried out."""

    RING = "ring"
    DIRECT = "direct"


class CollectiveKind(Enum):
    """Collectives, with nccl-tests' meaning of size (``size_bytes`` = the buffer that nccl-tests prints)."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"


class Routing(Enum):
    """How tokens choose their experts."""

    BALANCED = "balanced"
    ZIPF = "zipf"


class Precision(Enum):
    """Element format of tokens on the wire."""

    FP8 = "fp8"
    BF16 = "bf16"


@dataclass(frozen=True, slots=True)
class Phase:
    """What every entry of a workload has.

    ``after`` names the entries that must be done first; None = the entry before (the first one: nothing), () = nothing.
    """

    name: str
    after: tuple[str, ...] | None = None
    start_ps: int = 0


@dataclass(frozen=True, slots=True)
class Collective(Phase):
    """A collective among all GPUs (``ranks`` = 0) or the first ``ranks`` of them.

    ``chunks`` (ring only, 0 = ranks) pieces of the buffer; ``transaction_bytes`` is used by LSU kinds (STORE), 0 = 256.
    Data moves as posted PUTs by default: a step is done when its last byte is executed at the target, as in put-with-flag
    implementations.
    """

    kind: CollectiveKind = CollectiveKind.ALL_TO_ALL
    algorithm: Algorithm = Algorithm.DIRECT
    size_bytes: int = 0
    ranks: int = 0
    root: int = 0
    operation: Kind = Kind.PUT
    posted: bool = True
    transaction_bytes: int = 0
    stack: int = -1  #: of each endpoint, whose ports carry it; -1 = all
    chunks: int = 0
    atomics: int = 0  #: all-to-all: counters at each target to which every other rank adds 1, beside the data


@dataclass(frozen=True, slots=True)
class Pattern(Phase):
    """Synthetic traffic: ``permutation`` (i -> i + shift mod ranks), ``incast`` (all -> dst), ``point_to_point`` (src -> dst).

    ``bytes`` a pair, in ``repeat`` operations one after the other (each waits for the one before).
    """

    pattern: str = "point_to_point"
    operation: Kind = Kind.PUT
    bytes: int = 0
    src: int = 0
    dst: int = 1
    shift: int = 1
    ranks: int = 0
    repeat: int = 1
    posted: bool = False
    transaction_bytes: int = 0
    stack: int = -1
    address: int = 0
    atomic: Atomic | None = None  #: None = add 1 to unsigned elements


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a thread: an operation of the network, a FENCE, or COMPUTE to wait.

    ``scope`` is whom a FENCE, or the fence of a release, stands for: ``dst``, or all that the thread has addressed. ``value`` is
    what a store or put writes (8 B, a put at the start of each packet), None = not followed. PUT_SIGNAL sets ``flag_address``
    to, or increases it by, ``flag_value``.
    """

    operation: Kind
    dst: int = -1
    address: int = 0
    bytes: int = 0
    value: int | None = None
    atomic: Atomic | None = None
    posted: bool = False
    order: Order = Order.RELAXED
    scope: Scope = Scope.SYSTEM
    flag_address: int = 0
    flag_value: int = 1
    flag_add: bool = False
    wait_ps: int = 0


@dataclass(frozen=True, slots=True)
class Thread:
    """Instructions that one GPU issues in order, from ``start_ps`` after the program's start on."""

    gpu: int
    instructions: tuple[Instruction, ...]
    start_ps: int = 0


@dataclass(frozen=True, slots=True)
class Program(Phase):
    """Threads that run beside each other."""

    threads: tuple[Thread, ...] = ()
    stack: int = -1


@dataclass(frozen=True, slots=True)
class MoeModel:
    """The part of a Hugging Face ``config.json`` that one MoE layer needs."""

    name: str
    model_type: str
    hidden: int
    experts: int
    top_k: int
    moe_layers: int
    layers: int
    expert_intermediate: int
    shared_experts: int
    groups: int = 1  #: group-limited routing (DeepSeek n_group), 1 = none
    top_groups: int = 1
    source_file: str = ""


@dataclass(frozen=True, slots=True)
class MoeLayer(Phase):
    """Dispatch and combine of one MoE layer, experts spread evenly over all GPUs (``ranks`` = 0) or the first ``ranks``."""

    model: MoeModel = field(default_factory=lambda: MoeModel("", "", 1, 1, 1, 1, 1, 1, 0))
    tokens_per_gpu: int = 0
    ranks: int = 0
    dispatch: Precision = Precision.FP8
    combine: Precision = Precision.BF16
    routing: Routing = Routing.BALANCED
    zipf_exponent: float = 1.0
    seed: int = 0
    expert_compute_ps: int = 0
    dedup: bool = True  #: one copy of a token per target GPU, whatever number of its experts live there


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """All entries, in the order of the file."""

    phases: tuple[Phase, ...]
