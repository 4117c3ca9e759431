"""The workload of the user's file as pydantic models: one entry = one of ten things that GPUs can be asked to do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from ..workload.programtext import TextError, parse_thread
from .quantities import Faults, Limited, Name, Number, OnOff, PositiveSize, TimePs, fault

LSU_OPERATIONS = ("load", "store", "atomic", "reduce")
ANSWERED_OPERATIONS = ("load", "atomic", "get")  # what they bring back is their purpose
SIZES_BYTES = {"load": tuple(1 << i for i in range(10)), "store": tuple(1 << i for i in range(10)), "atomic": (4, 8)}
OPERATIONS_MAX = 10_000_000  # own: of one entry; more does not fit ordinary memory
ADDRESS_MAX = (1 << 57) - 1  # TH carries 57 bits

Ranks = Annotated[int, Field(ge=2, le=1024)]
Gpu = Annotated[int, Field(ge=0, le=1023)]
AlgorithmWord = Literal["ring", "direct"]
OperationWord = Literal["load", "store", "atomic", "reduce", "put", "get", "send", "put_signal"]
WriteWord = Literal["put", "send", "store", "reduce"]
PrecisionWord = Literal["fp8", "bf16"]


FILE_TAG, FIELDS_TAG = "<model: file>", "<model: fields>"
FORM_TAGS = (FILE_TAG, FIELDS_TAG)
"""Names of the two forms of ``moe.model`` in pydantic's locations; no part of a setting's key."""


class Model(BaseModel):
    """Base of all: unknown settings are errors, nothing is guessed from another type."""

    model_config = ConfigDict(extra="forbid", strict=True, validate_default=False)


def _one(operation: str) -> str:
    return f"an {operation}" if operation == "atomic" else f"a {operation}"


def _check_transaction(faults: Faults, operation: str, transaction: int | None) -> None:
    if transaction is None:
        return
    sizes = SIZES_BYTES.get(operation)
    if operation not in LSU_OPERATIONS:
        faults.add(
            "transaction", f"is read by nothing, {_one(operation)} moves whole packets", "no transaction, or operation: store"
        )
    elif sizes is not None and transaction not in sizes:
        faults.add("transaction", f"{_one(operation)} of {transaction}B", "one of " + ", ".join(f"{size}B" for size in sizes))
    elif transaction > 512 or transaction % 4:  # open profile section 1: n elements, at most 512 B
        faults.add("transaction", f"{_one(operation)} of {transaction}B", "a multiple of 4B, at most 512B")


class _Traffic(Model):
    """What collectives and patterns share."""

    posted: OnOff | None = Field(None, description="Whether operations want no answer.")
    transaction: PositiveSize | None = Field(
        None,
        description="Bytes of one load, store, atomic, reduce; default: as large as fits, at most 256B. Not for put, get, send.",
    )
    stack: int | None = Field(None, ge=0, le=15, description="Only the ports of this stack of each GPU carry it; default: all.")


class CollectiveTask(_Traffic):
    """What all collectives share."""

    ranks: Ranks | None = Field(None, description="The first so many GPUs take part; default: all.")
    operation: WriteWord = Field("put", description="How data moves: RDMA (put, send), or by the GPU's cores (store, reduce).")

    @model_validator(mode="after")
    def _complete(self) -> CollectiveTask:
        faults = Faults()
        _check_transaction(faults, self.operation, self.transaction)
        if self.posted is None:
            self.posted = True
        if isinstance(self, RingTask) and self.algorithm != "ring" and self.chunks is not None:
            faults.add("chunks", f"is read by nothing, the algorithm is {self.algorithm}", "algorithm: ring")
        faults.raise_any()
        return self


class RingTask(CollectiveTask):
    """What collectives share that can go round a ring."""

    algorithm: AlgorithmWord = Field("direct", description="ring, or direct (everyone to everyone at once).")
    chunks: int | None = Field(
        None, ge=1, le=4096, description="Pieces of the buffer, a multiple of ranks; ring only; default: the ranks."
    )


class AllReduce(RingTask):
    """Every GPU ends with the sum of all buffers."""

    size: PositiveSize = Field(description="Buffer of one GPU.")
    algorithm: AlgorithmWord = Field("ring", description="ring, or direct (everyone to everyone at once).")


class AllGather(RingTask):
    """Every GPU ends with the pieces of all."""

    size: PositiveSize = Field(description="Gathered buffer of one GPU (all pieces).")


class ReduceScatter(RingTask):
    """Every GPU ends with its piece of the sum of all buffers."""

    size: PositiveSize = Field(description="Buffer of one GPU before it is scattered (all pieces).")


class Broadcast(RingTask):
    """Every GPU ends with the buffer of one."""

    size: PositiveSize = Field(description="The buffer.")
    root: Gpu = Field(0, description="The GPU that sends.")


class AllToAll(CollectiveTask):
    """Every GPU sends another piece to each."""

    algorithm: Literal["direct"] = Field("direct", description="direct (everyone to everyone at once); there is no ring.")
    size: PositiveSize | None = Field(None, description="Buffer of one GPU: pieces for all ranks, its own too.")
    bytes_per_pair: PositiveSize | None = Field(None, description="Piece for one GPU, instead of size.")
    atomics: int = Field(
        0,
        ge=0,
        le=65_536,
        description="Counters at each GPU, to each of which all others add 1 by 8 B atomics, beside the data.",
    )

    @model_validator(mode="after")
    def _one_size(self) -> AllToAll:
        if self.size is not None and self.bytes_per_pair is not None:
            raise fault("gives both 'size' and 'bytes_per_pair'", "one of the two")
        if self.size is None and self.bytes_per_pair is None:
            raise fault("gives neither 'size' nor 'bytes_per_pair'", "one of the two")
        return self


AtomicWord = Literal["add", "min", "max", "and", "or", "xor", "swap", "compare_swap"]
TypeWord = Literal["u32", "u64", "i32", "i64"]
_TYPE_BYTES = {"u32": 4, "u64": 8, "i32": 4, "i64": 8}
_VALUES = {"u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1), "i32": (-(2**31), 2**31 - 1), "i64": (-(2**63), 2**63 - 1)}


class AtomicWork(Model):
    """What an atomic computes of the value at its address."""

    do: AtomicWord = Field("add", description="The operation.")
    type: TypeWord = Field("u64", description="Type of the value; the transaction has its size.")
    value: int = Field(1, ge=-(2**63), le=2**64 - 1, description="Operand; with compare_swap: the new value.")
    compare: int = Field(0, ge=-(2**63), le=2**64 - 1, description="What compare_swap compares with; for nothing else.")

    @model_validator(mode="after")
    def _fits(self) -> AtomicWork:
        faults = Faults()
        low, high = _VALUES[self.type]
        for key in ("value", "compare"):
            if not low <= getattr(self, key) <= high:
                faults.add(key, f"is no {self.type}", f"{low} .. {high}")
        if self.compare and self.do != "compare_swap":
            faults.add("compare", f"is read by nothing, the operation is {self.do}", "do: compare_swap")
        faults.raise_any()
        return self


class PatternTask(_Traffic):
    """What all patterns share."""

    operation: OperationWord = Field("put", description="Kind of operation.")
    bytes: PositiveSize = Field(description="Bytes of one operation.")
    atomic: AtomicWork | None = Field(
        None, description="What 'operation: atomic' computes; its values are followed with run.verify memory."
    )
    repeat: int = Field(1, ge=1, le=100_000, description="So many operations a pair, each after the one before.")
    address: int = Field(0, ge=0, le=ADDRESS_MAX, description="Target address of the first byte, such as 0x1000; 0 = a free one.")

    @model_validator(mode="after")
    def _complete(self) -> PatternTask:
        faults = Faults()
        _check_transaction(faults, self.operation, self.transaction)
        if self.atomic is not None and self.operation != "atomic":
            faults.add("atomic", f"is read by nothing, the operation is {self.operation}", "operation: atomic")
        elif self.atomic is not None:
            size = _TYPE_BYTES[self.atomic.type]
            if self.transaction not in (None, size):
                faults.add("transaction", f"an atomic of {self.transaction}B on a {self.atomic.type}", f"{size}B")
            elif self.bytes % size:
                faults.add("bytes", f"{self.bytes}B are no whole {self.atomic.type}", f"a multiple of {size}B")
            else:
                self.transaction = size
        if self.posted and self.operation in ANSWERED_OPERATIONS:
            faults.add("posted", f"{_one(self.operation)} without an answer brings nothing back", "off")
        ranks = getattr(self, "ranks", None) or 1
        if self.repeat * ranks > OPERATIONS_MAX:
            faults.add(
                "repeat", f"{self.repeat} repeats of {ranks} GPUs are too many operations", f"at most {OPERATIONS_MAX // ranks}"
            )
        if self.posted is None:
            self.posted = False
        faults.raise_any()
        return self


class Permutation(PatternTask):
    """GPU i sends to GPU i + shift."""

    shift: int = Field(1, ge=1, le=1023, description="Distance from source to target, modulo ranks.")
    ranks: Ranks | None = Field(None, description="The first so many GPUs take part; default: all.")


class Incast(PatternTask):
    """All send to one."""

    dst: Gpu = Field(0, description="The target.")
    ranks: Ranks | None = Field(None, description="The first so many GPUs take part; default: all.")


class PointToPoint(PatternTask):
    """One sends to one."""

    src: Gpu = Field(0, description="The source: it issues the operation.")
    dst: Gpu = Field(1, description="The target: its memory is read or written.")


def _check_threads(value: list[str]) -> list[str]:
    faults = Faults()
    for index, text in enumerate(value):
        try:
            parse_thread(text)
        except TextError as error:
            faults.add(str(index), error.message, error.expected, error.near)
    faults.raise_any()
    return value


def _read_threads(value: object) -> object:
    """Take ``- 0: store ...`` without quotes too, which YAML reads as a mapping."""
    if isinstance(value, str | dict):
        value = [value]
    if not isinstance(value, list):
        return value
    return [f"{next(iter(one))}: {next(iter(one.values()))}" if isinstance(one, dict) and len(one) == 1 else one for one in value]


_THREADS_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


class Program(Model):
    """Threads that issue a few operations each, in order, with fences, release and acquire between them."""

    threads: Annotated[
        list[Annotated[str, Field(max_length=4096)]],
        BeforeValidator(_read_threads),
        AfterValidator(Limited(_check_threads, "GPU: instruction; instruction; ...")),
        Field(min_length=1, max_length=4096),
        WithJsonSchema(_THREADS_SCHEMA),
    ] = Field(description="A text a thread: the GPU, then what it issues in order.")
    stack: int | None = Field(None, ge=0, le=15, description="Only the ports of this stack of each GPU carry it; default: all.")


class MoeModelFields(Model):
    """What one MoE layer needs of a model, written out instead of a ``config.json``."""

    name: str = Field(max_length=200, description="The model's name.")
    model_type: str = Field(max_length=200, description="model_type of the config.json.")
    hidden: int = Field(ge=1, le=1 << 20, description="Elements of a token.")
    experts: int = Field(ge=1, le=1 << 16, description="Routed experts of a layer.")
    top_k: int = Field(ge=1, le=1 << 10, description="Experts that a token goes to.")
    moe_layers: int = Field(ge=1, le=1 << 16, description="MoE layers of the model.")
    layers: int = Field(ge=1, le=1 << 16, description="Layers of the model.")
    expert_intermediate: int = Field(ge=1, le=1 << 20, description="Inner width of an expert.")
    shared_experts: int = Field(ge=0, le=1 << 10, description="Experts that every token goes to, on its own GPU.")
    groups: int = Field(1, ge=1, le=1 << 10, description="Expert groups of group-limited routing; 1 = none.")
    top_groups: int = Field(1, ge=1, le=1 << 10, description="Groups that a token may go to.")
    source_file: str = Field("", max_length=4096, description="Where the values were read.")


def _model_form(value: object) -> str:
    return FIELDS_TAG if isinstance(value, dict | MoeModelFields) else FILE_TAG


def _read_path(value: object) -> object:
    if not isinstance(value, str):
        raise fault("is no path", "the path of a Hugging Face config.json")
    if not value or "\0" in value or len(value) > 4096:
        raise fault("is no path", "the path of a Hugging Face config.json")
    return value


ModelPath = Annotated[str, BeforeValidator(_read_path)]
MoeModelForm = Annotated[
    Annotated[ModelPath, Tag(FILE_TAG)] | Annotated[MoeModelFields, Tag(FIELDS_TAG)], Discriminator(_model_form)
]


def _check_exponent(value: float) -> float:
    if not 0.0 <= value <= 10.0:
        raise fault("is out of range", "0 .. 10")
    return value


class Moe(Model):
    """Dispatch and combine of one layer of a mixture of experts."""

    model: MoeModelForm = Field(description="A Hugging Face config.json (path from this file's folder), or its values.")
    tokens_per_gpu: int = Field(ge=1, le=1 << 20, description="Tokens that each GPU holds before dispatch.")
    ranks: Ranks | None = Field(None, description="The first so many GPUs hold experts and tokens; default: all.")
    dispatch: PrecisionWord = Field("fp8", description="Format of a token on its way to the experts.")
    combine: PrecisionWord = Field("bf16", description="Format of a result on its way back.")
    routing: Literal["balanced", "zipf"] = Field("balanced", description="How tokens choose experts.")
    zipf_exponent: Annotated[Number, AfterValidator(Limited(_check_exponent, "0 .. 10"))] | None = Field(
        None, description="Skew of zipf routing; default 1.0. 0 = every expert alike."
    )
    seed: int | None = Field(None, ge=0, le=2**31 - 1, description="Seed of the routing; default: run.seed.")
    expert_compute: TimePs = Field(0, description="Time between a GPU's last token in and its first result out.")
    dedup: OnOff = Field(True, description="One copy of a token per target GPU, whatever number of its experts live there.")

    @model_validator(mode="after")
    def _complete(self) -> Moe:
        faults = Faults()
        if self.routing == "zipf" and self.zipf_exponent is None:
            self.zipf_exponent = 1.0
        elif self.routing != "zipf" and self.zipf_exponent is not None:
            faults.add("zipf_exponent", f"is read by nothing, routing is {self.routing}", "routing: zipf")
        faults.raise_any()
        return self


def _read_after(value: object) -> object:
    return [value] if isinstance(value, str) else value


_AFTER_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
KINDS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "permutation",
    "incast",
    "point_to_point",
    "program",
    "moe",
)


class Entry(Model):
    """One entry of the workload: exactly one of the ten kinds, with an optional name, order and start."""

    name: Name | None = Field(None, description="Name in reports and for 'after'; default: the kind.")
    after: Annotated[list[str], BeforeValidator(_read_after), WithJsonSchema(_AFTER_SCHEMA)] | None = Field(
        None, description="Entries that must be done first; default: the entry before; [] = none."
    )
    start: TimePs = Field(0, description="Not before this time.")
    moe: Moe | None = Field(None, description="Dispatch and combine of one MoE layer.")
    all_to_all: AllToAll | None = Field(None, description="Every GPU sends another piece to each.")
    all_reduce: AllReduce | None = Field(None, description="Every GPU ends with the sum of all buffers.")
    all_gather: AllGather | None = Field(None, description="Every GPU ends with the pieces of all.")
    reduce_scatter: ReduceScatter | None = Field(None, description="Every GPU ends with its piece of the sum.")
    broadcast: Broadcast | None = Field(None, description="Every GPU ends with the buffer of one.")
    permutation: Permutation | None = Field(None, description="GPU i sends to GPU i + shift.")
    incast: Incast | None = Field(None, description="All send to one.")
    point_to_point: PointToPoint | None = Field(None, description="One sends to one.")
    program: Program | None = Field(None, description="Threads of operations in order, with fences, release and acquire.")

    @model_validator(mode="after")
    def _one_kind(self) -> Entry:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not given:
            raise fault("asks for nothing", "exactly one of " + ", ".join(KINDS))
        if len(given) > 1:
            raise fault(f"asks for several things at once ({', '.join(given)})", "one entry each")
        return self

    @property
    def kind(self) -> str:
        """Which of the ten kinds this entry is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def task(self) -> Moe | CollectiveTask | PatternTask | Program:
        """The settings of that kind."""
        task: Moe | CollectiveTask | PatternTask | Program = getattr(self, self.kind)
        return task
