"""Whether links can work at all: credits, buffers and limits against the largest frame (open profile section 2)."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Problem
from .buffers import MAX_CREDITS, packet_credits
from .linkspec import FlowControl
from .spec import FabricSpec

CREDIT_BYTES = (32, 2048)
OVERHEAD_BYTES = (-16, 127)
SMALLEST_SPACING_BYTES = 800


def link_ranges(spec: FabricSpec) -> Iterator[Problem]:
    """Yield the values of links that no domain may have."""
    cbfc = spec.link.cbfc
    for key, what, value, (low, high) in (
        ("fabric.cbfc.credit", "credit", cbfc.credit_bytes, CREDIT_BYTES),
        ("fabric.cbfc.overhead", "packet overhead", cbfc.overhead_bytes, OVERHEAD_BYTES),
    ):
        if not low <= value <= high:
            yield Problem(f"{what} {value} B", f"{low} .. {high} B", key=key)
    if cbfc.cf_spacing_bytes < SMALLEST_SPACING_BYTES:
        message = f"CF_UPDATEs every {cbfc.cf_spacing_bytes} B of line time"
        yield Problem(message, f"at least {SMALLEST_SPACING_BYTES} B", key="fabric.cbfc.cf_spacing")
    buffers = {"fabric.gpus.buffer": spec.endpoints.buffer_bytes, "fabric.switches.buffer": spec.switches.buffer_bytes}
    if spec.switches.spine is not None:
        buffers["fabric.spine.buffer"] = spec.switches.spine.buffer_bytes
    if spec.link.flow_control is not FlowControl.CBFC:
        for key, size in buffers.items():
            if size < spec.frame_max:
                yield Problem(f"{size} B a VC hold no frame of {spec.frame_max} B", f"at least {spec.frame_max} B", key=key)
    elif cbfc.credit_bytes > 0:  # else said already; nothing can be counted in such credits
        for key, size in buffers.items():
            yield from _buffer_range(key, size, spec)
        yield from _grant_range(spec, buffers)
    kept = spec.link.llr.outstanding_bytes_max
    if spec.link.llr.on and kept is not None and kept < spec.frame_max:
        said = f"{kept} B keep no frame of {spec.frame_max} B, so none could be sent"
        yield Problem(said, f"at least {spec.frame_max} B", key="fabric.llr.bytes_max")


def _buffer_range(key: str, buffer_bytes: int, spec: FabricSpec) -> Iterator[Problem]:
    credit = spec.credit_bytes
    credits = buffer_bytes // credit
    frame = packet_credits(spec.frame_max, spec.overhead_bytes, credit)
    if credits > MAX_CREDITS and not spec.link.cbfc.limits:
        yield Problem(
            f"{buffer_bytes} B a VC are {credits} credits of {credit} B, a link can count {MAX_CREDITS}",
            f"at most {MAX_CREDITS * credit} B, or a larger credit",
            key=key,
        )
    elif credits < frame:
        yield Problem(
            f"{buffer_bytes} B a VC are {max(credits, 0)} credits of {credit} B, a frame of {spec.frame_max} B takes {frame}",
            f"at least {frame * credit} B",
            key=key,
        )


def _grant_range(spec: FabricSpec, buffers: dict[str, int]) -> Iterator[Problem]:
    """Yield credits that hold no frame, and credits for which there is no buffer."""
    cbfc, credit = spec.link.cbfc, spec.credit_bytes
    frame = packet_credits(spec.frame_max, spec.overhead_bytes, credit)
    key, size = min(buffers.items(), key=lambda item: item[1])
    for vc, credits in enumerate(cbfc.limits):
        what = f"{credits} credits of {credit} B for VC {vc}"
        if credits < frame:
            yield Problem(f"{what}, a frame of {spec.frame_max} B takes {frame}", f"at least {frame}", key="fabric.cbfc.credits")
        elif credits * credit > size:
            yield Problem(f"{what}, {key} holds {size // credit}", f"at most {size // credit}", key="fabric.cbfc.credits")
    if cbfc.pool is not None and cbfc.pool < frame:
        said = f"{cbfc.pool} credits of {credit} B for a port, a frame of {spec.frame_max} B takes {frame}"
        yield Problem(said, f"at least {frame}", key="fabric.cbfc.pool")
