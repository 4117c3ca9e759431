import pytest

from scalefab.fabric.buffers import MAX_CREDITS, packet_credits
from scalefab.fabric.wiring import advice, check_wiring
from scalefab.protocol import cbfc

G = 10**9


def lines(spec):
    return [str(problem) for problem in check_wiring(spec)]


def test_64_gpus_fill_eight_switches(make_spec):
    assert check_wiring(make_spec()) == []
    assert advice(make_spec()) == ()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"endpoints": {"count": 65}},
            "fabric.gpus.count: each of the 8 switches needs 65 ports of 800 Gb/s, a 51.2T switch (ethx-switch-51.2t) has 64; "
            "expected at most 64 GPUs, switches with 65 ports or a second tier (fabric.spine)",
        ),
        (
            {"switches": {"planes": 2}},
            "fabric.gpus.count: each of the 2 switches needs 256 ports of 800 Gb/s, a 51.2T switch (ethx-switch-51.2t) has 64; "
            "expected at most 16 GPUs, 8 planes, switches with 256 ports or a second tier (fabric.spine)",
        ),
        (
            {"endpoints": {"count": 1024, "stacks": 1}, "switches": {"planes": 1, "name": ""}},
            "fabric.gpus.count: the switch needs 1024 ports of 800 Gb/s, a 51.2T switch has 64; "
            "expected at most 64 GPUs, switches with 1024 ports or a second tier (fabric.spine)",
        ),
        (
            {"switches": {"port_rate_bps": 400 * G, "radix": 128}},
            "fabric.switches.port_rate: switch ports run at 400 Gb/s, GPU ports at 800 Gb/s; "
            "expected the same rate at both ends of a cable",
        ),
        (
            {"endpoints": {"count": 16}, "switches": {"planes": 3}},
            "fabric.switches.planes: 3 planes do not share the ports evenly, a GPU has 8 ports (8 stacks x 1); "
            "expected planes: 1, 2, 4 or 8",
        ),
        (
            {"endpoints": {"stacks": 3, "ports_per_stack": 2}},
            "fabric.switches.planes: 8 planes, but a GPU has 6 ports (3 stacks x 2): 2 of the switches would reach no GPU; "
            "expected planes: 1, 2, 3 or 6",
        ),
        (
            {"endpoints": {"stacks": 1}},
            "fabric.switches.planes: 8 planes, but a GPU has 1 port (1 stack x 1): 7 of the switches would reach no GPU; "
            "expected planes: 1",
        ),
    ],
)
def test_what_does_not_fit(make_spec, changes, text):
    assert lines(make_spec(**changes)) == [text]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"endpoints": {"count": 1}}, "fabric.gpus.count: GPUs in the domain: 1; expected 2 .. 1024"),
        ({"endpoints": {"stacks": 0}}, "fabric.gpus.stacks: stacks of a GPU: 0; expected 1 .. 16"),
        ({"endpoints": {"ports_per_stack": 0}}, "fabric.gpus.ports_per_stack: ports of a stack: 0; expected 1 .. 4"),
        ({"switches": {"planes": 0}}, "fabric.switches.planes: planes: 0; expected 1 .. 64"),
        ({"switches": {"radix": 0}}, "fabric.switches.ports: ports of a switch: 0; expected a positive value"),
        ({"switches": {"latency_ps": -1}}, "fabric.switches.latency: latency -1 ps; expected 0 .. 1000000000000 ps"),
        ({"cables": {"length_mm": -1}}, "fabric.cables.length: length -1 mm; expected 0 .. 100000000 mm"),
        ({"cables": {"medium": "string"}}, "fabric.cables.medium: no medium 'string'; expected one of twinax, fiber"),
        (
            {"cables": {"link_delay_ps": 10**13}},
            "fabric.cables.delay: delay of a link 10000000000000 ps; expected 0 .. 1000000000000 ps",
        ),
        ({"fec_depth": 17}, "fabric.fec_depth: interleave 17; expected 0 .. 16"),
        ({"frame_max": 63}, "fabric.frame_max: largest frame 63 B; expected 64 .. 9216 B"),
        ({"frame_max": 9217}, "fabric.frame_max: largest frame 9217 B; expected 64 .. 9216 B"),
        (
            {"frame_max": 127},
            "fabric.frame_max: largest frame 127 B leaves no room for data beside 64 B of headers; expected at least 128 B",
        ),
        ({"cbfc": {"credit_bytes": 31}}, "fabric.cbfc.credit: credit 31 B; expected 32 .. 2048 B"),
        ({"cbfc": {"overhead_bytes": 128}}, "fabric.cbfc.overhead: packet overhead 128 B; expected -16 .. 127 B"),
        ({"cbfc": {"overhead_bytes": -17}}, "fabric.cbfc.overhead: packet overhead -17 B; expected -16 .. 127 B"),
        (
            {"cbfc": {"cf_spacing_bytes": 799}},
            "fabric.cbfc.cf_spacing: CF_UPDATEs every 799 B of line time; expected at least 800 B",
        ),
        (
            {"switches": {"buffer_bytes": 2047}},
            "fabric.switches.buffer: 2047 B a VC are 31 credits of 64 B, a frame of 2048 B takes 32; expected at least 2048 B",
        ),
        (
            {"endpoints": {"buffer_bytes": 2**21}},
            "fabric.gpus.buffer: 2097152 B a VC are 32768 credits of 64 B, a link can count 32767; "
            "expected at most 2097088 B, or a larger credit",
        ),
    ],
)
def test_values_out_of_range(make_spec, changes, text):
    assert lines(make_spec(**changes)) == [text]


def test_limits_themselves_are_fine(make_spec):
    wide = {"count": 2, "stacks": 16, "ports_per_stack": 4, "buffer_bytes": 32_767 * 64}
    cbfc = {"overhead_bytes": 127, "cf_spacing_bytes": 800}
    spec = make_spec(endpoints=wide, switches={"planes": 64}, frame_max=9216, cbfc=cbfc)
    assert check_wiring(spec) == []
    assert check_wiring(make_spec(frame_max=128, cbfc={"overhead_bytes": -16, "credit_bytes": 32})) == []
    assert check_wiring(make_spec(switches={"buffer_bytes": 2048})) == []


def test_unknown_port_rate(make_spec):
    text = "no port runs at 300 Gb/s; expected one of 100 Gb/s, 200 Gb/s, 400 Gb/s, 800 Gb/s"
    spec = make_spec(endpoints={"port_rate_bps": 300 * G}, switches={"port_rate_bps": 300 * G})
    assert lines(spec) == [f"fabric.gpus.port_rate: {text}", f"fabric.switches.port_rate: {text}"]


def test_all_problems_at_once(make_spec):
    memory = make_spec().endpoints.memory
    bad = make_spec(
        endpoints={"count": 2000, "memory": type(memory)(bandwidth_Bps=0, latency_ps=-1, capacity_bytes=0), "tx_latency_ps": -1},
        switches={"planes": 5, "buffer_bytes": 0},
        cables={"length_mm": -5, "delay_ps": -1},
        cbfc={"credit_bytes": 0},
        phy_tx_ps=-1,
    )
    assert [problem.key for problem in check_wiring(bad)] == [
        "fabric.gpus.count",
        "fabric.gpus.tx_latency",
        "fabric.gpus.memory.bandwidth",
        "fabric.gpus.memory.latency",
        "fabric.gpus.memory.capacity",
        "fabric.cables.length",
        "fabric.cables.length",
        "fabric.phy_tx",
        "fabric.cbfc.credit",
        "fabric.switches.planes",
        "fabric.gpus.count",
    ]


def test_credits_are_counted_as_the_protocol_does():
    assert MAX_CREDITS == cbfc.LIMIT_MAX
    for size in (64, 65, 2047, 2048, 9216):
        for overhead in (-16, 0, 127):
            for credit in (32, 64, 2048):
                assert packet_credits(size, overhead, credit) == cbfc.credits_needed(size, overhead, credit)
