"""A domain to vary: 64 GPUs x 8 x 800G on eight 51.2T switches, 3 m cables, everything at the profile's defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scalefab.fabric.spec import CableSpec, EndpointSpec, FabricSpec, Fec, MemorySpec, SwitchSpec

G = 10**9


def spec_of(**changes: Any) -> FabricSpec:
    """Build the domain with changes; nested ones as ``endpoints={...}``, ``switches={...}``, ``cables={...}``.

    ``llr={...}``, ``cbfc={...}``, ``pfc={...}``: those of the link.
    """
    parts = {
        "endpoints": EndpointSpec(
            name="gpu",
            count=64,
            stacks=8,
            ports_per_stack=1,
            port_rate_bps=800 * G,
            tx_latency_ps=50_000,
            rx_latency_ps=50_000,
            buffer_bytes=256 * 1024,
            memory=MemorySpec(bandwidth_Bps=8 * 10**12, latency_ps=150_000, capacity_bytes=192 * G),
        ),
        "switches": SwitchSpec(
            name="ethx-switch-51.2t", planes=8, radix=64, port_rate_bps=800 * G, latency_ps=250_000, buffer_bytes=256 * 1024
        ),
        "cables": CableSpec(length_mm=3_000, medium="twinax", delay_ps=13_800),
    }
    for name, part in parts.items():
        parts[name] = replace(part, **changes.pop(name, {}))
    spec = FabricSpec(
        **parts,
        fec=Fec.RS272,
        fec_depth=0,
        header_stack="ethlink",
        frame_max=2048,
        phy_tx_ps=50_000,
        phy_rx_ps=50_000,
    )
    link = changes.pop("link", spec.link)
    for name in ("llr", "cbfc", "pfc"):
        link = replace(link, **{name: replace(getattr(link, name), **changes.pop(name, {}))})
    return replace(spec, link=link, **changes)
