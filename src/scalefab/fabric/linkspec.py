"""What a port is told about its link: LLR, flow control, which VC a frame belongs to. Frozen values; limits of None are computed.

The same for every link of a scenario (`FabricSpec.link`), or one a port in a conformance bench.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from ..protocol.limits import (
    CC_INTERVAL_PS,
    CF_SPACING_BYTES,
    CREDIT_BYTES,
    CTLOS_SPACING_BYTES,
    REFRESH_BYTES,
    REPLAY_COUNT_MAX,
    FrameAction,
)

ALL_VCS = (1 << 32) - 1


class FlowControl(IntEnum):
    """What keeps a sender from overrunning the receive buffer."""

    CBFC = 0
    PFC = 1
    NONE = 2  #: frames that find no room are dropped


class LinkStart(IntEnum):
    """How LLR stands when the run begins."""

    READY = 0  #: handshakes are over
    INIT = 1  #: the link comes up at 0 ps: INIT first


class AfterFlush(IntEnum):
    """What a port does in FLUSH (re_init_on_flush)."""

    STAY_DOWN = 0
    RE_INIT = 1


class Sen(IntEnum):
    """Whether switches send Switch Event Notifications; without them RH's timer finds out."""

    OFF = 0
    ON = 1  #: of ports that go down, come up, are drained or run slower
    LOAD = 2  #: of congested ones too


class VcMap(IntEnum):
    """Which VC of a link DATA takes; ACKs stay on VC 3 either way."""

    PROFILE = 0  #: RH.vc: requests 0, responses 1, bulk 2
    ONE = 1  #: all DATA on VC 0: request and response wait for each other, which ends in a deadlock (to show it)


@dataclass(frozen=True, slots=True)
class LlrSpec:
    """LLR of a port's sending end; None = `scalefab.protocol.limits` computes it for the link (0 = off for age and PCS)."""

    on: bool = True
    outstanding_frames_max: int | None = None
    outstanding_bytes_max: int | None = None
    replay_timer_ps: int | None = None
    replay_count_max: int = REPLAY_COUNT_MAX
    data_age_ps: int | None = None
    pcs_lost_ps: int | None = None
    ctlos_spacing_bytes: int = CTLOS_SPACING_BYTES
    init_action: FrameAction = FrameAction.BLOCK
    flush_action: FrameAction = FrameAction.BLOCK
    after_flush: AfterFlush = AfterFlush.STAY_DOWN
    first_seq: int = 0
    start: LinkStart = LinkStart.READY
    eligible_vcs: int = ALL_VCS  #: mask, bit v = frames of VC v are LLR-eligible


@dataclass(frozen=True, slots=True)
class CbfcSpec:
    """CBFC of a port.

    ``limits``: credits by VC that the port grants its peer, or () = from the receive buffer. ``pool``: credits that all VCs of
    the port share, None = each VC has its own only. ``cc_interval_ps``: 0 = no CC_UPDATE.
    """

    credit_bytes: int = CREDIT_BYTES
    overhead_bytes: int = 0
    cf_spacing_bytes: int = CF_SPACING_BYTES
    refresh_bytes: int = REFRESH_BYTES
    cc_interval_ps: int = CC_INTERVAL_PS
    limits: tuple[int, ...] = ()
    pool: int | None = None
    lossless_vcs: int = ALL_VCS  #: mask; the others are best effort: neither held back nor charged, dropped without room


@dataclass(frozen=True, slots=True)
class PfcSpec:
    """PFC of a port, per VC; None = computed from the receive buffer and `limits.pfc_headroom_bytes`."""

    xoff_bytes: int | None = None
    xon_bytes: int | None = None
    quanta: int = 65_535


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """All of it. ``dscp_map``, ``pcp_map``: (code point, VC) pairs as `protocol.vcmap` takes them; profile frames carry RH.vc."""

    llr: LlrSpec = field(default_factory=LlrSpec)
    flow_control: FlowControl = FlowControl.CBFC
    cbfc: CbfcSpec = field(default_factory=CbfcSpec)
    pfc: PfcSpec = field(default_factory=PfcSpec)
    vcs: int = 4
    vc_map: VcMap = VcMap.PROFILE
    sen: Sen = Sen.ON
    dscp_map: tuple[tuple[int, int], ...] = ()
    pcp_map: tuple[tuple[int, int], ...] = ()
