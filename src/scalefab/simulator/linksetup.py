"""The kernel's arrays of links: what each port is told, replay buffers, credits, rings of ordered sets on their way, faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fabric.arrays import Fabric
from ..fabric.faultspec import Fault, FaultKind
from ..fabric.linkspec import AfterFlush, FlowControl, LinkSpec, LinkStart
from ..protocol import cbfc, faults, limits, llr
from ..protocol.fec_codes import usual_depth
from ..protocol.fec_loss import LineErrors
from ..protocol.limits import LinkShape
from ..protocol.operations import WIRE_EXTRA_BYTES
from . import records as rec
from .machine import require_room
from .pausesetup import pause_arrays
from .records import NEVER_PS, zeros

I8 = NDArray[np.int64]

PATIENCE_PS = 1_000_000_000
"""How long nothing may move while only timers are left, beside two CC_UPDATE intervals (`own`: longer than any LLR timer)."""

_POOL_MAX = 1 << 19
_CAREFUL = frozenset(
    {
        FaultKind.LINK_DOWN,
        FaultKind.LINK_UP,
        FaultKind.LOSE_FRAME,
        FaultKind.CORRUPT_FRAME,
        FaultKind.POISON_FRAME,
        FaultKind.SKIP_SEQUENCE,
        FaultKind.LOSE_SETS,
        FaultKind.DELAY_SETS,
        FaultKind.ACK_PAUSE,
        FaultKind.ACK_FREEZE,
        FaultKind.PORT_DRAIN,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class LinkArrays:
    """Arrays of `records.State`, by its names, and switches of `records.KERNEL`."""

    arrays: dict[str, Any]
    switches: dict[str, int]


def lines_of(fabric: Fabric, table: Sequence[Fault]) -> tuple[LineErrors, ...]:
    """Return the ways in which lines err during a run: the fabric's own first, then those of faults, each once."""
    own = LineErrors(fabric.spec.ber, fabric.spec.burst)
    return tuple(dict.fromkeys((own, *(row.line for row in table if row.line is not None))))


def link_loss(fabric: Fabric, lines: Sequence[LineErrors], longest_bytes: int) -> I8:
    """Return the loss threshold of each length on the line (`protocol.faults`), a row for each of ``lines``; 0 without errors."""
    spec = fabric.spec
    depth = spec.fec_depth or usual_depth(int(fabric.port_rate_bps[0]))
    found = np.zeros((len(lines), longest_bytes + 4 + WIRE_EXTRA_BYTES + 1), np.int64)
    for row, line in enumerate(lines):
        if line.ber > 0.0:
            found[row] = faults.loss_thresholds(spec.fec, line, depth, longest_bytes)
    return found


def shape_of(fabric: Fabric, port: int, link: LinkSpec, longest_bytes: int) -> LinkShape:
    """Return the link of a port as `protocol.limits` asks for it; the delay of a link holds cable, PHYs and FEC."""
    there, back = int(fabric.port_delay_ps[port]), int(fabric.port_delay_ps[fabric.port_peer[port]])
    return LinkShape(
        int(fabric.port_rate_bps[port]),
        (there + back) // 2,
        0,
        longest_bytes,
        longest_bytes,
        link.llr.ctlos_spacing_bytes,
        link.cbfc.cf_spacing_bytes,
    )


def llr_limits(fabric: Fabric, port: int, link: LinkSpec, longest_bytes: int) -> limits.LlrLimits:
    """Return the limits of a port's sending end: what was stated, else the default of its rate, or more if its link is longer."""
    own, default = link.llr, limits.default_llr(int(fabric.port_rate_bps[port]))
    shape = shape_of(fabric, port, link, longest_bytes)
    size = own.outstanding_bytes_max
    if size is None:
        size = min(max(default.outstanding_bytes, limits.outstanding_bytes(shape)), limits.OUTSTANDING_BYTES_MAX)
    frames = own.outstanding_frames_max
    if frames is None:
        frames = min(limits.outstanding_frames(size), limits.SEQUENCE_HALF - 1)
    timer_ps = own.replay_timer_ps if own.replay_timer_ps is not None else limits.replay_timer_ps(shape)
    count = own.replay_count_max if own.replay_count_max != llr.NO_REPLAY_LIMIT else llr.REPLAY_COUNT_MAX
    age_ps = own.data_age_ps if own.data_age_ps is not None else limits.data_age_ps(timer_ps, count)
    if own.replay_count_max == llr.NO_REPLAY_LIMIT and own.data_age_ps is None:
        age_ps = 0
    pcs_ps = own.pcs_lost_ps if own.pcs_lost_ps is not None else llr.PCS_LOST_PS
    return limits.LlrLimits(frames, size, timer_ps, own.replay_count_max, pcs_ps, age_ps, own.ctlos_spacing_bytes)


def _llr_records(fabric: Fabric, links: Sequence[LinkSpec], longest_bytes: int) -> tuple[Any, Any]:
    tx, rx = zeros(fabric.ports, llr.SENDER), zeros(fabric.ports, llr.RECEIVER)
    known: dict[tuple[int, int, int], limits.LlrLimits] = {}
    mask = (1 << llr.SEQUENCE_BITS) - 1
    for p, link in enumerate(links):
        key = (id(link), int(fabric.port_rate_bps[p]), int(fabric.port_delay_ps[p] + fabric.port_delay_ps[fabric.port_peer[p]]))
        if key not in known:
            known[key] = llr_limits(fabric, p, link, longest_bytes)
        of = known[key]
        t, first = tx[p], link.llr.first_seq
        t.frames_max, t.bytes_max = of.outstanding_frames, of.outstanding_bytes
        t.replays_max, t.timer_limit_ps = of.replay_count_max, of.replay_timer_ps
        t.age_limit_ps, t.pcs_limit_ps = of.data_age_ps, of.pcs_lost_ps
        t.first_seq = t.next_seq = t.una_seq = rx[p].expected = first
        rx[p].last_seq = (first - 1) & mask
        t.timer_ps = -1
        if link.llr.start is LinkStart.READY:  # links came up before the run
            t.state, rx[p].state = llr.TX_ADVANCE, llr.RX_SEND_ACKS
    return tx, rx


def _link_records(fabric: Fabric, links: Sequence[LinkSpec], table: Sequence[Fault], seed: int, random: bool) -> Any:
    link = zeros(fabric.ports, rec.LINK)
    forward = fabric.port_peer > np.arange(fabric.ports)  # the two directions of a link have a substream each
    for p, of in enumerate(links):
        r, back = link[p], links[int(fabric.port_peer[p])]
        r.eligible = of.llr.eligible_vcs
        r.lossless = of.cbfc.lossless_vcs if of.flow_control is FlowControl.CBFC else 0
        r.credit_bytes, r.overhead_bytes = of.cbfc.credit_bytes, of.cbfc.overhead_bytes
        r.init_action, r.flush_action = int(of.llr.init_action), int(of.llr.flush_action)
        r.re_init = int(of.llr.after_flush is AfterFlush.RE_INIT)
        r.handshake = int(of.llr.on and of.llr.start is LinkStart.INIT)
        cbfc_on = of.flow_control is FlowControl.CBFC
        r.refresh_gap_ps = _line_ps(fabric, p, of.cbfc.refresh_bytes) if cbfc_on and back.cbfc.refresh_bytes else NEVER_PS
        r.cc_gap_ps = of.cbfc.cc_interval_ps if cbfc_on else 0
        r.plane = int(fabric.port_plane[p])
        if random:
            r.set_key = faults.substream_key(seed, "sets", 2 * int(fabric.port_link[p]) + int(forward[p]))
    for name in ("init_due_ps", "echo_due_ps", "pcs_since_ps", "fault_head"):
        link[name] = -1
    link.down_from_ps = link.next_number = NEVER_PS
    for row in reversed(table):
        if row.kind is FaultKind.LINK_DOWN:
            link.down_from_ps[[row.port, fabric.port_peer[row.port]]] = row.at_ps
    return link


def _line_ps(fabric: Fabric, port: int, size_bytes: int) -> int:
    return -(-size_bytes * int(fabric.port_ps_num[port]) // int(fabric.port_ps_den[port]))


def _credits(fabric: Fabric, links: Sequence[LinkSpec], vcs: int) -> Any:
    """Credits that each port has at its peer: stated ones, else the receive buffer; the last column is the pool."""
    sender = zeros((fabric.ports, vcs + 1), cbfc.SENDER)
    sender.limit[:, vcs] = _POOL_MAX
    for p in range(fabric.ports):
        q = int(fabric.port_peer[p])
        grant = links[q].cbfc
        buffer = fabric.port_buffer_bytes[q]
        for vc in range(vcs):
            if grant.limits:
                sender.limit[p, vc] = grant.limits[vc]
            else:
                sender.limit[p, vc] = buffer[min(vc, len(buffer) - 1)] // grant.credit_bytes
        if grant.pool is not None:
            sender.limit[p, vcs] = grant.pool
    return sender


def _set_ports(port: Any, fabric: Fabric, links: Sequence[LinkSpec], seed: int, random: bool) -> None:
    forward = fabric.port_peer > np.arange(fabric.ports)
    for p, of in enumerate(links):
        port.ack_gap_ps[p] = _line_ps(fabric, p, of.llr.ctlos_spacing_bytes)
        port.cf_gap_ps[p] = _line_ps(fabric, p, of.cbfc.cf_spacing_bytes)
        if random:
            port.fault_key[p] = faults.substream_key(seed, "fault", 2 * int(fabric.port_link[p]) + int(forward[p]))


def _fault_rows(table: Sequence[Fault], lines: Sequence[LineErrors]) -> Any:
    rows = zeros(len(table), rec.FAULT_ROW)
    for n, of in enumerate(table):
        r = rows[n]
        r.at_ps, r.port, r.kind, r.vc, r.arg = of.at_ps, of.port, int(of.kind), of.vc, of.arg
        r.next = -1
        if of.line is not None:
            r.arg = lines.index(of.line)
    return rows


def _room(gap_ps: I8, delay_ps: I8, late_ps: int, refresh_ps: I8 | None = None, vcs: int = 0) -> int:
    """Return the entries of a ring that holds all ordered sets which are on their way at once, a power of two.

    Refreshes come besides those with a spacing: two VCs each, all within ``refresh_ps``.
    """
    away_ps = delay_ps + late_ps
    sets = away_ps // np.maximum(1, gap_ps)
    if refresh_ps is not None:
        sets = sets + (vcs + 1) // 2 * (1 + away_ps // np.maximum(1, refresh_ps))
    most = int(sets.max()) + 4
    return 1 << most.bit_length()


def make_links(
    fabric: Fabric, port: Any, links: Sequence[LinkSpec], table: Sequence[Fault], seed: int, longest_bytes: int
) -> LinkArrays:
    """Build the arrays of links, and set what ports hold of them.

    Parameters
    ----------
    fabric, port
        The network, and its PORT records: spacings and substreams are set.
    links
        What each port is told, one a port.
    table
        Faults in order of time.
    seed
        The one seed.
    longest_bytes
        Longest frame that travels, without a tag.
    """
    vcs = links[0].vcs
    kinds = {row.kind for row in table}
    lines = lines_of(fabric, table)
    thresholds = link_loss(fabric, lines, longest_bytes)
    lossy = bool(thresholds.any()) or FaultKind.LOSS_RATE in kinds
    starts = any(of.llr.on and of.llr.start is LinkStart.INIT for of in links)
    re_init = any(of.llr.after_flush is AfterFlush.RE_INIT for of in links)
    careful = bool(kinds & _CAREFUL) or starts or (lossy and re_init)
    every = (1 << vcs) - 1
    mixed = any(
        of.llr.eligible_vcs & every != every
        or of.cbfc.lossless_vcs & every != every
        or of.cbfc.pool is not None
        or of.flow_control is not FlowControl.CBFC
        for of in links
    )
    drained = FaultKind.DRAIN in kinds
    late_ps = max((row.arg for row in table if row.kind is FaultKind.DELAY_SETS), default=0)
    _set_ports(port, fabric, links, seed, lossy or careful)
    tx, rx = _llr_records(fabric, links, longest_bytes)
    link = _link_records(fabric, links, table, seed, careful)
    port.refresh_ps = np.where(link.refresh_gap_ps < NEVER_PS, link.refresh_gap_ps, NEVER_PS)
    drain = zeros((fabric.ports, vcs) if drained else (1, 1), rec.DRAIN)
    drain.head = -1
    copies = max(rec.COPIES_FIRST, 1 << int(tx.frames_max.max()).bit_length())
    cf_ring = _room(port.cf_gap_ps, fabric.port_delay_ps, late_ps, link.refresh_gap_ps, vcs)
    ack_ring = _room(port.ack_gap_ps, fabric.port_delay_ps, late_ps)
    some = (fabric.ports, copies)
    require_room(fabric.ports, copies * rec.COPY.itemsize, cf_ring * rec.CF_UPDATE.itemsize, ack_ring * rec.LLR_SET.itemsize)
    pause, switches = pause_arrays(fabric, links, vcs, lambda p, of: shape_of(fabric, p, of, longest_bytes))
    if switches["pfc"]:
        link.credit_bytes, link.overhead_bytes = switches["credit_bytes"], switches["overhead_bytes"]
    return LinkArrays(
        {
            "link": link,
            "sender": _credits(fabric, links, vcs),
            "receiver": zeros((fabric.ports, vcs), cbfc.RECEIVER),
            "told_ps": np.zeros((fabric.ports, vcs), np.int64),
            "drain": drain,
            "cc_value": np.zeros((fabric.ports, 2 * vcs), np.int32),
            "cf_ring": zeros((fabric.ports, cf_ring), rec.CF_UPDATE),
            "llr_tx": tx,
            "llr_rx": rx,
            "copy": zeros((copies // rec.COPIES_FIRST * fabric.ports, rec.COPIES_FIRST), rec.COPY),
            "sent_ps": np.zeros(some if lossy or careful else (1, 1), np.int64),
            "fault": _fault_rows(table, lines),
            "loss_threshold": thresholds,
            "ack_ring": zeros((fabric.ports, ack_ring), rec.LLR_SET),
            **pause,
        },
        {
            "vcs": vcs,
            "llr": int(links[0].llr.on),
            "lossy": int(lossy),
            "careful": int(careful),
            "mixed": int(mixed),
            "drained": int(drained),
            "cf_ring": cf_ring,
            "ack_ring": ack_ring,
            "patience_ps": PATIENCE_PS + 2 * max(of.cbfc.cc_interval_ps for of in links),
            **switches,
        },
    )
