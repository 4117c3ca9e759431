"""Closed questions about a built fabric: bandwidths and idle latency. Bounds of a workload are the workload room's."""

from __future__ import annotations

from ..protocol.profile import PREAMBLE_BYTES
from .arrays import Fabric


def endpoint_bandwidth_bps(fabric: Fabric, endpoint: int = 0) -> int:
    """Return the line rate of all ports of an endpoint together, one direction, bits/s."""
    first = int(fabric.node_first_port[endpoint])
    return int(fabric.port_rate_bps[first : first + int(fabric.node_ports[endpoint])].sum())


def plane_bandwidth_bps(fabric: Fabric, plane: int) -> int:
    """Return the line rate of all wired ports of a plane's switch together, one direction, bits/s."""
    return endpoint_bandwidth_bps(fabric, switch_node(fabric, plane))


def endpoint_plane_bandwidth_bps(fabric: Fabric, plane: int, endpoint: int = 0) -> int:
    """Return the line rate of an endpoint into one plane, one direction, bits/s."""
    first = int(fabric.node_first_port[endpoint])
    own = slice(first, first + int(fabric.node_ports[endpoint]))
    return int(fabric.port_rate_bps[own][fabric.port_plane[own] == plane].sum())


def domain_bandwidth_bps(fabric: Fabric) -> int:
    """Return the line rate of all endpoints together, one direction, bits/s."""
    return sum(endpoint_bandwidth_bps(fabric, endpoint) for endpoint in range(fabric.endpoints))


def switch_node(fabric: Fabric, plane: int) -> int:
    """Return the node of a plane's switch.

    Raises
    ------
    IndexError
        No such plane.
    """
    if not 0 <= plane < fabric.planes:
        raise IndexError(f"plane {plane} of a fabric with {fabric.planes}")
    return fabric.endpoints + plane


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
    return int(fabric.node_first_port[endpoint]) + path


def serialisation_ps(fabric: Fabric, port: int, size_bytes: int) -> int:
    """Return how long ``size_bytes`` of line time take at a port, ps, rounded up."""
    return -(-size_bytes * int(fabric.port_ps_num[port]) // int(fabric.port_ps_den[port]))


def one_way_ps(fabric: Fabric, frame_bytes: int, path: int = 0, src: int = 0, dst: int = 1) -> int:
    """Return how long a frame takes from one endpoint to another on an idle fabric, in ps.

    Endpoint TX + link + switch + link + endpoint RX + serialisation of preamble and frame, once (profile section 7). A switch
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
    out = endpoint_port(fabric, src, path)
    last = int(fabric.port_peer[endpoint_port(fabric, dst, path)])
    arriving_ps = serialisation_ps(fabric, out, PREAMBLE_BYTES + frame_bytes)
    leaving_ps = serialisation_ps(fabric, last, PREAMBLE_BYTES + frame_bytes)
    switch_ps = max(int(fabric.node_latency_ps[fabric.port_node[last]]), arriving_ps)
    return (
        int(fabric.node_tx_ps[src])
        + int(fabric.port_delay_ps[out])
        + switch_ps
        + int(fabric.port_delay_ps[last])
        + leaving_ps
        + int(fabric.node_rx_ps[dst])
    )
