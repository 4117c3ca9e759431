"""What a supernode is made of, as frozen values in integer units. A user's file becomes these; arrays come from these."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from ..protocol.fec_codes import Fec
from .linkspec import LinkSpec

__all__ = ["CableSpec", "EndpointSpec", "FabricSpec", "Fec", "MemorySpec", "NodeKind", "SpineSpec", "SwitchSpec"]


class NodeKind(IntEnum):
    """Kinds of node; the numbers stand in the fabric arrays."""

    GPU = 0
    MEMORY = 1
    SWITCH = 2
    NIC = 3


@dataclass(frozen=True, slots=True)
class MemorySpec:
    """Target memory of an endpoint: first byte after ``latency_ps``, then ``bandwidth_Bps`` shared by all ports."""

    bandwidth_Bps: int
    latency_ps: int
    capacity_bytes: int


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """One kind of endpoint and how many of it: ``count`` GPUs with ``stacks`` x ``ports_per_stack`` ports each.

    ``buffer_bytes`` is the receive buffer per VC and port, told to the switch as credits. ``response_queue_bytes`` is how many
    bytes of responses a port holds until they are sent, None = as many as ``buffer_bytes``.
    """

    name: str
    count: int
    stacks: int
    ports_per_stack: int
    port_rate_bps: int
    tx_latency_ps: int
    rx_latency_ps: int
    buffer_bytes: int
    memory: MemorySpec
    source: str = ""
    response_queue_bytes: int | None = None

    @property
    def response_queue(self) -> int:
        """Bytes of responses that a port holds at most."""
        return self.buffer_bytes if self.response_queue_bytes is None else self.response_queue_bytes

    @property
    def ports(self) -> int:
        """Ports of one endpoint."""
        return self.stacks * self.ports_per_stack


@dataclass(frozen=True, slots=True)
class CableSpec:
    """Cables that are alike. ``delay_ps`` is cable alone (length x ps per m), one way.

    ``link_delay_ps`` is -1, or the whole delay of a link (cable, PHYs and FEC together) as the user states it.
    """

    length_mm: int
    medium: str
    delay_ps: int
    link_delay_ps: int = -1


@dataclass(frozen=True, slots=True)
class SpineSpec:
    """The second tier of every plane: ``count`` spines a plane, each with the same number of links to every leaf.

    ``cables`` join leaves and spines; None = they are like all others. The rest is as in `SwitchSpec`.
    """

    name: str
    count: int
    radix: int
    port_rate_bps: int
    latency_ps: int
    buffer_bytes: int
    cables: CableSpec | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class SwitchSpec:
    """The switches that endpoints are attached to: in a single tier one a plane, with ``spine`` the ``leaves`` of a plane.

    ``latency_ps`` is first bit in to first bit out (look-up, own PHYs and FEC); how long a frame occupies a port is its
    serialisation at ``port_rate_bps`` alone. ``buffer_bytes`` is the ingress buffer per VC and port.

    In two tiers a leaf has ``uplinks`` ports to the spines beside those of its endpoints, and any two endpoints have
    ``uplink_paths`` path ids for each port that both have. `scalefab.fabric.tiers` counts what follows from these.
    """

    name: str
    planes: int
    radix: int
    port_rate_bps: int
    latency_ps: int
    buffer_bytes: int
    source: str = ""
    leaves: int = 1
    uplinks: int = 0
    uplink_paths: int = 1
    spine: SpineSpec | None = None


@dataclass(frozen=True, slots=True)
class FabricSpec:
    """A whole supernode domain.

    ``phy_tx_ps`` counts at the source endpoint, ``phy_rx_ps`` at the target endpoint (a switch's PHYs are inside its
    latency). ``fec_depth`` is the codeword interleave, 0 = the usual one for the port rate.
    ``ber`` and ``burst`` are the line's errors before FEC, of every link (section 3); ``link`` is what every port is told.
    """

    endpoints: EndpointSpec
    switches: SwitchSpec
    cables: CableSpec
    fec: Fec
    fec_depth: int
    header_stack: str
    frame_max: int
    phy_tx_ps: int
    phy_rx_ps: int
    ber: float = 0.0
    burst: float = 0.0
    link: LinkSpec = field(default_factory=LinkSpec)

    @property
    def mtu(self) -> int:
        """Data bytes of a full packet: min(4096, (frame_max - 64) rounded down to 64) (`own`)."""
        return min(4096, (self.frame_max - 64) // 64 * 64)

    @property
    def credit_bytes(self) -> int:
        """Bytes of a CBFC credit."""
        return self.link.cbfc.credit_bytes

    @property
    def overhead_bytes(self) -> int:
        """Bytes that CBFC adds to each packet before it counts credits."""
        return self.link.cbfc.overhead_bytes

    @property
    def cf_spacing_bytes(self) -> int:
        """Line time between two CF_UPDATEs, as bytes."""
        return self.link.cbfc.cf_spacing_bytes
