"""VC of a frame: RH, then DSCP, then PCP and DEI, else 0; none for what stays at the port."""

from __future__ import annotations

import pytest

from scalefab.errors import InputError
from scalefab.protocol import vcmap
from scalefab.protocol.vcmap import FrameKind


def test_order_of_the_maps_over_all_code_points() -> None:
    dscp = vcmap.dscp_map({8 * vc: vc for vc in range(8)}, 8)
    pcp = vcmap.pcp_map({vcmap.pcp_dei(p, d): p for p in range(1, 8) for d in (0, 1)}, 8)
    for d in range(-1, 64):
        for t in range(-1, 16):
            expected = 0
            if d >= 0 and d % 8 == 0:
                expected = d // 8
            elif t >= 2:
                expected = t // 2
            assert vcmap.vc_of(int(FrameKind.PLAIN), 3, d, t, dscp, pcp) == expected
            assert vcmap.vc_of(int(FrameKind.RH), 3, d, t, dscp, pcp) == 3
            assert vcmap.vc_of(int(FrameKind.PORT), 3, d, t, dscp, pcp) == vcmap.NO_VC


def test_without_maps_everything_is_vc_0() -> None:
    nothing, none = vcmap.dscp_map({}, 4), vcmap.pcp_map({}, 4)
    assert {int(vcmap.vc_of(0, 1, d, t, nothing, none)) for d in range(-1, 64) for t in range(-1, 16)} == {0}


@pytest.mark.parametrize(
    ("da", "ethertype", "kind"),
    [
        (0x0180C200000E, 0x88B6, FrameKind.PORT),  # CC_UPDATE
        (0x0180C200000E, 0x88CC, FrameKind.PORT),  # LLDP to the nearest bridge
        (0x0180C2000003, 0x88CC, FrameKind.PORT),
        (0x012C00000000, 0x88B5, FrameKind.RH),
        (0x0180C200000F, 0x88B6, FrameKind.RH),  # one bit off is not CC_UPDATE
        (0x0180C200000F, 0x0800, FrameKind.PLAIN),
        (0xFFFFFFFFFFFF, 0x86DD, FrameKind.PLAIN),
    ],
)
def test_what_a_port_sees(da: int, ethertype: int, kind: FrameKind) -> None:
    assert vcmap.kind_of(da, ethertype) == kind


def test_every_entry_that_cannot_be_is_told() -> None:
    with pytest.raises(InputError) as caught:
        vcmap.dscp_map({64: 0, 3: 4, -1: 9}, 4)
    assert [str(problem) for problem in caught.value.problems] == [
        "dscp_map: dscp 64; expected 0 .. 63",
        "dscp_map: dscp 3 on VC 4; expected VC 0 .. 3",
        "dscp_map: dscp -1; expected 0 .. 63",
        "dscp_map: dscp -1 on VC 9; expected VC 0 .. 3",
    ]
    with pytest.raises(InputError, match="33 VCs"):
        vcmap.pcp_map({}, 33)
    with pytest.raises(InputError, match="pcp 16;"):
        vcmap.pcp_map({16: 0}, 4)
