"""What a bench measured against what a case expects: one check an expectation and port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..protocol.cbfc import COUNTER_BITS, credits_needed
from ..protocol.llr import RxState, TxState
from ..protocol.profile import WIRE_EXTRA_BYTES
from ..simulator.bench import BenchResult, FlowCount, Moment
from .expectation import Expectation
from .expressions import Expression, ExpressionError, Reference, Value
from .load import flow_name
from .measures import PORT_COUNTERS, STATES, Unit, per_vc
from .plan import Plan
from .quantities import PPM, VCS_MAX
from .words import GROUPS, PORTS

Measured = int | float | str

_SUFFIX = {Unit.COUNT: "", Unit.BYTES: "", Unit.PERCENT: "_percent", Unit.PS: "_ps"}
_MODULO = 1 << COUNTER_BITS


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that had to hold: its name, what was expected in words, what was measured."""

    name: str
    expected: str
    measured: Measured
    passed: bool


def judge(plan: Plan, result: BenchResult) -> list[Check]:
    """Return all checks of a run, in the order of the case."""
    judge_of = _Judge(plan, result)
    checks = [check for wanted in plan.case.expect for check in judge_of.checks(wanted)]
    if not result.links_up:
        checks.insert(0, Check("links", "up at the start of traffic", "not up", False))
    return checks


class _Judge:
    """The measured values of a run by their names."""

    def __init__(self, plan: Plan, result: BenchResult) -> None:
        self.plan = plan
        self.result = result
        self.ports = list(plan.limits)
        self.flows = [flow_name(plan.case, index) for index in range(len(plan.case.traffic))]

    def checks(self, wanted: Expectation) -> Iterator[Check]:
        for port in self._ports(wanted) if wanted.port is not None else ("",):
            name = self._name(wanted, port)
            bounds = [(key, getattr(wanted, key)) for key in ("equals", "at_least", "at_most")]
            words, passed = [], True
            measured = self._measured(wanted, port)
            for key, bound in bounds:
                if bound is None:
                    continue
                try:
                    text, holds = self._holds(wanted, port, key, bound, measured)
                except ExpressionError as error:
                    text, holds = str(error), False
                words.append(text)
                passed = passed and holds
            yield Check(name, " and ".join(words), _plain(measured), passed)

    def _ports(self, wanted: Expectation) -> Iterator[str]:
        for name in wanted.port or ():
            if name not in GROUPS:
                yield name
            else:
                side = {"dut": "dut", "testers": "tester"}.get(name, "")
                yield from (port for port in self.ports if port.startswith(side))

    def _name(self, wanted: Expectation, port: str) -> str:
        vcs = "" if wanted.vc is None else f"[{','.join(str(vc) for vc in _bits(wanted.vc))}]"
        when = ""
        if wanted.at is not None:
            when = f"@{wanted.at}ps"
        elif wanted.between is not None:
            when = f"@{wanted.between[0]}..{wanted.between[1]}ps"
        if wanted.measure is not None:
            of = f"{wanted.flow}." if wanted.flow is not None else ""
            return f"{of}{wanted.measure}{_SUFFIX[wanted.unit]}{vcs}{when}"
        return f"{port}.{wanted.counter}{vcs}{when}"

    def _holds(
        self, wanted: Expectation, port: str, key: str, bound: Expression | str, measured: Value | str
    ) -> tuple[str, bool]:
        sign = {"equals": "==", "at_least": ">=", "at_most": "<="}[key]
        if isinstance(bound, str):
            return f"{sign} {bound}", measured == bound
        value = Fraction(bound.value(lambda reference: self._look_up(wanted, port, reference)))
        text = f"{sign} {_plain(value)}"
        if wanted.within is not None:
            text += f" within {_plain(Fraction(int(wanted.within) * 100, PPM))} %"
        if isinstance(measured, str):
            return text, False
        if key == "equals":
            allowed = abs(value) * Fraction(wanted.within or 0, PPM)
            return text, abs(measured - value) <= allowed
        return text, measured >= value if key == "at_least" else measured <= value

    def _look_up(self, wanted: Expectation, port: str, reference: Reference) -> Value:
        """Return the value of a name in an expectation's arithmetic."""
        if reference.of in PORTS:
            if reference.name in (*PORT_COUNTERS, *STATES) or per_vc(reference.name):
                mask = 1 << reference.vc if reference.vc >= 0 else None
                value = self._counter(reference.name, reference.of, mask, wanted)
                return value if not isinstance(value, str) else -1
            return self._quantity(reference.name, reference.of, self._flow_index(wanted.flow))
        if reference.of:
            index = self.flows.index(reference.of)
            if reference.name in ("size", "frames"):
                return self._quantity(reference.name, port, index)
            value = self._flow_value(reference.name, [index], None, wanted)
            return value if not isinstance(value, str) else -1
        return self._quantity(reference.name, port, self._flow_index(wanted.flow))

    def _flow_index(self, name: str | None) -> int:
        return self.flows.index(name) if name is not None else 0

    def _quantity(self, name: str, port: str, index: int) -> Value:
        flow = self.plan.bench.flows[index]
        known = self.plan.limits[port or self.ports[flow.source]]
        if name == "size":
            return flow.size_bytes
        if name == "frames":
            return flow.frames or self.result.end.flows[index].sent
        if name == "total_frames":
            return sum(one.frames or count.sent for one, count in zip(self.plan.bench.flows, self.result.end.flows, strict=True))
        if name == "credits":
            return int(credits_needed(flow.wire_bytes, known.packet_overhead, known.credit_size))
        if name == "T":
            return self.plan.round_trip_ps
        if name == "line_rate":
            return self.plan.bench.rate_bps
        if name == "link_delay":
            return self.plan.bench.link_delay_ps
        return int(getattr(known, name))

    def _measured(self, wanted: Expectation, port: str) -> Value | str:
        if wanted.measure is None:
            return self._counter(wanted.counter or "", port, wanted.vc, wanted)
        indices = [self.flows.index(wanted.flow)] if wanted.flow is not None else list(range(len(self.flows)))
        return self._flow_value(wanted.measure, indices, wanted.vc, wanted)

    def _span(self, wanted: Expectation) -> tuple[Moment, Moment]:
        """Return the moments between which something is told: from the start of traffic, or of the window."""
        if wanted.between is not None:
            return self.result.at(wanted.between[0]), self.result.at(wanted.between[1])
        return self.result.start, self.result.at(wanted.at) if wanted.at is not None else self.result.end

    def _counter(self, name: str, port: str, mask: int | None, wanted: Expectation) -> Value | str:
        index = self.ports.index(port)
        before, after = (moment.ports[index] for moment in self._span(wanted))
        if name in STATES:
            number = after[name]
            return TxState(number).name if name == "LLR_TX_STATE" else RxState(number).name
        if per_vc(name):
            vcs = self.plan.bench.links[0].vcs
            total = 0
            for vc in range(vcs) if mask is None else _bits(mask):
                key = f"{name}[{vc}]"
                value = after.get(key, 0) - (before.get(key, 0) if wanted.between is not None else 0)
                total += value if name.endswith("USED") else value % _MODULO
            return total
        cleared = self.plan.counters_from_start or wanted.between is not None
        return after[name] - (before[name] if cleared else 0)

    def _flow_value(self, measure: str, indices: Sequence[int], mask: int | None, wanted: Expectation) -> Value | str:
        before, after = self._span(wanted)
        pairs = [(before.flows[index], after.flows[index]) for index in indices]
        if measure in ("rate", "share"):
            return self._line_share(measure, indices, wanted)
        if measure == "vc":
            used = sorted({vc for _, count in pairs for vc in range(VCS_MAX) if count.by_vc[vc]})
            return used[0] if len(used) == 1 else ", ".join(map(str, used)) or "none"
        if measure in ("latency_min", "latency_mean", "latency_max", "first_arrival", "last_arrival"):
            return _over_flows(measure, [count for _, count in pairs])
        if measure == "arrived" and mask is not None:
            return sum(after.by_vc[vc] - before.by_vc[vc] for before, after in pairs for vc in _bits(mask))
        return sum(_counted(measure, after) - _counted(measure, before) for before, after in pairs)

    def _line_share(self, measure: str, indices: Sequence[int], wanted: Expectation) -> Value:
        before, after = self._span(wanted)
        flows = self.plan.bench.flows
        wire = {index: (flow.wire_bytes + WIRE_EXTRA_BYTES) for index, flow in enumerate(flows)}

        def on_line(index: int) -> int:
            return (after.flows[index].arrived - before.flows[index].arrived) * wire[index]

        total = sum(on_line(index) for index in indices)
        if measure == "share":
            there = {flows[index].destination for index in indices}
            beside = sum(on_line(index) for index, flow in enumerate(flows) if flow.destination in there)
            return Fraction(100 * total, beside) if beside else 0
        if wanted.between is not None:
            span_ps = after.t_ps - before.t_ps
        else:  # from the first arrival to the last: what came before the first is not in that time
            counts = [(index, after.flows[index]) for index in indices if after.flows[index].arrived]
            if not counts:
                return 0
            first = min(counts, key=lambda item: item[1].first_ps)
            span_ps = max(count.last_ps for _, count in counts) - first[1].first_ps
            total -= wire[first[0]]
        return Fraction(100 * total * 8 * 10**12, span_ps * self.plan.bench.rate_bps) if span_ps > 0 else 0


def _counted(measure: str, count: FlowCount) -> int:
    if measure == "lost":
        return count.sent - count.arrived
    if measure == "good":
        return count.arrived - count.poisoned
    return int(getattr(count, measure))


def _over_flows(measure: str, counts: Sequence[FlowCount]) -> Value | str:
    """Return a time over some flows."""
    there = [count for count in counts if count.arrived]
    if not there:
        return "none"
    if measure == "latency_mean":
        return sum(count.latency_sum_ps for count in there) // sum(count.arrived for count in there)
    if measure == "latency_min":
        return min(count.latency_min_ps for count in there)
    if measure == "latency_max":
        return max(count.latency_max_ps for count in there)
    if measure == "first_arrival":
        return min(count.first_ps for count in there)
    return max(count.last_ps for count in there)


def _bits(mask: int) -> list[int]:
    return [vc for vc in range(VCS_MAX) if mask >> vc & 1]


def _plain(value: Value | str) -> Measured:
    """Return a value as whole number, decimal fraction or text."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else round(float(value), 3)
    return value
