import pytest

from scalefab.fabric.build import build_fabric
from scalefab.fabric.query import (
    domain_bandwidth_bps,
    endpoint_bandwidth_bps,
    endpoint_plane_bandwidth_bps,
    endpoint_port,
    one_way_ps,
    plane_bandwidth_bps,
    serialisation_ps,
    switch_node,
)
from scalefab.fabric.spec import Fec

G = 10**9


def test_one_way_of_the_profile_budget(make_spec):
    fabric = build_fabric(make_spec())
    assert one_way_ps(fabric, 64) == 477_600 + 720
    assert one_way_ps(fabric, 104, path=7, src=63, dst=0) == 477_600 + 1_120
    assert one_way_ps(fabric, 2048) == 477_600 + 20_560


def test_idle_load_round_trip_of_the_profile(make_spec):
    fabric = build_fabric(make_spec())
    assert one_way_ps(fabric, 64) + int(fabric.node_memory_ps[1]) + one_way_ps(fabric, 104) == 1_107_040


def test_one_way_with_another_code_and_stated_links(make_spec):
    assert one_way_ps(build_fabric(make_spec(fec=Fec.RS544)), 64) == 478_320 + 2 * 12_800
    stated = make_spec(cables={"link_delay_ps": 50_000}, switches={"latency_ps": 200_000})
    assert one_way_ps(build_fabric(stated), 64) == 50_000 + 50_000 + 200_000 + 50_000 + 50_000 + 720


def test_long_frames_on_slow_ports_wait_for_their_own_end(make_spec):
    spec = make_spec(endpoints={"port_rate_bps": 100 * G}, switches={"port_rate_bps": 100 * G}, frame_max=9216)
    # RS-272 at 100G takes 12.8 ns more a link; 9224 B take 737.92 ns, longer than the switch's 250 ns
    assert one_way_ps(build_fabric(spec), 9216) == 50_000 + 76_600 + 737_920 + 76_600 + 737_920 + 50_000


def test_bandwidths(make_spec):
    fabric = build_fabric(make_spec(switches={"planes": 4, "radix": 128}))
    assert endpoint_bandwidth_bps(fabric) == endpoint_bandwidth_bps(fabric, 63) == 6_400 * G
    assert endpoint_plane_bandwidth_bps(fabric, 3) == 1_600 * G
    assert plane_bandwidth_bps(fabric, 0) == 64 * 1_600 * G
    assert domain_bandwidth_bps(fabric) == 64 * 6_400 * G
    assert serialisation_ps(fabric, 0, 2068) == 20_680


def test_no_such_place(make_spec):
    fabric = build_fabric(make_spec())
    assert switch_node(fabric, 7) == 71
    for ask in (lambda: switch_node(fabric, 8), lambda: endpoint_port(fabric, 64, 0), lambda: endpoint_port(fabric, 0, 8)):
        with pytest.raises(IndexError, match="of a fabric with"):
            ask()
