from dataclasses import fields, replace

import numpy as np
import pytest
from fabric_domain import spec_of
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.errors import InfeasibleError, InputError
from scalefab.fabric.arrays import Fabric
from scalefab.fabric.build import build_fabric
from scalefab.fabric.spec import FabricSpec, NodeKind
from scalefab.fabric.timing import PORT_RATES_BPS
from scalefab.fabric.wiring import check_wiring

G = 10**9


def test_layout_of_a_small_domain(make_spec):
    # 3 endpoints with 2 stacks x 2 ports on 2 planes: endpoint ports 0..11, switch ports 12..17 and 18..23
    fabric = build_fabric(make_spec(endpoints={"count": 3, "stacks": 2, "ports_per_stack": 2}, switches={"planes": 2}))
    assert (fabric.nodes, fabric.ports, fabric.paths, fabric.planes, fabric.endpoints) == (5, 24, 4, 2, 3)
    assert fabric.node_kind.tolist() == [NodeKind.GPU] * 3 + [NodeKind.SWITCH] * 2
    assert fabric.node_first_port.tolist() == [0, 4, 8, 12, 18]
    assert fabric.node_ports.tolist() == [4, 4, 4, 6, 6]
    # switch 0 (plane 0): path 0 of endpoints 0, 1, 2, then path 2 of them
    assert fabric.port_peer[12:18].tolist() == [0, 4, 8, 2, 6, 10]
    assert fabric.port_peer[18:24].tolist() == [1, 5, 9, 3, 7, 11]
    assert fabric.path_plane.tolist() == [0, 1, 0, 1]
    assert fabric.path_stack.tolist() == [0, 0, 1, 1]
    assert fabric.path_port.tolist() == [0, 1, 0, 1]
    assert [fabric.path_id(k) for k in range(4)] == [0, 16, 64, 80]


def test_values_of_nodes_and_ports(make_spec):
    spec = make_spec(
        endpoints={"buffer_bytes": 128 * 1024, "rx_latency_ps": 40_000}, switches={"latency_ps": 200_000}, phy_rx_ps=20_000
    )
    fabric = build_fabric(spec)
    gpu, switch = slice(0, 64), slice(64, 72)
    for array, at_gpu, at_switch in (
        (fabric.node_tx_ps, 50_000, 0),
        (fabric.node_rx_ps, 40_000, 0),
        (fabric.node_latency_ps, 0, 200_000),
        (fabric.node_memory_ps, 150_000, 0),
        (fabric.node_memory_Bps, 8 * 10**12, 0),
    ):
        assert set(array[gpu].tolist()) == {at_gpu}
        assert set(array[switch].tolist()) == {at_switch}
    from_gpu = fabric.port_node < 64
    assert set(fabric.port_delay_ps[from_gpu].tolist()) == {63_800}
    assert set(fabric.port_delay_ps[~from_gpu].tolist()) == {33_800}
    assert fabric.port_buffer_bytes.shape == (fabric.ports, 4)
    assert set(fabric.port_buffer_bytes[from_gpu].ravel().tolist()) == {128 * 1024}
    assert set(fabric.port_buffer_bytes[~from_gpu].ravel().tolist()) == {256 * 1024}
    assert set(fabric.port_ps_num.tolist()) == {10}
    assert set(fabric.port_ps_den.tolist()) == {1}


def test_declared_types_and_read_only(make_spec):
    fabric = build_fabric(make_spec())
    dtypes = {"I1": np.int8, "I2": np.int16, "I4": np.int32, "I8": np.int64}
    arrays = [field for field in fields(Fabric) if str(field.type) in dtypes]
    assert len(arrays) == 26
    for field in arrays:
        array = getattr(fabric, field.name)
        assert array.dtype == dtypes[str(field.type)], field.name
        assert array.flags.c_contiguous, field.name
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_largest_domain_builds(make_spec):
    spec = make_spec(
        endpoints={"count": 1024, "stacks": 16, "ports_per_stack": 4, "port_rate_bps": 200 * G},
        switches={"planes": 64, "radix": 1024, "port_rate_bps": 200 * G},
    )
    fabric = build_fabric(spec)
    assert (fabric.ports, fabric.nodes) == (2 * 1024 * 64, 1024 + 64)
    assert fabric.path_id(63) == 0b1111_11_0000


def test_out_of_range_is_an_input_error_with_everything_in_it(make_spec):
    with pytest.raises(InputError) as caught:
        build_fabric(make_spec(frame_max=10, endpoints={"count": 65}))
    assert not isinstance(caught.value, InfeasibleError)
    assert [problem.key for problem in caught.value.problems] == ["fabric.frame_max", "fabric.gpus.count"]


def test_what_does_not_fit_is_infeasible(make_spec):
    with pytest.raises(InfeasibleError, match="each of the 8 switches needs 65 ports"):
        build_fabric(make_spec(endpoints={"count": 65}))


@st.composite
def specs(draw) -> FabricSpec:
    stacks, ports_per_stack = draw(st.integers(1, 16)), draw(st.integers(1, 4))
    ports = stacks * ports_per_stack
    planes = draw(st.sampled_from([n for n in range(1, ports + 1) if ports % n == 0]))
    count, rate = draw(st.integers(2, 40)), draw(st.sampled_from(PORT_RATES_BPS))
    endpoints = {"count": count, "stacks": stacks, "ports_per_stack": ports_per_stack, "port_rate_bps": rate}
    switches = {"planes": planes, "radix": count * ports // planes + draw(st.integers(0, 3)), "port_rate_bps": rate}
    return spec_of(endpoints=endpoints, switches=switches)


@given(specs())
@settings(max_examples=60, deadline=None)
def test_any_domain_is_wired_soundly(spec):
    assert check_wiring(spec) == []
    fabric = build_fabric(spec)
    every = np.arange(fabric.ports)
    peer, node = fabric.port_peer, fabric.port_node

    assert np.array_equal(peer[peer], every)  # the peer of my peer is I
    assert np.array_equal(np.sort(peer), every)
    assert np.array_equal(fabric.port_link, fabric.port_link[peer])  # one cable, one number
    assert np.bincount(fabric.port_link).tolist() == [2] * (fabric.ports // 2)
    assert np.array_equal(fabric.port_plane, fabric.port_plane[peer])
    assert np.all((node < fabric.endpoints) != (node[peer] < fabric.endpoints))  # cables join endpoints and switches

    # ports of a node are contiguous and cover all
    assert fabric.node_first_port[0] == 0
    assert np.array_equal(fabric.node_first_port[1:], np.cumsum(fabric.node_ports)[:-1])
    assert np.array_equal(node, np.repeat(np.arange(fabric.nodes), fabric.node_ports))
    assert np.all(fabric.node_ports[fabric.endpoints :] <= spec.switches.radix)

    # in each plane every endpoint is on the one switch, once a path, in (path, endpoint) order
    for path in range(fabric.paths):
        plane = int(fabric.path_plane[path])
        ends = peer[fabric.node_first_port[: fabric.endpoints] + path]
        assert set(node[ends].tolist()) == {fabric.endpoints + plane}
        assert np.array_equal(ends, ends[0] + np.arange(fabric.endpoints))
        assert np.all(fabric.port_plane[ends] == plane)
    ids = [fabric.path_id(path) for path in range(fabric.paths)]
    assert ids == sorted(set(ids))
    assert max(ids) < 1024


@given(specs(), st.integers(1, 200))
@settings(max_examples=40, deadline=None)
def test_one_port_short_is_never_wired(spec, missing):
    needed = spec.endpoints.count * spec.endpoints.ports // spec.switches.planes
    radix = max(1, needed - missing)
    short = replace(spec, switches=replace(spec.switches, radix=radix))
    problems = check_wiring(short)
    assert [problem.key for problem in problems] == ["fabric.gpus.count"]
    assert f"needs {needed} ports" in problems[0].message
    with pytest.raises(InfeasibleError):
        build_fabric(short)
