"""Points on the cores of this machine: spawned processes that take one point after the other.

A process that dies (killed, out of memory) takes its point with it; the point is tried once more in a new process, then its row
says so. Interrupts are the parent's: workers do not hear Ctrl-C and end with it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from .work import Task, run_task

TRIES = 2


@dataclass(slots=True, eq=False)
class _Worker:
    process: Any
    pipe: Connection
    task: Task | None = field(default=None)


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if task is None:
            return
        pipe.send(run_task(task))


def run_local(tasks: Sequence[Task], processes: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of all tasks as they come, from ``processes`` processes."""
    waiting = deque(tasks)
    tries: dict[str, int] = {}
    context = multiprocessing.get_context("spawn")
    workers: list[_Worker] = []

    def spawn() -> _Worker:
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there,), daemon=True)
        process.start()
        there.close()
        return _Worker(process, here)

    def give(worker: _Worker) -> None:
        worker.task = waiting.popleft() if waiting else None
        worker.pipe.send(worker.task)

    try:
        for _ in range(min(processes, len(waiting))):
            worker = spawn()
            workers.append(worker)
            give(worker)
        while any(worker.task is not None for worker in workers):
            busy = {worker.pipe: worker for worker in workers if worker.task is not None}
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                task = worker.task
                assert task is not None
                try:
                    row = worker.pipe.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    worker.process.join()
                    tries[task.key] = tries.get(task.key, 0) + 1
                    if tries[task.key] < TRIES:
                        waiting.appendleft(task)
                    else:
                        yield dead_row(task, f"its process ended {TRIES} times, last with code {worker.process.exitcode}")
                    if waiting:
                        fresh = spawn()
                        workers.append(fresh)
                        give(fresh)
                    continue
                give(worker)
                yield row
    finally:
        for worker in workers:
            worker.pipe.close()
            if worker.process.is_alive():
                worker.process.terminate()
        for worker in workers:
            worker.process.join()


def dead_row(task: Task, why: str) -> dict[str, Any]:
    """Return the row of a point that no worker has survived."""
    settings = dict(task.point.settings)
    return {"key": task.key, "number": task.point.number, "settings": settings, "status": "error", "error": why}
