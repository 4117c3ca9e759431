"""How a domain is wired, drawn without traffic: planes and GPUs, or leaves, spines and GPUs of one plane. Our own SVG, no script.

A thousand cables are one black field, so neighbours share a box where there are many, and one frame's way stands out.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil

from ..fabric.arrays import Fabric
from ..fabric.query import domain_bandwidth_bps, one_way_ps, route
from ..fabric.spec import CableSpec, FabricSpec
from ..fabric.tiers import plane_shape, planes_text
from ..units import format_length, format_rate, format_time
from .palette import svg_style

_WIDTH, _MARGIN = 1000, 28
_LEFT, _RIGHT = 40.0, 960.0  # of the rows of boxes
_MOST_BOXES = 32  # a row; more, and neighbours share a box
_BOX = 30.0  # height
_FRAME_BYTES = 64  # whose idle time is told
_STYLE = (
    ".box{fill:var(--panel);stroke:var(--soft);stroke-width:1}.wire{stroke:var(--bar);stroke-width:1;opacity:.28}"
    ".way{stroke:var(--accent);stroke-width:2.5;fill:none}.on{stroke:var(--accent);stroke-width:2}.mid{text-anchor:middle}"
    ".small{font-size:10px}.over{paint-order:stroke;stroke:var(--paper);stroke-width:6px;stroke-linejoin:round}"
)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of boxes: ``count`` things of one kind, ``together`` of them a box, between two edges."""

    count: int
    y: float
    number: int = 1  # what is written counts in steps of this
    left: float = _LEFT
    right: float = _RIGHT

    @property
    def together(self) -> int:
        return ceil(self.count / _MOST_BOXES)

    @property
    def boxes(self) -> int:
        return ceil(self.count / self.together)

    @property
    def pitch(self) -> float:
        return (self.right - self.left) / self.boxes

    def middle(self, thing: int) -> float:
        """Return the x of the middle of the box of a thing."""
        return self.left + (thing // self.together + 0.5) * self.pitch

    def draw(self, marked: set[int]) -> str:
        """Return the boxes, those of ``marked`` things outlined, and the first number of each where there is room."""
        width = min(self.pitch * 0.8, 76.0)
        outlined = {thing // self.together for thing in marked}
        step = next(step for step in (1, 2, 4, 8, 16, 32) if step * self.pitch >= 34)
        parts = []
        for box in range(self.boxes):
            middle = self.left + (box + 0.5) * self.pitch
            style = "box on" if box in outlined else "box"
            parts.append(
                f'<rect class="{style}" x="{middle - width / 2:.1f}" y="{self.y:.0f}" '
                f'width="{width:.1f}" height="{_BOX:.0f}" rx="3"/>'
            )
            if box % step == 0:
                number = str(box * self.together * self.number)
                size = " small" if 9 * len(number) > width else ""
                y = self.y + _BOX / 2
                parts.append(f'<text class="t2 mid{size}" x="{middle:.1f}" y="{y:.0f}" dy=".35em">{number}</text>')
        return "".join(parts)


def wiring_svg(name: str, fabric: Fabric) -> str:
    """Return the drawing as one SVG document; light and dark follow the reader's scheme, no script, no outside reference.

    Parameters
    ----------
    name
        Name of the scenario.
    fabric
        What is wired.
    """
    body, height = _two_tiers(fabric) if fabric.two_tier else _single_tier(fabric)
    facts = _facts(fabric)
    whole = height + 24 * len(facts) + 20
    lines = "".join(
        f'<text class="t3" x="{_MARGIN}" y="{height + 24 * index:.0f}">{escape(text)}</text>' for index, text in enumerate(facts)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {whole:.0f}" role="img" aria-labelledby="title">'
        f'<title id="title">{escape(name)}: wiring</title><style>{svg_style()}{_STYLE}</style>'
        f'<rect class="paper" width="{_WIDTH}" height="{whole:.0f}" rx="10"/>'
        f'<text class="t0" x="{_MARGIN}" y="44">{escape(name)}</text>'
        f'<text class="t3" x="{_MARGIN}" y="70">{escape(_summary(fabric.spec))}</text>{body}{lines}</svg>\n'
    )


def _summary(spec: FabricSpec) -> str:
    gpus = spec.endpoints
    return f"{gpus.count} GPUs ({gpus.name}), {gpus.ports} x {format_rate(gpus.port_rate_bps)} each, {planes_text(spec)}"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="wire" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _joined(above: _Row, below: _Row) -> str:
    """Return a line from every box of a row to every box of another."""
    return "".join(
        _line(above.middle(a * above.together), above.y + _BOX, below.middle(b * below.together), below.y)
        for a in range(above.boxes)
        for b in range(below.boxes)
    )


def _caption(row: _Row, what: str, x: float, y: float) -> str:
    each = f", {row.together} a box" if row.together > 1 else ""
    return f'<text class="t3 over" x="{x:.0f}" y="{y:.0f}">{escape(what + each)}</text>'


def _single_tier(fabric: Fabric) -> tuple[str, float]:
    spec = fabric.spec
    planes, gpus = _Row(spec.switches.planes, 140), _Row(fabric.endpoints, 340)
    last = fabric.endpoints - 1
    way = f"M{gpus.middle(0):.1f} {gpus.y}L{planes.middle(0):.1f} {planes.y + _BOX}L{gpus.middle(last):.1f} {gpus.y}"
    used = fabric.endpoints * spec.endpoints.ports // spec.switches.planes
    name = spec.switches.name
    body = (
        _joined(planes, gpus)
        + f'<path class="way" d="{way}"/>'
        + planes.draw({0})
        + gpus.draw({0, last})
        + _caption(planes, f"Switches ({name}), one a plane: {used} of {spec.switches.radix} ports used", _MARGIN, planes.y - 14)
        + _caption(gpus, "GPUs: port k of each goes to plane k mod planes", _MARGIN, gpus.y + _BOX + 22)
    )
    return body, gpus.y + _BOX + 62


def _two_tiers(fabric: Fabric) -> tuple[str, float]:
    spec, shape = fabric.spec, plane_shape(fabric.spec)
    switches, spine = spec.switches, spec.switches.spine
    name, radix = (spine.name, spine.radix) if spine is not None else ("", 0)
    spines, leaves, gpus = _Row(shape.spines, 140), _Row(shape.leaves, 350), _Row(shape.leaves, 434, shape.leaf_endpoints)
    _, spine_number = _way_up(fabric)
    end = shape.leaves - 1
    way = (
        f"M{gpus.middle(0):.1f} {gpus.y}V{leaves.y}L{spines.middle(spine_number):.1f} {spines.y + _BOX}"
        f"L{leaves.middle(end):.1f} {leaves.y + _BOX}V{gpus.y}"
    )
    hanging = "".join(
        _line(x, leaves.y + _BOX, x, gpus.y) for x in (leaves.middle(i * leaves.together) for i in range(leaves.boxes))
    )
    several = f", {shape.links} links to each leaf" if shape.links > 1 else ", one link to each leaf"
    planes = "" if fabric.planes == 1 else f" One plane is drawn, all {fabric.planes} are alike."
    body = (
        _joined(spines, leaves)
        + hanging
        + f'<path class="way" d="{way}"/>'
        + spines.draw({spine_number})
        + leaves.draw({0, end})
        + gpus.draw({0, end})
        + _caption(
            spines,
            f"Spines ({name}): {shape.leaves * shape.links} of {radix} ports used{several}.{planes}",
            _MARGIN,
            spines.y - 14,
        )
        + _caption(
            leaves,
            f"Leaves ({switches.name}): {shape.down} ports to GPUs, {shape.uplinks} up, of {switches.radix}",
            90,  # right of the marked way
            leaves.y + _BOX + 34,
        )
        + _caption(leaves, f"GPUs, {shape.leaf_endpoints} a leaf, the first one's number in the box", _MARGIN, gpus.y + _BOX + 22)
    )
    return body, gpus.y + _BOX + 62


def _way_up(fabric: Fabric) -> tuple[int, int]:
    """Return uplink and spine of the way from the first GPU to the last with uplink id 0."""
    up = route(fabric, 0, 0, fabric.endpoints - 1)[1]
    uplink = up - int(fabric.node_first_uplink[fabric.port_node[up]])
    return uplink, uplink % plane_shape(fabric.spec).spines


def _facts(fabric: Fabric) -> list[str]:
    spec, shape = fabric.spec, plane_shape(fabric.spec)
    cables = fabric.ports // 2
    switches = fabric.nodes - fabric.endpoints
    between = cables - fabric.endpoints * fabric.endpoint_ports
    counted = f"{switches} switch{'' if switches == 1 else 'es'}, {cables} cables"
    if between:
        counted += f" ({cables - between} to GPUs, {between} between switches)"
    facts = [
        f"{counted}; all GPUs together send {format_rate(domain_bandwidth_bps(fabric))} in one direction.",
        _cable_text(spec),
    ]
    near = f"Idle, a {_FRAME_BYTES} B frame takes {format_time(one_way_ps(fabric, _FRAME_BYTES))} one way"
    if not fabric.two_tier:
        return [*facts, f"{near}, memory not counted."]
    last = fabric.endpoints - 1
    uplink, spine = _way_up(fabric)
    far = format_time(one_way_ps(fabric, _FRAME_BYTES, dst=last))
    return [
        *facts,
        f"{near} within a leaf, {far} between leaves, memory not counted.",
        f"Marked: GPU 0 to GPU {last} with uplink id 0 of {fabric.uplinks}: uplink {uplink} of leaf 0, spine {spine}, "
        f"leaf {shape.leaves - 1}.",
    ]


def _cable_text(spec: FabricSpec) -> str:
    spine = spec.switches.spine
    own = spine.cables if spine is not None and spine.cables is not None else spec.cables
    if spine is None or own == spec.cables:
        return f"Cables: {_cable(spec.cables)}."
    return f"Cables: {_cable(spec.cables)} to GPUs, {_cable(own)} between leaves and spines."


def _cable(cables: CableSpec) -> str:
    if cables.link_delay_ps >= 0:
        return f"{format_time(cables.link_delay_ps)} a link"
    return f"{format_length(cables.length_mm)} {cables.medium}"
