import pytest

from scalefab.errors import InputError
from scalefab.fabric.spec import CableSpec, Fec
from scalefab.fabric.timing import (
    MEDIA,
    PORT_RATES_BPS,
    cable_delay_ps,
    down_delay_ps,
    link_delay_ps,
    ps_per_byte,
    up_delay_ps,
)

G = 10**9


def test_cable_delay_rounds_up_once():
    assert cable_delay_ps(3_000, "twinax") == 13_800
    assert cable_delay_ps(500_000, "fiber") == 2_450_000
    assert cable_delay_ps(1, "twinax") == 5  # 4.6 ps
    assert cable_delay_ps(0, "twinax") == 0
    assert all(medium.source for medium in MEDIA.values())


def test_unknown_medium_names_the_near_miss():
    with pytest.raises(InputError) as caught:
        cable_delay_ps(1, "twinaks")
    (problem,) = caught.value.problems
    assert str(problem) == "fabric.cables.medium: no medium 'twinaks'; expected one of twinax, fiber; did you mean 'twinax'?"


def test_link_delay_is_cable_phy_and_what_fec_adds(make_spec):
    assert up_delay_ps(make_spec()) == 63_800
    assert down_delay_ps(make_spec(phy_rx_ps=10_000)) == 23_800
    assert up_delay_ps(make_spec(fec=Fec.RS544)) == 63_800 + 12_800
    assert up_delay_ps(make_spec(fec=Fec.RS528)) == 63_800 + 12_048  # 12047.06, up


def test_link_delay_never_falls_below_its_cable(make_spec):
    assert up_delay_ps(make_spec(fec=Fec.NONE)) == 13_800  # 13.8 + 50 - 50.8 would be 13.0
    assert up_delay_ps(make_spec(fec=Fec.NONE, phy_tx_ps=60_000)) == 23_000


def test_stated_link_delay_replaces_everything():
    stated = CableSpec(length_mm=3_000, medium="twinax", delay_ps=13_800, link_delay_ps=50_000)
    assert link_delay_ps(stated, 50_000, Fec.RS544, 800 * G) == 50_000


def test_time_of_a_byte_is_a_reduced_fraction():
    assert [ps_per_byte(rate) for rate in PORT_RATES_BPS] == [(80, 1), (40, 1), (20, 1), (10, 1)]
    assert ps_per_byte(106_250_000_000) == (1280, 17)
