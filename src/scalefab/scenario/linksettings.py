"""The checked settings of links -> `LinkSpec`."""

from __future__ import annotations

from ..fabric.linkspec import ALL_VCS, AfterFlush, CbfcSpec, FlowControl, LinkSpec, LinkStart, LlrSpec, PfcSpec, Sen, VcMap
from ..protocol.limits import FrameAction
from .linkmodels import PAUSE_QUANTA_MAX, Cbfc, Llr, Pfc
from .models import FabricSection


def link_spec(section: FabricSection) -> LinkSpec:
    """Return what every port of the domain is told of its link."""
    return LinkSpec(
        llr=_llr(section.llr),
        flow_control=FlowControl[section.flow_control.upper()],
        cbfc=_cbfc(section.cbfc),
        pfc=_pfc(section.pfc),
        vc_map=VcMap[section.vc_map.upper()],
        sen=(Sen.LOAD if section.sen_congestion else Sen.ON) if section.sen else Sen.OFF,
    )


def _mask(vcs: list[int] | None) -> int:
    return ALL_VCS if vcs is None else sum(1 << vc for vc in vcs)


def _llr(llr: Llr) -> LlrSpec:
    return LlrSpec(
        on=llr.enabled,
        outstanding_frames_max=llr.frames_max,
        outstanding_bytes_max=llr.bytes_max,
        replay_timer_ps=llr.replay_timer,
        replay_count_max=llr.replay_count,
        data_age_ps=llr.data_age,
        pcs_lost_ps=llr.pcs_lost,
        ctlos_spacing_bytes=llr.spacing,
        init_action=FrameAction[llr.init_action.upper()],
        flush_action=FrameAction[llr.flush_action.upper()],
        after_flush=AfterFlush.RE_INIT if llr.re_init_on_flush else AfterFlush.STAY_DOWN,
        start=LinkStart[llr.start.upper()],
        eligible_vcs=_mask(llr.eligible_vcs),
    )


def _cbfc(cbfc: Cbfc) -> CbfcSpec:
    return CbfcSpec(
        credit_bytes=cbfc.credit,
        overhead_bytes=cbfc.overhead,
        cf_spacing_bytes=cbfc.cf_spacing,
        refresh_bytes=cbfc.refresh,
        cc_interval_ps=cbfc.cc_interval,
        limits=tuple(cbfc.credits or ()),
        pool=cbfc.pool,
        lossless_vcs=_mask(cbfc.lossless_vcs),
    )


def _pfc(pfc: Pfc) -> PfcSpec:
    return PfcSpec(pfc.xoff, pfc.xon, PAUSE_QUANTA_MAX if pfc.quanta is None else pfc.quanta)
