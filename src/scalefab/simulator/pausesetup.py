"""PFC's arrays at set-up: thresholds of every receive buffer, stated or computed from its size and the head-room of its link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InputError, Problem
from ..fabric.arrays import Fabric
from ..fabric.linkspec import FlowControl, LinkSpec, PfcSpec
from ..protocol import pfc
from ..protocol.limits import LinkShape, pfc_headroom_bytes
from .records import zeros


def thresholds(buffer_bytes: int, link: LinkShape, spec: PfcSpec) -> tuple[int, int]:
    """Return XOFF and XON of a receive buffer.

    XOFF is decided when a frame's last byte is there, which may be a whole frame beyond the threshold: head-room and that frame
    must still fit. XON is two frames below, so that a pause does not end and begin with every frame (`own`).
    """
    frame = link.frame_back_bytes
    xoff = max(1, buffer_bytes - pfc_headroom_bytes(link) - frame) if spec.xoff_bytes is None else spec.xoff_bytes
    xon = max(0, xoff - 2 * frame) if spec.xon_bytes is None else spec.xon_bytes
    return xoff, min(xon, xoff)


def pause_arrays(
    fabric: Fabric, links: Sequence[LinkSpec], vcs: int, shape: Callable[[int, LinkSpec], LinkShape]
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return arrays of `records.State` and switches of `records.KERNEL`; without PFC a place-holder.

    Parameters
    ----------
    fabric, links, vcs
        The network, what each port is told, VCs of a link.
    shape
        The link of a port as `protocol.limits` asks for it.

    Raises
    ------
    InputError
        Only some links have PFC, or more VCs than a PAUSE names.
    """
    paused = [of.flow_control is FlowControl.PFC for of in links]
    if not any(paused):
        return {"pause_tx": zeros((1, 1), pfc.SENDER), "pause_rx": zeros((1, 1), pfc.RECEIVER)}, {"pfc": 0}
    problems = []
    if not all(paused):
        problems.append(Problem("PFC on some links and not on others", "PFC on all links or on none", key="flow_control"))
    if vcs > pfc.PRIORITIES:
        problems.append(Problem(f"{vcs} VCs with PFC", f"at most {pfc.PRIORITIES}: a PAUSE names no more", key="vcs"))
    if problems:
        raise InputError(problems)
    tx, rx = zeros((fabric.ports, vcs), pfc.SENDER), zeros((fabric.ports, vcs), pfc.RECEIVER)
    known: dict[tuple[int, int, int, int, int], tuple[int, int]] = {}
    for p, of in enumerate(links):
        buffers = fabric.port_buffer_bytes[p]
        there, back = int(fabric.port_delay_ps[p]), int(fabric.port_delay_ps[fabric.port_peer[p]])
        for vc in range(vcs):
            size = int(buffers[min(vc, len(buffers) - 1)])
            key = (id(of), size, int(fabric.port_rate_bps[p]), there, back)
            if key not in known:
                known[key] = thresholds(size, shape(p, of), of.pfc)
            r = rx[p, vc]
            r.buffer_bytes = size
            r.xoff_bytes, r.xon_bytes = known[key]
            r.quanta = of.pfc.quanta
    # a packet's "credits" are its bytes: one count serves both kinds of flow control
    return {"pause_tx": tx, "pause_rx": rx}, {"pfc": 1, "credit_bytes": 1, "overhead_bytes": 0}
