"""From the specification of a domain to the arrays that drivers and bounds read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleError, InputError
from ..protocol.profile import VCS
from .arrays import Fabric
from .spec import FabricSpec, NodeKind
from .tiers import PlaneShape, plane_shape
from .timing import down_delay_ps, ps_per_byte, spine_delay_ps, up_delay_ps
from .wiring import fit_problems, range_problems

I8 = NDArray[np.int64]

# what a directed port leaves: the columns of every table of port values below
_ENDPOINT, _LEAF_DOWN, _LEAF_UP, _SPINE = range(4)


def build_fabric(spec: FabricSpec) -> Fabric:
    """Wire a domain: a single tier of planes, or leaf-spine planes.

    Port k of every endpoint (k = stack x ports_per_stack + port) goes to plane k mod planes. Endpoints are nodes 0 .. count - 1,
    switches follow plane by plane; `Fabric` says in which order their ports stand. Link number = directed port number of its
    endpoint side; the links between leaves and spines follow in the order of the leaves' uplinks. All arrays are read-only.

    Raises
    ------
    InputError
        Values out of range; carries every problem, those that do not fit too.
    InfeasibleError
        Values in range that do not fit: radix, ports, planes, leaves, spines, rates.
    """
    wrong, misfit = range_problems(spec), fit_problems(spec)
    if wrong:
        raise InputError([*wrong, *misfit])
    if misfit:
        raise InfeasibleError(misfit)

    gpus, switches = spec.endpoints, spec.switches
    spine = switches.spine
    shape, planes = plane_shape(spec), switches.planes
    layout = _lay_out(shape, planes, gpus.ports)
    of_port = layout.what
    node_ports = np.concatenate([np.full(gpus.count, gpus.ports), np.tile(_switch_ports(shape), planes)]).astype(np.int32)
    first_port = np.zeros(len(node_ports), np.int32)
    np.cumsum(node_ports[:-1], out=first_port[1:])
    tier = np.concatenate([np.full(gpus.count, -1), np.tile(np.repeat([0, 1], [shape.leaves, shape.spines]), planes)])
    leaf = tier == 0

    def by_node(of_endpoint: int, of_leaf: int, of_spine: int, dtype: type) -> np.ndarray:
        return _frozen(np.array([of_leaf, of_spine, of_endpoint], dtype)[tier])

    def by_port(*values: int) -> np.ndarray:
        return _frozen(np.array(values, np.int64)[of_port])

    spine_latency, spine_buffer, spine_rate = (
        (spine.latency_ps, spine.buffer_bytes, spine.port_rate_bps) if spine is not None else (0, 0, switches.port_rate_bps)
    )
    rates = (gpus.port_rate_bps, switches.port_rate_bps, switches.port_rate_bps, spine_rate)
    between = spine_delay_ps(spec)
    buffers = np.array([gpus.buffer_bytes, switches.buffer_bytes, switches.buffer_bytes, spine_buffer], np.int64)[of_port]
    path = np.arange(gpus.ports * switches.uplink_paths)
    port_of_path = path // switches.uplink_paths

    return Fabric(
        spec=spec,
        endpoints=gpus.count,
        node_kind=by_node(NodeKind.GPU, NodeKind.SWITCH, NodeKind.SWITCH, np.int8),
        node_first_port=_frozen(first_port),
        node_ports=_frozen(node_ports),
        node_tx_ps=by_node(gpus.tx_latency_ps, 0, 0, np.int64),
        node_rx_ps=by_node(gpus.rx_latency_ps, 0, 0, np.int64),
        node_latency_ps=by_node(0, switches.latency_ps, spine_latency, np.int64),
        node_memory_ps=by_node(gpus.memory.latency_ps, 0, 0, np.int64),
        node_memory_Bps=by_node(gpus.memory.bandwidth_Bps, 0, 0, np.int64),
        port_node=_frozen(np.repeat(np.arange(len(node_ports), dtype=np.int32), node_ports)),
        port_peer=_frozen(layout.peer),
        port_link=_frozen(layout.link),
        port_plane=_frozen(layout.plane),
        port_rate_bps=by_port(*rates),
        port_ps_num=by_port(*(ps_per_byte(rate)[0] for rate in rates)),
        port_ps_den=by_port(*(ps_per_byte(rate)[1] for rate in rates)),
        port_delay_ps=by_port(up_delay_ps(spec), down_delay_ps(spec), between, between),
        port_buffer_bytes=_frozen(np.ascontiguousarray(np.repeat(buffers[:, None], VCS, axis=1))),
        path_stack=_frozen((port_of_path // gpus.ports_per_stack).astype(np.int16)),
        path_port=_frozen((port_of_path % gpus.ports_per_stack).astype(np.int16)),
        path_plane=_frozen((port_of_path % planes).astype(np.int16)),
        path_uplink=_frozen((path % switches.uplink_paths).astype(np.int16)),
        uplinks=switches.uplink_paths,
        node_tier=_frozen(tier.astype(np.int8)),
        node_first_uplink=_frozen(
            np.where(leaf & (shape.uplinks > 0), first_port + node_ports - shape.uplinks, -1).astype(np.int32)
        ),
        node_uplinks=by_node(0, shape.uplinks, 0, np.int32),
        node_down_links=by_node(0, 0, shape.links, np.int32),
        endpoint_leaf=_frozen((np.arange(gpus.count) // shape.leaf_endpoints).astype(np.int32)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """For every directed port: what it leaves, its other end, its cable, its plane."""

    what: NDArray[np.int8]
    peer: NDArray[np.int32]
    link: NDArray[np.int32]
    plane: NDArray[np.int16]


def _switch_ports(shape: PlaneShape) -> I8:
    """Return the used ports of a plane's switches, leaves first."""
    down = np.full(shape.leaves, shape.down)
    down[-1] = shape.last_leaf_endpoints * shape.endpoint_ports
    return np.concatenate([down + shape.uplinks, np.full(shape.spines, shape.leaves * shape.links)])


def _lay_out(shape: PlaneShape, planes: int, ports: int) -> _Layout:
    """Number all ports and join them; ``ports`` = ports of an endpoint."""
    at_endpoints = shape.endpoints * ports
    of_plane = shape.endpoints * shape.endpoint_ports + 2 * shape.leaves * shape.uplinks
    total = at_endpoints + planes * of_plane
    first_of_leaf = np.arange(shape.leaves) * (shape.down + shape.uplinks)
    endpoints_of_leaf = np.full(shape.leaves, shape.leaf_endpoints)
    endpoints_of_leaf[-1] = shape.last_leaf_endpoints

    port = np.arange(at_endpoints)
    endpoint, number = port // ports, port % ports
    leaf = endpoint // shape.leaf_endpoints
    # a leaf's port number: the endpoint's port in the plane comes first, then the endpoint
    in_leaf = number // planes * endpoints_of_leaf[leaf] + endpoint % shape.leaf_endpoints
    down = at_endpoints + number % planes * of_plane + first_of_leaf[leaf] + in_leaf

    uplink = np.arange(planes * shape.leaves * shape.uplinks)
    plane, in_plane = np.divmod(uplink, max(1, shape.leaves * shape.uplinks))
    up_leaf, j = np.divmod(in_plane, max(1, shape.uplinks))
    start = at_endpoints + plane * of_plane
    up = start + first_of_leaf[up_leaf] + endpoints_of_leaf[up_leaf] * shape.endpoint_ports + j
    of_spine, spines = shape.leaves * shape.links, max(1, shape.spines)
    first_spine = start + shape.endpoints * shape.endpoint_ports + shape.leaves * shape.uplinks
    at_spine = first_spine + j % spines * of_spine + up_leaf * shape.links + j // spines

    what = np.zeros(total, np.int8)
    what[down], what[up], what[at_spine] = _LEAF_DOWN, _LEAF_UP, _SPINE
    peer, link, planes_of = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int16)
    for here, there in ((port, down), (down, port), (up, at_spine), (at_spine, up)):
        peer[here] = there
    link[port] = link[down] = port
    link[up] = link[at_spine] = at_endpoints + uplink
    planes_of[port] = planes_of[down] = number % planes
    planes_of[up] = planes_of[at_spine] = plane
    return _Layout(what, peer, link, planes_of)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)  # a fabric is shared by every reader of a run
    return array
