"""The fabric as a disc: GPUs around, planes as rings, each link a cell coloured by its load. Our own SVG, no script.

A drawing of every cable of 256 GPUs is a black disc; here each GPU is a sector and each of its links a cell of it, so 16, 64
and 256 GPUs read alike: an even run is one colour, a hot GPU a dark sector, a hot plane a dark ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, cos, pi, sin

import numpy as np
from numpy.typing import NDArray

from ..simulator.advice import percent
from ..simulator.metrics import is_uplink, port_name, utilisation
from ..simulator.result import Result
from ..units import format_size

SIZE = 480  # of a disc's square, in user units
CLASSES = 10  # steps of the colour scale, 10 % of line rate each

_CENTRE = SIZE / 2
_HOLE, _RIM, _LABEL = 64.0, 204.0, 221.0  # radii: inside the first ring, outside the last, of the labels
_MOST_CELLS = 4096  # more, and neither eye nor browser follows: neighbours share a sector
_GAP_SHARE = 0.08  # of a cell, left white between neighbours
_WORTH_A_MARK = 1.05  # the hottest GPU or link is outlined when it has 5 % more than the mean
_CLEAR = 0.15  # radians left free of other numbers around its own


@dataclass(frozen=True, slots=True)
class Disc:
    """One direction of all GPU links.

    Attributes
    ----------
    title
        What flows, such as ``"out of GPUs"``.
    ports
        Directed port by GPU and port of the GPU; shape (endpoints, ports of an endpoint).
    load
        Share of line rate of each; same shape.
    wire_bytes
        Same shape.
    """

    title: str
    ports: NDArray[np.int64]
    load: NDArray[np.float64]
    wire_bytes: NDArray[np.int64]


def make_discs(result: Result) -> tuple[Disc, Disc]:
    """Return the links out of GPUs and those into GPUs."""
    fabric = result.fabric
    loads = utilisation(result)
    up = np.flatnonzero(is_uplink(fabric)).reshape(fabric.endpoints, fabric.endpoint_ports)
    found = []
    for title, ports in (("out of GPUs", up), ("into GPUs", fabric.port_peer[up].astype(np.int64))):
        found.append(Disc(title, ports, loads[ports], result.ports.wire_bytes[ports]))
    return found[0], found[1]


def gpus_a_sector(endpoints: int, paths: int) -> int:
    """Return how many neighbouring GPUs share a sector, 1 up to `_MOST_CELLS` links."""
    return max(1, ceil(endpoints * paths / _MOST_CELLS))


def disc_svg(result: Result, disc: Disc) -> str:
    """Return the drawing of one direction as SVG elements inside a square of `SIZE`, without the outer ``<svg>``.

    Colours are the classes ``q0`` .. ``q9``; text has the classes ``t1``, ``t2``, ``t3``.
    """
    gpus, paths = disc.load.shape
    together = gpus_a_sector(gpus, paths)
    sectors = ceil(gpus / together)
    turn = 2 * pi / sectors
    ring = (_RIM - _HOLE) / paths
    parts = []
    for sector in range(sectors):
        first, last = sector * together, min(gpus, (sector + 1) * together)
        for path in range(paths):
            load = float(disc.load[first:last, path].mean())
            inner = _HOLE + path * ring
            shape = _cell(sector * turn, (sector + 1) * turn, inner, inner + ring, ring)
            tip = _tip(result, disc, first, last, path, load)
            parts.append(f'<path class="q{load_class(load)}" d="{shape}"><title>{escape(tip)}</title></path>')
    parts.append(_mark(disc, together, turn, ring))
    parts.extend(_labels(disc, together, sectors, turn))
    parts.append(_middle(disc))
    return "".join(parts)


def load_class(load: float) -> int:
    """Return the colour class of a share of line rate."""
    return min(CLASSES - 1, max(0, int(load * CLASSES)))


def _tip(result: Result, disc: Disc, first: int, last: int, path: int, load: float) -> str:
    size = format_size(int(disc.wire_bytes[first:last, path].sum()))
    if last - first == 1:
        return f"{port_name(result.fabric, int(disc.ports[first, path]))}: {percent(load)} busy, {size}"
    return f"GPU {first} .. {last - 1}, port {path}: {percent(load)} busy on average, {size}"


def _point(angle: float, radius: float) -> str:
    return f"{_CENTRE + radius * sin(angle):.1f} {_CENTRE - radius * cos(angle):.1f}"


def _cell(start: float, stop: float, inner: float, outer: float, ring: float) -> str:
    """Return the path of a cell; the gap is a share of the cell, so that it never eats a thin one."""
    gap = (stop - start) * _GAP_SHARE / 2
    start, stop = start + gap, stop - gap
    outer -= min(1.0, ring * _GAP_SHARE)
    large = 1 if stop - start > pi else 0
    return (
        f"M{_point(start, inner)}A{inner:.1f} {inner:.1f} 0 {large} 1 {_point(stop, inner)}"
        f"L{_point(stop, outer)}A{outer:.1f} {outer:.1f} 0 {large} 0 {_point(start, outer)}Z"
    )


def _hot_gpu(disc: Disc, together: int) -> int | None:
    """Return the GPU that stands out, None when none does."""
    by_gpu = disc.load.mean(axis=1)
    gpu = int(np.argmax(by_gpu))
    return gpu if together == 1 and float(by_gpu[gpu]) >= _WORTH_A_MARK * _mean_of_used(by_gpu) > 0 else None


def _mean_of_used(load: NDArray[np.float64]) -> float:
    return float(load[load > 0].mean()) if (load > 0).any() else 0.0


def _mark(disc: Disc, together: int, turn: float, ring: float) -> str:
    """Outline the GPU that stands out, else the hottest link when that does."""
    gpu = _hot_gpu(disc, together)
    if gpu is not None:
        return f'<path class="mark" d="{_cell(gpu * turn, (gpu + 1) * turn, _HOLE, _RIM, ring)}"/>'
    gpu, path = divmod(int(np.argmax(disc.load)), disc.load.shape[1])
    if together > 1 or not float(disc.load[gpu, path]) >= _WORTH_A_MARK * _mean_of_used(disc.load) > 0:
        return ""
    inner = _HOLE + path * ring
    return f'<path class="mark" d="{_cell(gpu * turn, (gpu + 1) * turn, inner, inner + ring, ring)}"/>'


def _labels(disc: Disc, together: int, sectors: int, turn: float) -> list[str]:
    """Return at most 33 GPU numbers; the GPU that stands out has its own, and room around it."""
    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256) if sectors / step <= 32)
    hot = _hot_gpu(disc, together)
    numbers = [s for s in range(0, sectors, step) if hot is None or min((s - hot) % sectors, (hot - s) % sectors) * turn > _CLEAR]
    found = [_label(sector * together, (sector + 0.5) * turn, "t2") for sector in numbers]
    return found if hot is None else [*found, _label(hot, (hot + 0.5) * turn, "hot")]


def _label(number: int, angle: float, style: str) -> str:
    x, y = _point(angle, _LABEL).split()
    return f'<text class="{style}" x="{x}" y="{y}" dy=".35em" text-anchor="middle">{number}</text>'


def _middle(disc: Disc) -> str:
    hottest = percent(float(disc.load.max()), 0) if disc.load.size else "0 %"
    rows = ((disc.title, "t1", -16), (f"mean {percent(float(disc.load.mean()), 0)}", "t2", 6), (f"most {hottest}", "t2", 24))
    return "".join(
        f'<text class="{style}" x="{_CENTRE:.0f}" y="{_CENTRE + dy:.0f}" text-anchor="middle">{escape(text)}</text>'
        for text, style, dy in rows
    )


def legend_svg(x: float, y: float) -> str:
    """Return the colour scale as SVG elements, 260 wide and 30 high, its top left corner at (x, y)."""
    boxes = "".join(f'<rect class="q{i}" x="{x + 26 * i:.0f}" y="{y:.0f}" width="25" height="10"/>' for i in range(CLASSES))
    marks = "".join(
        f'<text class="t2" x="{x + at:.0f}" y="{y + 25:.0f}" text-anchor="{anchor}">{text}</text>'
        for at, anchor, text in ((0, "start", "idle"), (130, "middle", "50 %"), (260, "end", "line rate"))
    )
    return boxes + marks


def reading(result: Result) -> str:
    """Return how to read the drawing, in words."""
    fabric = result.fabric
    together = gpus_a_sector(fabric.endpoints, fabric.endpoint_ports)
    sector = "each sector is one GPU" if together == 1 else f"each sector is {together} neighbouring GPUs"
    ring = "each ring one plane" if fabric.endpoint_ports == fabric.planes else "each ring one port of a GPU"
    order = f"{ring}, 0 inside to {fabric.endpoint_ports - 1} outside" if fabric.endpoint_ports > 1 else ring
    return f"GPUs stand around, {sector}, numbered outside; {order}; colour: share of line rate over the run."
