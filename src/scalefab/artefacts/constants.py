"""Numbers of the profile that stand beside layouts and enumerations, by the names that C and SystemVerilog give them."""

from __future__ import annotations

from ..protocol import layout, layout_link, profile


def constants() -> dict[str, tuple[int, str]]:
    """Return value and meaning by name."""
    masks = {
        f"ICRC_MASK_BYTE{at}": (bits, f"or-ed into byte {at} (untagged) while ICRC is computed") for at, bits in layout.ICRC_MASK
    }
    return {
        "ETHERTYPE_DATA": (layout.ETHERTYPE_DATA, "RH op DATA, ACK, NACK; by default"),
        "ETHERTYPE_CONTROL": (layout.ETHERTYPE_CONTROL, "RH op CONTROL and frames between ports; by default"),
        "ID_MAX": (layout.ID_MAX, "largest endpoint id"),
        "HEADER_BYTES": (profile.HEADER_BYTES, "OEFH, NET, RH"),
        "FRAME_MIN_BYTES": (profile.FRAME_MIN_BYTES, "OEFH to FCS"),
        "FRAME_MAX_BYTES": (layout.FRAME_MAX_BYTES, "OEFH to FCS; by default"),
        "UNPADDED_MIN_BYTES": (layout.UNPADDED_MIN_BYTES, "below this total_length zeroes follow ICRC"),
        "CONTROL_BODY_BYTES": (layout.CONTROL_BODY_BYTES, "body of RH op CONTROL"),
        "ADDRESS_BITS": (layout.ADDRESS_BITS, "of TH.address in use"),
        "LSU_MAX_BYTES": (profile.LSU_MAX_BYTES, "largest LOAD, STORE, REDUCE"),
        "TTL_SENT": (layout.TTL_SENT, "NET.ttl of a new frame"),
        "DSCP_PER_VC": (layout.DSCP_PER_VC, "NET.dscp = this x vc"),
        "VCS": (profile.VCS, "virtual channels in use"),
        "GAP_BYTES": (profile.GAP_BYTES, "between frames on a line"),
        "LINK_DA": (layout_link.LINK_DA, "destination of frames between two ports"),
        "LINK_SA": (layout_link.LINK_SA, "their source"),
        "CRC32_POLYNOMIAL": (0x04C11DB7, "ICRC and FCS: reflected, initially and finally all ones"),
        **masks,
    }
