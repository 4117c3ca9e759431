"""Closed questions about a built fabric: bandwidths and idle latency. Bounds of a workload are the workload room's."""

from __future__ import annotations

from itertools import pairwise

from ..protocol.profile import PREAMBLE_BYTES
from ..protocol.tiers import leaf_uplink, spine_link
from .arrays import Fabric
from .tiers import plane_shape


def endpoint_bandwidth_bps(fabric: Fabric, endpoint: int = 0) -> int:
    """Return the line rate of all ports of an endpoint together, one direction, bits/s."""
    first = int(fabric.node_first_port[endpoint])
    return int(fabric.port_rate_bps[first : first + int(fabric.node_ports[endpoint])].sum())


def plane_bandwidth_bps(fabric: Fabric, plane: int) -> int:
    """Return the line rate of all ports of a plane to its endpoints together, one direction, bits/s."""
    switch_node(fabric, plane)
    to_endpoint = fabric.port_node[fabric.port_peer] < fabric.endpoints
    return int(fabric.port_rate_bps[to_endpoint & (fabric.port_plane == plane)].sum())


def endpoint_plane_bandwidth_bps(fabric: Fabric, plane: int, endpoint: int = 0) -> int:
    """Return the line rate of an endpoint into one plane, one direction, bits/s."""
    first = int(fabric.node_first_port[endpoint])
    own = slice(first, first + int(fabric.node_ports[endpoint]))
    return int(fabric.port_rate_bps[own][fabric.port_plane[own] == plane].sum())


def domain_bandwidth_bps(fabric: Fabric) -> int:
    """Return the line rate of all endpoints together, one direction, bits/s."""
    return sum(endpoint_bandwidth_bps(fabric, endpoint) for endpoint in range(fabric.endpoints))


def switch_node(fabric: Fabric, plane: int, leaf: int = 0) -> int:
    """Return the node of a leaf of a plane; in a single tier the plane's switch.

    Raises
    ------
    IndexError
        No such plane or leaf.
    """
    shape = plane_shape(fabric.spec)
    if not 0 <= plane < fabric.planes:
        raise IndexError(f"plane {plane} of a fabric with {fabric.planes}")
    if not 0 <= leaf < shape.leaves:
        raise IndexError(f"leaf {leaf} of a fabric with {shape.leaves} in a plane")
    return fabric.endpoints + plane * shape.switches + leaf


def spine_node(fabric: Fabric, plane: int, spine: int) -> int:
    """Return the node of a spine of a plane.

    Raises
    ------
    IndexError
        No such plane or spine.
    """
    shape = plane_shape(fabric.spec)
    if not 0 <= spine < shape.spines:
        raise IndexError(f"spine {spine} of a fabric with {shape.spines} in a plane")
    return switch_node(fabric, plane) + shape.leaves + spine


def endpoint_port(fabric: Fabric, endpoint: int, path: int) -> int:
    """Return the directed port by which an endpoint sends on path index ``path``.

    Raises
    ------
    IndexError
        No such endpoint or path.
    """
    if not 0 <= endpoint < fabric.endpoints:
        raise IndexError(f"endpoint {endpoint} of a fabric with {fabric.endpoints}")
    if not 0 <= path < fabric.paths:
        raise IndexError(f"path {path} of a fabric with {fabric.paths}")
    return int(fabric.node_first_port[endpoint]) + path // fabric.uplinks


def route(fabric: Fabric, path: int, src: int, dst: int) -> tuple[int, ...]:
    """Return the directed ports that a frame leaves by, from the endpoint's own to the last switch's: two, or four over a spine.

    Parameters
    ----------
    path, src, dst
        Path index and endpoints.
    """
    first = endpoint_port(fabric, src, path)
    last = int(fabric.port_peer[endpoint_port(fabric, dst, path)])
    if fabric.endpoint_leaf[src] == fabric.endpoint_leaf[dst]:
        return first, last
    leaf = int(fabric.port_node[fabric.port_peer[first]])
    uplink, uplinks = int(fabric.path_uplink[path]), int(fabric.node_uplinks[leaf])
    up = int(fabric.node_first_uplink[leaf]) + leaf_uplink(dst, uplink, uplinks)
    spine = int(fabric.port_node[fabric.port_peer[up]])
    links = int(fabric.node_down_links[spine])
    down = int(fabric.node_first_port[spine]) + int(fabric.endpoint_leaf[dst]) * links + spine_link(dst, uplink, uplinks, links)
    return first, up, int(down), last


def serialisation_ps(fabric: Fabric, port: int, size_bytes: int) -> int:
    """Return how long ``size_bytes`` of line time take at a port, ps, rounded up."""
    return -(-size_bytes * int(fabric.port_ps_num[port]) // int(fabric.port_ps_den[port]))


def one_way_ps(fabric: Fabric, frame_bytes: int, path: int = 0, src: int = 0, dst: int = 1) -> int:
    """Return how long a frame takes from one endpoint to another on an idle fabric, in ps.

    Endpoint TX + links + switches + endpoint RX + serialisation of preamble and frame, once (profile section 7). A switch
    knows the FCS before it sends: the first bit leaves it at max(first bit in + latency, last bit in) (section 2), so a frame
    that takes longer to come in than the switch's latency waits for its own end. The gap follows a frame and delays only the
    next one. Target memory is not part of it.

    Parameters
    ----------
    frame_bytes
        OEFH .. FCS.
    path, src, dst
        Path index and endpoints.
    """
    ports = route(fabric, path, src, dst)
    time_ps = int(fabric.node_tx_ps[src]) + int(fabric.node_rx_ps[dst]) + int(fabric.port_delay_ps[ports[0]])
    for before, port in pairwise(ports):
        arriving_ps = serialisation_ps(fabric, before, PREAMBLE_BYTES + frame_bytes)
        time_ps += max(int(fabric.node_latency_ps[fabric.port_node[port]]), arriving_ps) + int(fabric.port_delay_ps[port])
    return time_ps + serialisation_ps(fabric, ports[-1], PREAMBLE_BYTES + frame_bytes)
