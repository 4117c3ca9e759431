"""The links between leaves and spines as heat maps: a column a leaf, a row a spine, one band a plane. Our own SVG, no script."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ..fabric.tiers import oversubscription_text, plane_shape
from ..simulator.advice import percent
from ..simulator.metrics import LinkKind, link_kinds, port_name, utilisation
from ..simulator.result import Result
from .drawing import SIZE, load_class

_MOST_CELLS = 2048  # a direction; more, and neighbouring spines share a cell
_LEFT, _TOP, _BOTTOM = 62.0, 34.0, 22.0  # room for names of planes, title, numbers of leaves
_WIDTH = SIZE - _LEFT - 10
_BAND, _GAP = (20.0, 132.0), 8.0  # least and most height of a plane's band; between two
_MOST_BANDS = 440.0  # of all bands together


@dataclass(frozen=True, slots=True)
class TierMap:
    """One direction of all links between leaves and spines.

    Attributes
    ----------
    title
        Such as ``"leaf uplinks"``.
    ports
        Directed port by plane, leaf and uplink, uplinks in the order of their spines; shape (planes, leaves, uplinks).
    load
        Share of line rate of each; same shape.
    """

    title: str
    ports: NDArray[np.int64]
    load: NDArray[np.float64]


def make_maps(result: Result) -> tuple[TierMap, TierMap] | None:
    """Return uplinks and down-links, None in a single tier."""
    fabric = result.fabric
    if not fabric.two_tier:
        return None
    shape, loads = plane_shape(fabric.spec), utilisation(result)
    uplinks = np.flatnonzero(link_kinds(fabric) == LinkKind.UPLINK)  # by plane, leaf, link of a spine, spine
    by_link = uplinks.reshape(fabric.planes, shape.leaves, shape.links, shape.spines)
    up = by_link.swapaxes(2, 3).reshape(fabric.planes, shape.leaves, shape.uplinks)
    down = fabric.port_peer[up].astype(np.int64)
    return TierMap("leaf uplinks", up, loads[up]), TierMap("spine down-links", down, loads[down])


def links_a_cell(tiers: TierMap) -> int:
    """Return how many neighbouring links of a leaf share a cell, 1 up to `_MOST_CELLS` links."""
    return max(1, ceil(tiers.load.size / _MOST_CELLS))


def map_height(tiers: TierMap) -> float:
    """Return the height of the drawing in user units; it is `SIZE` wide."""
    return _TOP + len(tiers.load) * (_band_height(tiers) + _GAP) + _BOTTOM


def _band_height(tiers: TierMap) -> float:
    planes, uplinks = len(tiers.load), int(tiers.load.shape[2])
    wanted = min(_BAND[1], 4.0 * ceil(uplinks / links_a_cell(tiers)))
    return max(_BAND[0], min(wanted, _MOST_BANDS / planes - _GAP))


def map_svg(result: Result, tiers: TierMap) -> str:
    """Return the drawing of one direction as SVG elements, `SIZE` wide and `map_height` high, without the outer ``<svg>``."""
    planes, leaves, uplinks = tiers.load.shape
    together = links_a_cell(tiers)
    rows, band, column = ceil(uplinks / together), _band_height(tiers), _WIDTH / leaves
    height, gap = band / rows, min(1.0, column * 0.08)
    parts = [_heading(tiers)]
    for plane in range(planes):
        top = _TOP + plane * (band + _GAP)
        parts.append(
            f'<text class="t2" x="{_LEFT - 8:.0f}" y="{top + band / 2:.1f}" dy=".35em" text-anchor="end">plane {plane}</text>'
        )
        for leaf in range(leaves):
            for row in range(rows):
                some = slice(row * together, min(uplinks, (row + 1) * together))
                load = tiers.load[plane, leaf, some]
                hot = int(np.argmax(load))
                name = port_name(result.fabric, int(tiers.ports[plane, leaf, some][hot]))
                most = f"busiest of {len(load)}: " if len(load) > 1 else ""
                parts.append(
                    f'<rect class="q{load_class(float(load[hot]))}" x="{_LEFT + leaf * column:.1f}" y="{top + row * height:.1f}" '
                    f'width="{column - gap:.1f}" height="{height - min(0.5, height * 0.1):.1f}">'
                    f"<title>{escape(f'{most}{name}: {percent(float(load[hot]))} busy')}</title></rect>"
                )
    parts.extend(_leaf_numbers(leaves, column, _TOP + planes * (band + _GAP) + 8))
    return "".join(parts)


def _heading(tiers: TierMap) -> str:
    mean, most = (percent(float(value), 0) for value in (tiers.load.mean(), tiers.load.max()))
    return (
        f'<text class="t1" x="{_LEFT:.0f}" y="16">{escape(tiers.title)}</text>'
        f'<text class="t2" x="{SIZE - 10}" y="16" text-anchor="end">mean {mean}, most {most}</text>'
    )


def _leaf_numbers(leaves: int, column: float, y: float) -> list[str]:
    step = next((step for step in (1, 2, 4, 8, 16, 32) if step * column >= 24), 64)
    return [
        f'<text class="t2" x="{_LEFT + (leaf + 0.5) * column:.1f}" y="{y:.1f}" text-anchor="middle">{leaf}</text>'
        for leaf in range(0, leaves, step)
    ]


def map_reading(result: Result, tiers: TierMap) -> str:
    """Return how to read the maps, in words."""
    shape, together = plane_shape(result.fabric.spec), links_a_cell(tiers)
    cell = "each cell one link" if together == 1 else f"each cell the busiest of {together} neighbouring links"
    return f"Between leaves and spines: a column a leaf, numbered below, spines 0 to {shape.spines - 1} downward, {cell}; " + (
        f"leaves are {oversubscription_text(shape)}."
    )
