"""The busiest GPU against all others, over time: the picture of a skewed load. No words and no Numba here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from .metrics import endpoint_bytes, is_uplink, mean_of_used
from .result import Result

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]

BUSY = 0.80  # own: a GPU at 80 % of its line rate is a bottleneck while it lasts


class Direction(Enum):
    """Which way bytes go at a GPU; the values are what it does."""

    OUT = "sends"
    INTO = "receives"

    @property
    def opposite(self) -> Direction:
        """The other way."""
        return Direction.INTO if self is Direction.OUT else Direction.OUT


@dataclass(frozen=True, slots=True, eq=False)
class Focus:
    """The direction in which load is less even, and the GPU that has most of it.

    Attributes
    ----------
    gpu
        With most wire bytes in ``direction``; tie: lowest.
    ratio
        Its bytes / the mean of the GPUs that have any.
    bytes_by_gpu
        Wire bytes in ``direction``; shape (GPUs,).
    bin_ps
        Width of a time bin.
    busiest, mean
        Share of a GPU's line rate by time bin: of ``gpu``, and of the mean GPU of those that have any bytes; shape (bins,).
    other
        Share of the line rate that ``gpu`` uses in the other direction, by time bin: what it does when it does not do this.
    busy_ps
        How long ``gpu`` was at `BUSY` of its line rate or more.
    mean_then
        Mean share of the others during that time, 0 if there is none.
    """

    direction: Direction
    gpu: int
    ratio: float
    bytes_by_gpu: I8
    bin_ps: int
    busiest: F8
    mean: F8
    other: F8
    busy_ps: int
    mean_then: float


def find_focus(result: Result) -> Focus | None:
    """Return the least even direction and its busiest GPU, None when nothing was sent."""
    sent, received = endpoint_bytes(result)
    if not sent.any() or result.link_load_bin_ps <= 0:
        return None
    ratio = {Direction.OUT: sent.max() / mean_of_used(sent), Direction.INTO: received.max() / mean_of_used(received)}
    direction = Direction.OUT if ratio[Direction.OUT] > ratio[Direction.INTO] else Direction.INTO
    size = sent if direction is Direction.OUT else received
    gpu = int(np.argmax(size))
    share = load_by_gpu(result, direction)
    mean = share[size > 0].mean(axis=0)
    busy = share[gpu] >= BUSY
    others = (size > 0) & (np.arange(len(size)) != gpu)
    then = float(share[others][:, busy].mean()) if busy.any() and others.any() else 0.0
    return Focus(
        direction=direction,
        gpu=gpu,
        ratio=float(ratio[direction]),
        bytes_by_gpu=size,
        bin_ps=result.link_load_bin_ps,
        busiest=share[gpu],
        mean=mean,
        other=load_by_gpu(result, direction.opposite)[gpu],
        busy_ps=int(np.count_nonzero(busy)) * result.link_load_bin_ps,
        mean_then=then,
    )


def load_by_gpu(result: Result, direction: Direction) -> F8:
    """Return the share of a GPU's line rate that its links use in a direction, by time bin; shape (GPUs, bins)."""
    fabric = result.fabric
    out = np.flatnonzero(is_uplink(fabric)).reshape(fabric.endpoints, fabric.endpoint_ports)
    ports = out if direction is Direction.OUT else fabric.port_peer[out].astype(np.int64)
    bin_s = result.link_load_bin_ps / 1e12
    if bin_s <= 0:
        return np.zeros((fabric.endpoints, result.link_load.shape[1]))
    capacity = (fabric.port_rate_bps[ports].sum(axis=1) / 8 * bin_s)[:, None]
    return np.asarray(result.link_load[ports].sum(axis=1) / capacity)
