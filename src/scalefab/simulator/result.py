"""What a run leaves behind. No Numba here: report and planner read this without a compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..fabric.arrays import Fabric
from ..scenario.fidelity import Fidelity as Fidelity
from ..workload.graph import OperationGraph
from .memory import Memory
from .trace import Trace
from .waits import Waits

if TYPE_CHECKING:
    import pandas
    import polars

I4 = NDArray[np.int32]
I8 = NDArray[np.int64]


UNTIL_NOTE = "stopped at run.until with work left"
"""Stands in the notes of a result that ``run.until`` ended."""


class Status(IntEnum):
    """How a run ended."""

    DONE = 0
    PARTIAL = 1
    NO_PROGRESS = 2


class Ending(IntEnum):
    """How an operation ended; positive numbers are statuses of the profile (section 1)."""

    NOT_STARTED = -1  #: it waited for one that failed
    OK = 0  #: done, or not ended yet
    TIMEOUT = 6  #: its pair had no live path for `protocol.profile.NO_PATH_PS`


class Stage(IntEnum):
    """Where a delivered data frame spent its time, in the order of its way; the times add up to executed - ready exactly."""

    ENDPOINT_TX = 0  #: fixed transmit latency of the source endpoint
    SOURCE_QUEUE = 1  #: other frames of the same source port went first
    WINDOW = 2  #: source port idle because every waiting session's RH window was full
    SOURCE_CREDIT = 3  #: source port idle for want of CBFC credits
    SERIALISE = 4  #: preamble and frame on the first line (counted once: switches cut through)
    CABLE = 5  #: cables, PHYs and FEC of all links
    LOOKUP = 6  #: switch, first bit in to first possible bit out
    ARBITER = 7  #: waited in a VOQ while the output sent other frames
    SWITCH_CREDIT = 8  #: waited in a VOQ while the output had no credits
    ENDPOINT_RX = 9  #: fixed receive latency of the target endpoint
    MEMORY_WAIT = 10  #: target memory was busy with earlier frames
    MEMORY = 11  #: target memory latency
    LINK_REPLAY = 12  #: lost or corrupted on a link and sent again by LLR
    RESPONSE_ROOM = 13  #: waited in the receive buffer of the target for room in its response queue
    RH_REPLAY = 14  #: lost on the way and sent again end to end, by RH


STAGE_LABELS = {
    Stage.ENDPOINT_TX: "endpoint TX latency",
    Stage.SOURCE_QUEUE: "source port busy",
    Stage.WINDOW: "RH window full",
    Stage.SOURCE_CREDIT: "no credits at the source",
    Stage.SERIALISE: "serialisation",
    Stage.CABLE: "cable, PHY, FEC",
    Stage.LOOKUP: "switch look-up",
    Stage.ARBITER: "switch output busy",
    Stage.SWITCH_CREDIT: "no credits at the switch",
    Stage.ENDPOINT_RX: "endpoint RX latency",
    Stage.MEMORY_WAIT: "target memory busy",
    Stage.MEMORY: "target memory latency",
    Stage.LINK_REPLAY: "link replay (LLR)",
    Stage.RESPONSE_ROOM: "response queue full",
    Stage.RH_REPLAY: "end-to-end replay (RH)",
}


@dataclass(frozen=True, slots=True, eq=False)
class OperationTimes:
    """Per operation of the graph, in ps, -1 = never; shape (n,). ``ending`` is an `Ending` each."""

    ready_ps: I8
    first_ps: I8
    executed_ps: I8
    done_ps: I8
    ending: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class PortTable:
    """Per directed port; shape (ports,)."""

    frames: I8
    ack_frames: I8
    cf_updates: I8
    data_bytes: I8  #: payload bytes sent
    wire_bytes: I8  #: frames with preamble and gap, and ordered sets
    busy_ps: I8
    credit_wait_ps: I8
    window_wait_ps: I8
    peak_credit_bytes: I8  #: most credits that frames held at once, in bytes: in this buffer or on their way to it, one VC
    llr_acks: I8  #: ACK ordered sets of LLR sent
    llr_nacks: I8  #: NACK ordered sets of LLR sent
    replayed_frames: I8  #: frames sent again by LLR
    llr_wait_ps: I8  #: idle because LLR's limits were reached


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One run.

    Attributes
    ----------
    completion_ps
        Time of the last done operation.
    bound_ps
        Lower bound of the graph on the fabric (`workload.bounds`), 0 when not computed.
    stage_ps
        Sum over executed data frames of the time in each `Stage`; their sum equals ``frame_ps`` exactly.
    frame_ps
        Sum over executed data frames of (executed - ready), ps.
    latency_edges_ps, latency_counts
        Histogram of (executed - first bit sent) of data frames, log-linear.
    link_load_bin_ps, link_load
        Wire bytes by port and time bin; shape (ports, bins).
    wire_bytes
        Line bytes of the data frames sent, preamble and gap included, on their first link. ACK frames and ordered sets stand in
        ``ports.wire_bytes`` beside them.
    rh_replays, rh_nacks, rh_path_errors
        Frames that RH sent again end to end, NACK frames, paths that were given up.
    operations_done
        Operations that finished; equal to len(graph) when status is DONE.
    fidelity
        What was simulated. At `Fidelity.FLOW` there are no frames: their counts, ``stage_ps`` and latencies are 0.
    waits
        Who waits for whom, when status is NO_PROGRESS.
    memory
        Which segments were executed how often, with ``run.verify: memory``.
    executed_bin_ps, executed_bins
        Data bytes by the time bin in which they became visible; shape (bins,), they add up to ``data_bytes``.
    fault_ps
        When something went wrong on links after the start, ascending; shape (faults,).
    """

    status: Status
    graph: OperationGraph
    fabric: Fabric
    seed: int
    completion_ps: int
    now_ps: int
    bound_ps: int
    bound_cut: str
    operations: OperationTimes
    ports: PortTable
    frames: int
    frames_sent: int
    ack_frames: int
    cf_updates: int
    data_bytes: int
    wire_bytes: int
    events: int
    stage_ps: I8
    frame_ps: int
    latency_edges_ps: I8
    latency_counts: I8
    link_load_bin_ps: int
    link_load: I8
    operations_done: int
    wall_s: float
    compile_s: float
    peak_MB: float
    notes: tuple[str, ...] = ()
    rh_replays: int = 0
    rh_nacks: int = 0
    rh_path_errors: int = 0
    trace: Trace | None = None
    waits: Waits | None = None
    memory: Memory | None = None
    executed_bin_ps: int = 0
    executed_bins: I8 = field(default_factory=lambda: np.zeros(0, np.int64))
    fault_ps: I8 = field(default_factory=lambda: np.zeros(0, np.int64))
    manifest: dict[str, Any] = field(default_factory=dict)
    fidelity: Fidelity = Fidelity.PACKET

    def count_endings(self, ending: Ending) -> int:
        """Operations that ended in one way without success."""
        return int(np.count_nonzero(self.operations.ending == ending))

    @property
    def lost_frames(self) -> int:
        """Data frames sent and never executed (in a partial result: still in flight)."""
        return self.frames_sent - self.frames

    @property
    def payload_efficiency(self) -> float:
        """Data bytes a wire byte of the data frames; ACK frames and ordered sets are told apart (`ports`)."""
        return self.data_bytes / self.wire_bytes if self.wire_bytes else 0.0

    def to_pandas(self, table: str = "operations") -> pandas.DataFrame:
        """Return a table of the run as a pandas frame (extra ``pandas``).

        Parameters
        ----------
        table
            ``operations``, ``links``, ``frames``, ``counters`` or ``lost_time``; columns as in the CSV files.

        Raises
        ------
        InputError
            No such table.
        MissingExtraError
            pandas is not installed.
        """
        from .tables import to_pandas

        return to_pandas(self, table)

    def to_polars(self, table: str = "operations") -> polars.DataFrame:
        """Return a table of the run as a polars frame (extra ``polars``); parameters and errors as `to_pandas`."""
        from .tables import to_polars

        return to_polars(self, table)
