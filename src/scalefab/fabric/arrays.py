"""The fabric as arrays: what the drivers and the bounds read. Built by `scalefab.fabric.build.build_fabric`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .spec import FabricSpec

I1 = NDArray[np.int8]
I2 = NDArray[np.int16]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Fabric:
    """A wired domain. Endpoints are nodes 0 .. endpoints-1 (their node index is their profile id), switches follow.

    A *port* is one direction out of a node: index ``p``; ``port_peer[p]`` is the port at the other end, whose receive
    buffer ``port_buffer_bytes[p_peer]`` the frames of ``p`` enter. Ports of a node are contiguous from ``node_first_port``;
    an endpoint's port number k (stack x ports a stack + port) is port ``node_first_port[e] + k``. A *path* is an endpoint's port
    and an uplink id: path index ``k * uplinks + uplink``, so path index ``i`` of endpoint ``e`` is port
    ``node_first_port[e] + i // uplinks``. In a single tier ``uplinks`` is 1 and paths are ports.

    Switches follow plane by plane: the leaves of a plane, then its spines. A leaf's ports are those of its endpoints, ordered by
    (port in the plane, endpoint), then its uplinks; uplink j goes to spine j mod spines. A spine's port ``leaf * k + link`` goes
    to uplink ``link * spines + spine`` of that leaf, k = links of a spine to each leaf.

    Attributes
    ----------
    node_kind, node_first_port, node_ports
        shape (nodes,).
    node_tx_ps, node_rx_ps
        Endpoint latencies in ps, 0 for switches; shape (nodes,).
    node_latency_ps
        Switch: first bit in to first bit out, ps; endpoints 0.
    node_memory_ps, node_memory_Bps
        Target memory: latency in ps, bandwidth in bytes/s; switches 0.
    port_node, port_peer, port_link, port_plane
        shape (ports,). Both directions of a cable carry the same link number.
    port_rate_bps, port_ps_num, port_ps_den
        Line rate; the time of n bytes is ceil(n * num / den) ps.
    port_delay_ps
        One-way delay of the link out of this port: cable, PHY, FEC; ps.
    port_buffer_bytes
        Receive buffer *at* this port, a VC; shape (ports, 4), bytes.
    path_stack, path_port, path_uplink
        For each path index: the stack, the port in the stack, the uplink id (the path id is stack << 6 | port << 4 | uplink).
    path_plane
        For each path index: its plane.
    uplinks
        Uplink ids of a pair of endpoints, 1 in a single tier.
    node_tier
        -1 endpoint, 0 leaf (or the switch of a single tier), 1 spine; shape (nodes,).
    node_first_uplink, node_uplinks
        Leaf of a two-tier plane: its first uplink's port and how many follow each other; -1 and 0 elsewhere.
    node_down_links
        Spine: its links to each leaf; 0 elsewhere.
    endpoint_leaf
        Leaf of each endpoint, counted within a plane (all planes are alike), 0 in a single tier; shape (endpoints,).
    """

    spec: FabricSpec
    endpoints: int
    node_kind: I1
    node_first_port: I4
    node_ports: I4
    node_tx_ps: I8
    node_rx_ps: I8
    node_latency_ps: I8
    node_memory_ps: I8
    node_memory_Bps: I8
    port_node: I4
    port_peer: I4
    port_link: I4
    port_plane: I2
    port_rate_bps: I8
    port_ps_num: I8
    port_ps_den: I8
    port_delay_ps: I8
    port_buffer_bytes: I8
    path_stack: I2
    path_port: I2
    path_plane: I2
    path_uplink: I2
    uplinks: int
    node_tier: I1
    node_first_uplink: I4
    node_uplinks: I4
    node_down_links: I4
    endpoint_leaf: I4

    @property
    def nodes(self) -> int:
        """Endpoints and switches together."""
        return len(self.node_kind)

    @property
    def ports(self) -> int:
        """Directed ports."""
        return len(self.port_node)

    @property
    def paths(self) -> int:
        """Paths between any two endpoints: ports of an endpoint x uplink ids."""
        return len(self.path_stack)

    @property
    def endpoint_ports(self) -> int:
        """Ports of an endpoint; all endpoints are alike."""
        return len(self.path_stack) // self.uplinks

    @property
    def two_tier(self) -> bool:
        """Whether planes have leaves and spines."""
        return self.spec.switches.spine is not None

    @property
    def planes(self) -> int:
        """Number of planes."""
        return int(self.path_plane.max()) + 1

    def path_id(self, path: int) -> int:
        """Return the profile's 10-bit path id of path index ``path``."""
        return (int(self.path_stack[path]) << 6) | (int(self.path_port[path]) << 4) | int(self.path_uplink[path])
