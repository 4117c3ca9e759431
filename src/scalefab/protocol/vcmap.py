"""Which VC a frame belongs to, at every port (open profile section 2).

=================================================== ============================================================
frame                                               VC
=================================================== ============================================================
CC_UPDATE (told by its whole DA), LLDP              none: consumed at the port, before look-up, no credit
EtherType 0x88B5 or 0x88B6 with RH                  RH.vc
IPv4 or IPv6, its DSCP is in the DSCP map           that one
802.1Q tagged, its PCP and DEI are in the PCP map   that one
anything else                                       0
=================================================== ============================================================

The profile says "else DSCP or PCP+DEI map": a port may have both, then DSCP goes first (`own`: it is the finer one and survives a
router). A map is an array, one entry a code point, -1 = not in the map. PCP and DEI make one number, 2 x PCP + DEI.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled
from ..errors import InputError, Problem
from .layout import ETHERTYPE_CONTROL, ETHERTYPE_DATA
from .layout_link import LINK_DA

VCS_MAX = 32
DSCPS = 64
PCP_DEIS = 16
NO_VC = -1
ETHERTYPE_LLDP = 0x88CC


class FrameKind(IntEnum):
    """What a port has to know of a frame, besides its code points."""

    PLAIN = 0  #: any Ethernet frame
    RH = 1  #: EtherType of the profile, with RH
    PORT = 2  #: CC_UPDATE, LLDP: belongs to no VC


PLAIN, RH, PORT = range(3)


@compiled
def kind_of(da: int, ethertype: int) -> int:
    """Return the `FrameKind` by destination address and EtherType (behind a tag, if there is one).

    CC_UPDATE has the address of LLDP's nearest bridge: neither leaves the port.
    """
    if da == LINK_DA or ethertype == ETHERTYPE_LLDP:
        return PORT
    return RH if ethertype in (ETHERTYPE_DATA, ETHERTYPE_CONTROL) else PLAIN


@compiled
def vc_of(kind: int, rh_vc: int, dscp: int, pcp_dei: int, dscp_map: Any, pcp_map: Any) -> int:
    """Return the VC of a frame, `NO_VC` for one that belongs to none.

    Parameters
    ----------
    kind
        `FrameKind`.
    rh_vc
        RH.vc, read for `FrameKind.RH` only.
    dscp
        DSCP of an IP frame, -1 = not IP.
    pcp_dei
        2 x PCP + DEI of a tagged frame, -1 = no tag.
    dscp_map, pcp_map
        VC by code point, from `dscp_map` and `pcp_map`.
    """
    if kind == PORT:
        return NO_VC
    if kind == RH:
        return rh_vc
    if dscp >= 0 and dscp_map[dscp] >= 0:
        return dscp_map[dscp]
    if pcp_dei >= 0 and pcp_map[pcp_dei] >= 0:
        return pcp_map[pcp_dei]
    return 0


def pcp_dei(pcp: int, dei: int) -> int:
    """Return the code point of a tag."""
    return 2 * pcp + dei


def _map(entries: Mapping[int, int], points: int, what: str, vcs: int) -> Any:
    problems = tuple(_problems(entries, points, what, vcs))
    if problems:
        raise InputError(problems)
    vc_of_point = np.full(points, NO_VC, np.int32)
    for point, vc in entries.items():
        vc_of_point[point] = vc
    return vc_of_point


def _problems(entries: Mapping[int, int], points: int, what: str, vcs: int) -> Iterator[Problem]:
    if not 1 <= vcs <= VCS_MAX:
        yield Problem(f"{vcs} VCs", f"1 .. {VCS_MAX}", key="vcs")
        return
    for point, vc in entries.items():
        if not 0 <= point < points:
            yield Problem(f"{what} {point}", f"0 .. {points - 1}", key=f"{what}_map")
        if not 0 <= vc < vcs:
            yield Problem(f"{what} {point} on VC {vc}", f"VC 0 .. {vcs - 1}", key=f"{what}_map")


def dscp_map(entries: Mapping[int, int], vcs: int) -> Any:
    """Return a DSCP map as an array of int32; ``entries``: VC by DSCP (0 .. 63).

    Raises
    ------
    InputError
        With every DSCP and VC that cannot be.
    """
    return _map(entries, DSCPS, "dscp", vcs)


def pcp_map(entries: Mapping[int, int], vcs: int) -> Any:
    """Return a PCP+DEI map as an array of int32; ``entries``: VC by 2 x PCP + DEI (0 .. 15).

    Raises
    ------
    InputError
        With every code point and VC that cannot be.
    """
    return _map(entries, PCP_DEIS, "pcp", vcs)
