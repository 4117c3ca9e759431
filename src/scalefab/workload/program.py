"""Programs: threads of a few operations each, issued in order, with fences, release and acquire between them.

A thread issues its operations in order and waits for none of them, except where order is asked for (open profile section 5):

================== ============================================================================================================
instruction        what the graph gets
================== ============================================================================================================
fence              a FENCE to each GPU that the thread has addressed (scope system) or to one (scope gpu); all later operations
                   of the thread wait for it
order: release     a fence, then the operation; the thread issues in order, so later ones wait for that fence too
order: acquire     later operations of the thread wait for its response
wait               later operations wait that long
================== ============================================================================================================

So who waits for whom stands in the graph's edges, and the network sees FENCE, order bits and nothing else. Values of 8 B loads,
stores and atomics, of signals, and of the first 8 B of each packet of a put are followed when memory is verified.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError, Problem
from ..protocol.layout import Order, Scope
from ..protocol.opcodes import AtomicOp
from ..protocol.profile import Kind
from .builder import BULK, GraphBuilder, default_transaction
from .graph import I4
from .parts import Part
from .spec import Instruction, Program, Thread
from .values import Atomic

VALUE_BYTES = 8
_READ = Atomic(AtomicOp.OR, value=0)
_VALUED = (Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.PUT, Kind.PUT_SIGNAL)


def add_program(builder: GraphBuilder, spec: Program, key: str) -> Part:
    """Append the threads of a program, thread by thread; all are its roots where they wait for nothing of their own.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems = _problems(spec, builder.endpoints, key)
    if problems:
        raise InputError(problems)
    moved = sum(one.bytes for thread in spec.threads for one in thread.instructions)
    gpus = {thread.gpu for thread in spec.threads} | {
        one.dst for thread in spec.threads for one in thread.instructions if one.dst >= 0
    }
    group = builder.group(spec.name, "program", moved, len(gpus))
    roots: list[I4] = []
    leaves: list[I4] = []
    for thread in spec.threads:
        made = _Maker(builder, spec, thread, group)
        for one in thread.instructions:
            made.add(one)
        roots += made.roots
        leaves += made.made
    return Part(np.concatenate(roots), np.concatenate(leaves), group)


class _Maker:
    """One thread on its way into the graph."""

    def __init__(self, builder: GraphBuilder, spec: Program, thread: Thread, group: int) -> None:
        self._builder, self._thread, self._group = builder, thread, group
        self._start_ps = spec.start_ps + thread.start_ps
        self._gate: I4 | None = None  # what later operations wait for
        self._addressed: list[int] = []
        self.roots: list[I4] = []
        self.made: list[I4] = []

    def add(self, one: Instruction) -> None:
        if one.operation is Kind.FENCE:
            self._fence(one)
            return
        if one.operation is Kind.COMPUTE:
            self._gate = self._append(
                self._builder.compute(self._thread.gpu, one.wait_ps, group=self._group, start_ps=self._start_ps)
            )
            return
        if one.order & Order.RELEASE:
            self._fence(one)
        ids = self._append(self._operation(one))
        if one.dst not in self._addressed:
            self._addressed.append(one.dst)
        if one.order & Order.ACQUIRE:
            self._gate = ids

    def _append(self, ids: I4) -> I4:
        if self._gate is None:
            self.roots.append(ids)
        else:
            self._builder.edges(self._gate, ids)
        self.made.append(ids)
        return ids

    def _fence(self, one: Instruction) -> None:
        targets = [one.dst] if one.scope is Scope.GPU else self._addressed
        if not targets:  # nothing was issued that could be behind
            return
        fences = self._append(self._builder.fences(self._thread.gpu, targets, group=self._group, start_ps=self._start_ps))
        self._gate = fences if len(fences) == 1 else self._builder.join(fences, group=self._group)

    def _operation(self, one: Instruction) -> I4:
        builder, bulk = self._builder, one.operation in BULK
        ids = builder.operations(
            one.operation,
            self._thread.gpu,
            one.dst,
            one.bytes,
            group=self._group,
            address=one.address,
            chunk=0 if bulk else default_transaction(one.operation, one.bytes),
            posted=int(one.posted),
            start_ps=self._start_ps,
            order=int(one.order),
        )
        if one.operation is Kind.PUT_SIGNAL:
            builder.signals(ids, one.flag_address, one.flag_value, add=one.flag_add)
        if one.operation is Kind.LOAD and one.bytes == VALUE_BYTES:
            builder.atomics(ids, _READ)
        elif one.operation is Kind.ATOMIC:
            builder.atomics(ids, one.atomic or Atomic())
        elif one.value is not None:
            builder.atomics(ids, Atomic(AtomicOp.SWAP, value=one.value))
        return ids


def _problems(spec: Program, endpoints: int, key: str) -> list[Problem]:
    problems: list[Problem] = []
    if not any(thread.instructions for thread in spec.threads):
        problems.append(Problem("no thread does anything", "at least one instruction", key=f"{key}.threads"))
    for i, thread in enumerate(spec.threads):
        at = f"{key}.threads[{i}]"
        if not 0 <= thread.gpu < endpoints:
            problems.append(Problem(f"{thread.gpu} is no endpoint", f"0 .. {endpoints - 1}", key=f"{at}.gpu"))
        for j, one in enumerate(thread.instructions):
            here = f"{at}.do[{j}]"
            targeted = one.operation is not Kind.COMPUTE and not (one.operation is Kind.FENCE and one.scope is Scope.SYSTEM)
            if targeted and not 0 <= one.dst < endpoints:
                problems.append(Problem(f"{one.dst} is no endpoint", f"0 .. {endpoints - 1}", key=f"{here}.dst"))
            elif targeted and one.dst == thread.gpu:
                problems.append(Problem(f"GPU {one.dst} to itself does not use the network", "another GPU", key=f"{here}.dst"))
            if one.value is not None and one.operation not in _VALUED:
                problems.append(Problem(f"a value of a {one.operation.name}", "none", key=f"{here}.value"))
            elif one.value is not None and one.bytes != VALUE_BYTES and one.operation not in BULK:
                problems.append(Problem(f"a value of a {one.operation.name} of {one.bytes}B", "8B", key=f"{here}.value"))
            elif one.value is not None and (one.bytes < VALUE_BYTES or one.address % VALUE_BYTES):
                text = f"a value of {one.bytes}B at {one.address:#x}"
                problems.append(Problem(text, "at least 8B at a multiple of 8", key=f"{here}.value"))
            if one.operation is Kind.PUT_SIGNAL and (one.flag_address < 0 or one.flag_address % VALUE_BYTES):
                problems.append(Problem(f"a flag at {one.flag_address:#x}", "a multiple of 8", key=f"{here}.flag"))
    return problems
