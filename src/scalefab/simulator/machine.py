"""What this machine can hold."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from ..errors import InfeasibleError, Problem
from ..units import format_size

_M_MMAP_THRESHOLD = -3  # of <malloc.h>
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # control groups v2; "max" = none


def memory_bytes() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its control group's limit."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = _GROUP_LIMIT.read_text().strip()
    except OSError:  # another system, or no such group: nothing narrower than the machine
        return installed
    return min(installed, int(limit)) if limit.isdigit() else installed


def return_freed_memory() -> None:
    """Let arrays of 1 MiB and more go back to the system when they are freed, for a process that runs simulations only.

    glibc raises that limit to 32 MiB as soon as one such array has been freed, and keeps what fragments: 190 of 890 MB in a run
    of 1024 GPUs. Elsewhere than on glibc nothing is done.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return
    mallopt(_M_MMAP_THRESHOLD, 1 << 20)


def require_room(ports: int, kept_bytes: int, cf_bytes: int, ack_bytes: int) -> None:
    """Refuse links that are too long to be simulated here.

    Parameters
    ----------
    ports
        Of the fabric.
    kept_bytes, cf_bytes, ack_bytes
        Memory of one port for frames, CF_UPDATEs and ACKs that are on their way at once.

    Raises
    ------
    InfeasibleError
        All ports together take more than this machine has.
    """
    most_bytes, need_bytes = memory_bytes(), ports * (kept_bytes + cf_bytes + ack_bytes)
    if need_bytes > most_bytes:
        port = f"{format_size(kept_bytes)} for frames, {format_size(cf_bytes)} for CF_UPDATEs, {format_size(ack_bytes)} for ACKs"
        message = (
            f"what is on its way on {ports} ports takes {format_size(need_bytes)} of memory (a port: {port}), "
            f"this machine has {format_size(most_bytes)}"
        )
        raise InfeasibleError([Problem(message, "shorter delays of cables and PHYs, or fewer links", key="fabric")])
