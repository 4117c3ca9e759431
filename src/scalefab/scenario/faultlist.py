"""The checked entries of ``faults`` -> rows of the fault table: places become ports, probabilities thresholds, ends rows too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, Problem
from ..fabric.arrays import Fabric
from ..fabric.faultspec import Fault, FaultKind
from ..fabric.headroom import longest_outage_ps
from ..fabric.linkspec import FlowControl
from ..fabric.names import find_link, find_nodes, node_name, port_name
from ..fabric.spec import FabricSpec
from ..protocol.faults import threshold_of
from ..protocol.fec_loss import LineErrors
from ..units import exact_rate, exact_time
from .faultmodels import FLAPS_MAX, SINGLE_FRAME, FaultEntry, lanes_of
from .randomfaults import DRAWS_MAX, outages

ROWS_MAX = 1_000_000  # own: more rows than this are a mistake
NEVER_PS = 1 << 62

_STATE = {"flap": "down", "random": "down", "drain": "down", "lanes": "rate"}
"""What a kind sets; two entries must not set the same thing of a link at once. Others set what their name says."""

_BOTH_WAYS = ("down", "flap", "random", "drain")
_ONE_WAY = (*SINGLE_FRAME, "slow_receiver", "ack_pause")


@dataclass(frozen=True, slots=True)
class _Span:
    """A time in which an entry holds something: from, to (excluded)."""

    begin_ps: int
    end_ps: int
    entry: int


def fault_table(entries: Sequence[FaultEntry], fabric: Fabric, until_ps: int = 0, seed: int = 1) -> tuple[Fault, ...]:
    """Return the rows of all entries in time order; of those at one time, ends stand before beginnings.

    Parameters
    ----------
    entries
        Checked entries of the file.
    fabric
        Whose links are named.
    until_ps
        When the run is stopped, 0 = never.
    seed
        The one seed, for faults at random.

    Raises
    ------
    InputError
        Links that are not there, faults that nothing reads or that hold the same thing at once. Keys, no lines.
    """
    problems: list[Problem] = []
    rows: list[tuple[int, int, int, Fault]] = []
    spans: dict[tuple[str, int, int], list[_Span]] = {}
    for index, entry in enumerate(entries):
        key = f"faults[{index}]"
        found = list(_misfits(entry, fabric, until_ps, key))
        ports = _ports(entry, fabric, key, found)
        together = _together(entry, fabric, ports, key, found)
        problems += found
        if found:
            continue
        times = _times(entry)
        spans_of = [(*span, ports) for span in times]
        if entry.random is not None:
            drawn = outages(_seed(entry, seed), index, len(together), *times[0], entry.random.every, entry.random.down)
            spans_of = [(begin_ps, end_ps, together[place]) for place, begin_ps, end_ps in drawn]
        if len(rows) + sum(3 * len(hit) for _, _, hit in spans_of) > ROWS_MAX:
            problems.append(Problem(f"makes more than {ROWS_MAX} changes of links together with those before", "fewer", key=key))
            break
        for begin_ps, end_ps, hit in spans_of:
            for port in hit:
                begin, end = _rows(entry, fabric, port)
                down_ps = begin_ps + (entry.drain or 0)
                rows.append((down_ps, 1, index, replace(begin, at_ps=down_ps)))
                if end is not None and end_ps < NEVER_PS:
                    rows.append((end_ps, 0, index, replace(end, at_ps=end_ps)))
                if entry.drain is not None:
                    rows.append((begin_ps, 1, index, Fault(begin_ps, port, FaultKind.PORT_DRAIN, 1)))
                    if end_ps < NEVER_PS:
                        rows.append((end_ps, 0, index, Fault(end_ps, port, FaultKind.PORT_DRAIN, 0)))
        for port in ports if entry.kind not in SINGLE_FRAME else ():
            state = (_STATE.get(entry.kind, entry.kind), port, -1 if entry.vc is None else entry.vc)
            spans.setdefault(state, []).append(_Span(times[0][0], times[-1][1], index))
    problems += _overlaps(entries, fabric, spans)
    if problems:
        raise InputError(problems)
    return tuple(fault for *_, fault in sorted(rows, key=lambda row: row[:3]))


def outage_advice(entries: Sequence[FaultEntry], spec: FabricSpec) -> tuple[str, ...]:
    """Return a warning for links that are down so long that LLR gives up: what it keeps is lost then."""
    limits_ps = longest_outage_ps(spec) if spec.link.llr.on else {}
    found = []
    for index, entry in enumerate(entries):
        if entry.kind not in ("down", "flap", "random") or (entry.until is None and entry.flap is None):
            continue
        longest_ps = max(end_ps - begin_ps for begin_ps, end_ps in _times(entry))
        if entry.random is not None:
            longest_ps = min(longest_ps, entry.random.down)
        broken = [f"{key} ({exact_time(limit_ps)})" for key, limit_ps in limits_ps.items() if limit_ps <= longest_ps]
        if broken:
            found.append(
                f"faults[{index}].{entry.kind}: {exact_time(longest_ps)} without a signal is not below {' and '.join(broken)}: "
                "the link gives up, and RH sends what it kept again; longer times there would keep it"
            )
    return tuple(found)


def _misfits(entry: FaultEntry, fabric: Fabric, until_ps: int, key: str) -> Iterator[Problem]:
    """Yield what does not go with the rest of the file."""
    link, kind = fabric.spec.link, entry.kind
    if entry.drain is not None and entry.at + entry.drain >= NEVER_PS:
        yield Problem(f"never comes, {exact_time(entry.drain)} are too long", "an earlier time", key=f"{key}.drain")
    if until_ps and entry.at >= until_ps:
        yield Problem(f"never happens, the run ends at {exact_time(until_ps)}", "an earlier time", key=f"{key}.at")
    if kind == "ack_pause" and not link.llr.on:
        yield Problem("is read by nothing, LLR is off", "fabric.llr.enabled: on", key=f"{key}.{kind}")
    if kind in ("lose_sets", "delay_sets") and not link.llr.on and link.flow_control is not FlowControl.CBFC:
        yield Problem("is read by nothing, no port sends ordered sets", "LLR or CBFC", key=f"{key}.{kind}")
    line_bps = int(fabric.port_rate_bps.max())
    if kind in ("rate", "slow_receiver") and entry.value >= line_bps:
        yield Problem(f"is no slower than the line, {exact_rate(line_bps)}", "a lower rate", key=f"{key}.{kind}")
    flap = entry.flap
    if flap is not None and entry.until is not None and (entry.until - entry.at) // flap.period >= FLAPS_MAX:
        yield Problem(f"goes down more than {FLAPS_MAX} times", "a longer period, or an earlier 'until'", key=f"{key}.flap")
    random = entry.random
    if random is not None and entry.until is not None and 2 * (entry.until - entry.at) // random.every > DRAWS_MAX:
        yield Problem(
            f"draws more than {DRAWS_MAX // 2} faults", "a longer 'every', or an earlier 'until'", key=f"{key}.random.every"
        )


@dataclass(frozen=True, slots=True)
class _Where:
    """One named place of an entry: its key in the file, the directed ports there, and whether one direction was said.

    ``own`` are the ports of a named node, both ends of a link otherwise.
    """

    key: str
    ports: tuple[int, ...]
    own: tuple[int, ...]
    directed: bool
    of_node: bool


def _ports(entry: FaultEntry, fabric: Fabric, key: str, problems: list[Problem]) -> tuple[int, ...]:
    """Return the ports of an entry's rows: one of a link that goes down, of anything else each direction's."""
    ports: list[int] = []
    for where in _places(entry, fabric, key, problems):
        try:
            ports += _ports_at(entry.kind, fabric, where)
        except InputError as error:
            problems += [replace(problem, key=where.key) for problem in error.problems]
    return tuple(dict.fromkeys(ports))


def _ports_at(kind: str, fabric: Fabric, where: _Where) -> list[int]:
    """Return the ports of one place. Raises InputError: the place does not suit the kind of fault."""
    if kind in _BOTH_WAYS:
        if where.directed:
            end = port_name(fabric, where.ports[0]).split(" -> ")[0]
            raise InputError([Problem("names one direction, a link goes down in both", f"{end}, without an arrow")])
        return [min(port, int(fabric.port_peer[port])) for port in where.ports]
    if kind not in _ONE_WAY:
        return list(where.ports)
    if not where.directed and not where.of_node:
        ways = " or ".join(port_name(fabric, port) for port in where.ports)
        raise InputError([Problem("names both directions of a link, this fault has one", ways)])
    if kind != "slow_receiver":
        return list(where.own)
    ends = where.own if where.of_node else [int(fabric.port_peer[port]) for port in where.ports]
    receivers = [port for port in ends if int(fabric.port_node[port]) < fabric.endpoints]
    if not receivers:
        who = node_name(fabric, int(fabric.port_node[ends[0]]))
        raise InputError([Problem(f"{who} is a switch, which sends on at line rate", "a GPU that receives")])
    return receivers


def _places(entry: FaultEntry, fabric: Fabric, key: str, problems: list[Problem]) -> Iterator[_Where]:
    """Yield the named places; names that fit nothing become problems."""
    if entry.all:
        ports = tuple(range(fabric.ports))
        yield _Where(f"{key}.all", ports, ports, directed=False, of_node=True)
        return
    names, what = (entry.link, "link") if entry.link is not None else (entry.node or [], "node")
    for index, name in enumerate(names):
        here = f"{key}.{what}[{index}]" if len(names) > 1 else f"{key}.{what}"
        try:
            if what == "link":
                place = find_link(fabric, name)
                yield _Where(here, place.ports, place.ports, place.directed, of_node=False)
            else:
                own = np.flatnonzero(np.isin(fabric.port_node, find_nodes(fabric, name)))
                both = tuple(int(port) for port in (*own, *fabric.port_peer[own]))
                yield _Where(here, both, both[: len(own)], directed=False, of_node=True)
        except InputError as error:
            problems += [replace(problem, key=here) for problem in error.problems]


def _together(
    entry: FaultEntry, fabric: Fabric, ports: tuple[int, ...], key: str, problems: list[Problem]
) -> list[tuple[int, ...]]:
    """Return what goes down together when faults are at random: single links, or those of each switch that is named."""
    random = entry.random
    if random is None or not ports:
        return []
    if random.of == "links":
        return [(port,) for port in ports]
    if entry.link is not None:
        problems.append(Problem("takes whole switches, and 'link' names a link", "node, or all", key=f"{key}.random.of"))
        return []
    ends = np.array([[fabric.port_node[port], fabric.port_node[fabric.port_peer[port]]] for port in ports])
    named = range(fabric.endpoints, fabric.nodes)
    if entry.node is not None:
        named_nodes = [node for name in entry.node for node in find_nodes(fabric, name)]
        for node in named_nodes:
            if node < fabric.endpoints:
                problems.append(Problem(f"{node_name(fabric, node)} is no switch", "a switch or a plane", key=f"{key}.node"))
        return [_links_of(ends, ports, node) for node in dict.fromkeys(named_nodes)]
    return [_links_of(ends, ports, node) for node in named]


def _links_of(ends: NDArray[np.int64], ports: tuple[int, ...], node: int) -> tuple[int, ...]:
    return tuple(ports[i] for i in np.flatnonzero((ends == node).any(axis=1)))


def _seed(entry: FaultEntry, seed: int) -> int:
    own = entry.random.seed if entry.random is not None else None
    return seed if own is None else own


def _times(entry: FaultEntry) -> list[tuple[int, int]]:
    """Return from when to when an entry holds; of a flapping link one span each time."""
    end_ps = NEVER_PS if entry.until is None else entry.until
    flap = entry.flap
    if flap is None:
        return [(entry.at, end_ps)]
    count = flap.count if flap.count is not None else -(-(end_ps - entry.at) // flap.period)
    begins = [entry.at + number * flap.period for number in range(count)]
    return [(begin, min(begin + flap.down, end_ps)) for begin in begins]


def _rows(entry: FaultEntry, fabric: Fabric, port: int) -> tuple[Fault, Fault | None]:
    """Return the row that begins an entry at a port, and the one that ends it; their times are the caller's."""
    line_bps, value = int(fabric.port_rate_bps[port]), entry.value

    def both(kind: FaultKind, arg: int, end: int, vc: int = -1) -> tuple[Fault, Fault]:
        return Fault(0, port, kind, arg, vc), Fault(0, port, kind, end, vc)

    match entry.kind:
        case "down" | "flap" | "random" | "drain":
            return Fault(0, port, FaultKind.LINK_DOWN), Fault(0, port, FaultKind.LINK_UP)
        case "ber":
            usual = LineErrors(fabric.spec.ber, fabric.spec.burst)
            line = LineErrors(value, entry.burst or 0.0)
            return Fault(0, port, FaultKind.LINE_ERRORS, line=line), Fault(0, port, FaultKind.LINE_ERRORS, line=usual)
        case "loss":
            return both(FaultKind.LOSS_RATE, threshold_of(value), 0)
        case "lose_sets":
            return both(FaultKind.LOSE_SETS, threshold_of(value), 0)
        case "delay_sets":
            return both(FaultKind.DELAY_SETS, value, 0)
        case "lanes":
            left, lanes = lanes_of(value)
            return both(FaultKind.RATE, line_bps * left // lanes, line_bps)
        case "rate":
            return both(FaultKind.RATE, value, line_bps)
        case "slow_receiver":
            return both(FaultKind.DRAIN, value, -1, -1 if entry.vc is None else entry.vc)
        case "ack_pause":
            return Fault(0, port, FaultKind.ACK_PAUSE), Fault(0, port, FaultKind.ACK_RESUME)
    return Fault(0, port, FaultKind[entry.kind.upper()], value), None


def _overlaps(entries: Sequence[FaultEntry], fabric: Fabric, spans: dict[tuple[str, int, int], list[_Span]]) -> Iterator[Problem]:
    """Yield entries that hold the same thing of a link while an earlier one does, each pair once."""
    told: set[tuple[int, int]] = set()
    for (state, port, vc), own in spans.items():
        others = spans.get((state, port, -1), []) if vc >= 0 else []  # all VCs, and one of them
        held = sorted((*own, *others), key=lambda span: (span.begin_ps, span.entry))
        reach = held[0]
        for span in held[1:]:
            if span.begin_ps < reach.end_ps and reach.entry != span.entry:
                first, second = sorted((reach.entry, span.entry))
                if (first, second) not in told:
                    told.add((first, second))
                    name = port_name(fabric, port)
                    end = "" if reach.end_ps < NEVER_PS else ", which has no 'until'"
                    yield Problem(
                        f"begins while faults[{first}] holds {name}{end}",
                        "times apart, or another link",
                        key=f"faults[{second}].{entries[second].kind}",
                    )
            if span.end_ps > reach.end_ps:
                reach = span
