"""Points on a cluster, through Dask (extra ``dask``): the same tasks and rows as on one machine.

Workers need this package of the same version, and nothing else: a task carries the scenario's text. The journal stays here, so
only what has reached it counts as done. When a worker dies its running point is given to another one by Dask; a point that has
killed as many workers as Dask allows (`distributed.scheduler.allowed-failures`, 3) becomes a row that says so. Relative paths of
model files must exist on the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InputError, MissingExtraError, Problem
from .local import dead_row
from .work import Task, run_task

_CONNECT_S = 10


def run_cluster(tasks: Sequence[Task], scheduler: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of all tasks as they come from the workers of ``scheduler`` (``tcp://host:port``).

    Raises
    ------
    MissingExtraError
        Dask is not installed.
    InputError
        No scheduler answers there, or its workers hold another version of this package.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise MissingExtraError("distributed", "dask") from None
    try:
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        message = f"no Dask scheduler answers at '{scheduler}': {error}"
        raise InputError([Problem(message, "tcp://host:port", key="--scheduler")]) from None
    futures: dict[Any, Task] = {}
    try:
        _check_versions(client, scheduler)
        futures = {client.submit(run_task, task, key=f"scalefab-{task.key}", retries=0, pure=True): task for task in tasks}
        for future in as_completed(list(futures), loop=client.loop):
            if future.status == "finished":
                row = future.result()
            else:
                row = dead_row(futures[future], f"no worker has survived it: {future.exception()}")
            future.release()  # nobody computes it again when the worker that has it dies
            yield row
    finally:
        client.cancel(list(futures), force=True)
        client.close()


def _check_versions(client: Any, scheduler: str) -> None:
    from .. import __version__

    found = set(client.run(_version, nanny=False).values())
    if found - {__version__}:
        told = ", ".join(sorted(str(version) for version in found))
        message = f"the workers of {scheduler} hold scalefab {told}, this is {__version__}"
        raise InputError([Problem(message, "the same version everywhere", key="--scheduler")])


def _version() -> str:
    from .. import __version__

    return __version__
