"""From the specification of a domain to the arrays that drivers and bounds read."""

from __future__ import annotations

import numpy as np

from ..errors import InfeasibleError, InputError
from ..protocol.profile import VCS
from .arrays import Fabric
from .spec import FabricSpec, NodeKind
from .timing import down_delay_ps, ps_per_byte, up_delay_ps
from .wiring import fit_problems, range_problems


def build_fabric(spec: FabricSpec) -> Fabric:
    """Wire a single tier of planes.

    Port k of every endpoint (k = stack x ports_per_stack + port) goes to plane k mod planes, whose one switch has its ports
    ordered by (k, endpoint). Endpoints are nodes 0 .. count - 1, switches follow in plane order. Link number = directed port
    number of its endpoint side. All arrays are read-only.

    Raises
    ------
    InputError
        Values out of range; carries every problem, those that do not fit too.
    InfeasibleError
        Values in range that do not fit: radix, ports, planes, rates.
    """
    wrong, misfit = range_problems(spec), fit_problems(spec)
    if wrong:
        raise InputError([*wrong, *misfit])
    if misfit:
        raise InfeasibleError(misfit)

    gpus, switches = spec.endpoints, spec.switches
    count, paths, planes = gpus.count, gpus.ports, switches.planes
    radix_used = count * paths // planes
    endpoint_ports = count * paths
    ports = 2 * endpoint_ports

    path = np.arange(paths)
    endpoint_port = np.arange(endpoint_ports)
    of_endpoint, of_path = endpoint_port // paths, endpoint_port % paths
    # a switch's port number: the plane's (k // planes)-th path comes first, then the endpoint
    switch_port = endpoint_ports + of_path % planes * radix_used + of_path // planes * count + of_endpoint

    peer = np.empty(ports, np.int32)
    peer[endpoint_port], peer[switch_port] = switch_port, endpoint_port
    link = np.empty(ports, np.int32)
    link[endpoint_port] = link[switch_port] = endpoint_port
    plane = np.empty(ports, np.int16)
    plane[endpoint_port] = plane[switch_port] = of_path % planes

    def by_node(of_endpoint: int, of_switch: int, dtype: type) -> np.ndarray:
        return _frozen(np.repeat(np.array([of_endpoint, of_switch], dtype), [count, planes]))

    def by_port(at_endpoint: int, at_switch: int) -> np.ndarray:
        return _frozen(np.repeat(np.array([at_endpoint, at_switch], np.int64), endpoint_ports))

    node_ports = by_node(paths, radix_used, np.int32)
    first_port = np.zeros(count + planes, np.int32)
    np.cumsum(node_ports[:-1], out=first_port[1:])
    up, down = ps_per_byte(gpus.port_rate_bps), ps_per_byte(switches.port_rate_bps)
    buffers = np.repeat(np.array([[gpus.buffer_bytes], [switches.buffer_bytes]], np.int64), endpoint_ports, axis=0)

    return Fabric(
        spec=spec,
        endpoints=count,
        node_kind=by_node(NodeKind.GPU, NodeKind.SWITCH, np.int8),
        node_first_port=_frozen(first_port),
        node_ports=node_ports,
        node_tx_ps=by_node(gpus.tx_latency_ps, 0, np.int64),
        node_rx_ps=by_node(gpus.rx_latency_ps, 0, np.int64),
        node_latency_ps=by_node(0, switches.latency_ps, np.int64),
        node_memory_ps=by_node(gpus.memory.latency_ps, 0, np.int64),
        node_memory_Bps=by_node(gpus.memory.bandwidth_Bps, 0, np.int64),
        port_node=_frozen(np.repeat(np.arange(count + planes, dtype=np.int32), node_ports)),
        port_peer=_frozen(peer),
        port_link=_frozen(link),
        port_plane=_frozen(plane),
        port_rate_bps=by_port(gpus.port_rate_bps, switches.port_rate_bps),
        port_ps_num=by_port(up[0], down[0]),
        port_ps_den=by_port(up[1], down[1]),
        port_delay_ps=by_port(up_delay_ps(spec), down_delay_ps(spec)),
        port_buffer_bytes=_frozen(np.ascontiguousarray(np.repeat(buffers, VCS, axis=1))),
        path_stack=_frozen((path // gpus.ports_per_stack).astype(np.int16)),
        path_port=_frozen((path % gpus.ports_per_stack).astype(np.int16)),
        path_plane=_frozen((path % planes).astype(np.int16)),
    )


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)  # a fabric is shared by every reader of a run
    return array
