"""What cannot fill its links is told before a run, with the number that would do; links that cannot work at all are refused."""

from __future__ import annotations

import pytest
from fabric_domain import G, spec_of

from scalefab.fabric.headroom import full_rate_buffer_bytes, headroom, link_needs
from scalefab.fabric.linkspec import FlowControl, LinkSpec
from scalefab.fabric.spec import CableSpec, SpineSpec
from scalefab.fabric.timing import cable_delay_ps
from scalefab.fabric.wiring import advice, check_wiring

KIB = 1 << 10
LARGE = {"buffer_bytes": 32_767 * 64}


def far(metres: int = 500, **changes):
    """A domain with long cables of 5 ns a metre, the profile's figure, and buffers that hold what they need."""
    cables = {"length_mm": metres * 1_000, "medium": "fiber", "delay_ps": metres * 5_000}
    return spec_of(**{"cables": cables, "switches": LARGE, "endpoints": LARGE, **changes})


def test_a_domain_at_its_defaults_has_what_it_needs() -> None:
    for rate, kib in ((800, 256), (400, 128), (200, 64), (100, 32)):
        ends = {"port_rate_bps": rate * G, "buffer_bytes": kib * KIB}
        assert headroom(spec_of(endpoints=ends, switches=ends)) == ()


@pytest.mark.parametrize(("rate", "kilobytes"), [(800, 44), (400, 33), (200, 27), (100, 24)])
def test_buffers_of_gpus_are_the_profile_s_figures(rate: int, kilobytes: int) -> None:
    spec = spec_of(switches={"port_rate_bps": rate * G}, endpoints={"port_rate_bps": rate * G})
    to_gpu, to_switch = link_needs(spec)
    needed = full_rate_buffer_bytes(spec, to_gpu)
    assert kilobytes - 1 < needed / 1000 <= kilobytes
    held = 250_000 * rate * G // (8 * 10**12)  # a switch keeps each frame for its latency
    assert full_rate_buffer_bytes(spec, to_switch) == needed + held


def test_a_stated_delay_stands_for_cable_and_phys() -> None:
    stated = spec_of(cables={"link_delay_ps": 113_800})
    assert [need.shape for need in link_needs(stated)] != []
    assert [full_rate_buffer_bytes(stated, need) for need in link_needs(stated)] == [
        full_rate_buffer_bytes(spec_of(), need) for need in link_needs(spec_of())
    ]


GPU_LINK = "a link to a GPU (500 m of fiber, 800 Gb/s)"
SWITCH_LINK = "a link from a GPU (500 m of fiber, 800 Gb/s)"


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({}, ()),
        (
            {"endpoints": {"buffer_bytes": 32 * KIB}},
            (f"fabric.gpus.buffer: 32 KiB a VC fill 6 % of {GPU_LINK}; 541032B would fill it",),
        ),
        (
            {"switches": {"buffer_bytes": 541_032}},
            (f"fabric.switches.buffer: 528.35 KiB a VC fill 95 % of {SWITCH_LINK}; 566032B would fill it",),
        ),
        ({"switches": {"buffer_bytes": 566_032}, "endpoints": {"buffer_bytes": 541_032}}, ()),
        (
            {"cbfc": {"credit_bytes": 2_048, "overhead_bytes": 1}, "endpoints": {"buffer_bytes": 541_032}},
            # a frame of 2048 B takes two credits of 2048 B
            (f"fabric.gpus.buffer: 528.35 KiB a VC fill 50 % of {GPU_LINK}; 1082064B would fill it",),
        ),
        (
            {"cbfc": {"limits": (512, 9_000, 9_000, 64)}},
            (f"fabric.cbfc.credits: 512 credits of VC 0 fill 5 % of {SWITCH_LINK}; 8877 would fill it",),
        ),
        ({"cbfc": {"limits": (8_877, 8_877, 8_877, 64)}}, ()),
        (
            {"cbfc": {"limits": (512, 9_000, 9_000, 64), "lossless_vcs": 0b1110}},
            ("fabric.cbfc.lossless_vcs: frames of VC 0 are lost where there is no room; RH sends them again",),
        ),
        (
            {"cbfc": {"pool": 4_000}},
            (f"fabric.cbfc.pool: 4000 credits of a port fill 45 % of {SWITCH_LINK}; 8877 would fill it",),
        ),
        (
            {"llr": {"outstanding_bytes_max": 135_000}},
            (f"fabric.llr.bytes_max: 131.84 KiB fill 25 % of {GPU_LINK}; 526184B would fill it",),
        ),
        ({"llr": {"outstanding_bytes_max": 526_184, "outstanding_frames_max": 6_265}}, ()),
        (
            {"llr": {"outstanding_frames_max": 1_608}},
            (f"fabric.llr.frames_max: 1608 frames of 64 B fill 25 % of {GPU_LINK}; 6265 would fill it",),
        ),
        (
            {"llr": {"outstanding_frames_max": 100}},
            (f"fabric.llr.frames_max: 100 frames of 64 B fill 1 % of {GPU_LINK}, of 2048 B 39 %; 6265 would fill it",),
        ),
        (
            {"llr": {"replay_timer_ps": 5_000_000}},
            (
                f"fabric.llr.replay_timer: 5 µs are less than two round trips of {GPU_LINK}: frames are sent again while their "
                "ACK is on its way; 10524ns would do",
            ),
        ),
        ({"llr": {"replay_timer_ps": 10_524_000}}, ()),
        (
            {"llr": {"data_age_ps": 20_000_000}},
            ("fabric.llr.data_age: 20 µs are over before 3 replays of 10.524 µs are: links give up early; 42095ns would do",),
        ),
        ({"llr": {"data_age_ps": 20_000_000, "replay_count_max": 255}}, ()),
        ({"llr": {"on": False, "outstanding_bytes_max": 4_096, "replay_timer_ps": 1}}, ()),
        (
            {"link": LinkSpec(flow_control=FlowControl.NONE), "endpoints": {"buffer_bytes": 32 * KIB}},
            ("fabric.flow_control: frames that find no room in a receive buffer are lost, RH sends them again",),
        ),
    ],
)
def test_warnings_with_the_number_that_would_do(changes, texts) -> None:
    assert headroom(far(**changes)) == texts


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({}, ()),
        (
            {"endpoints": {"buffer_bytes": 256 * KIB}},
            (
                "fabric.gpus.buffer: 256 KiB a VC are less than what still comes after XOFF on a link to a GPU (500 m of fiber, "
                "800 Gb/s), 511.93 KiB: frames are lost; 1048440B would do",
            ),
        ),
        ({"endpoints": {"buffer_bytes": 1_048_440}}, ()),
        (
            {"pfc": {"xoff_bytes": 1_600_000}},
            tuple(
                f"fabric.pfc.xoff: 1.53 MiB leaves 485.44 KiB of {key} (2 MiB), and 511.93 KiB still come after XOFF on {name}: "
                "frames are lost; 1572868B would do"
                for key, name in (("fabric.gpus.buffer", GPU_LINK), ("fabric.switches.buffer", SWITCH_LINK))
            ),
        ),
        ({"pfc": {"xoff_bytes": 1_572_868}}, ()),
        (
            {"pfc": {"xoff_bytes": 3_000_000}, "switches": {"buffer_bytes": 1 << 25}},
            (
                "fabric.pfc.xoff: 2.86 MiB is beyond fabric.gpus.buffer (2 MiB), and 511.93 KiB still come after XOFF on "
                f"{GPU_LINK}: frames are lost; 1572868B would do",
            ),
        ),
        (
            {"pfc": {"quanta": 10}},
            ("fabric.pfc.quanta: a pause of 10 quanta is over before the next one can come: frames are lost; 68 would do",),
        ),
        ({"pfc": {"quanta": 68}}, ()),
    ],
)
def test_warnings_of_pfc(changes, texts) -> None:
    assert headroom(far(link=LinkSpec(flow_control=FlowControl.PFC), **changes)) == texts


def test_what_a_link_cannot_count() -> None:
    (text, *_) = headroom(far(10_000))  # 10 MB on the way
    assert text.endswith("10041032B would fill it, with fabric.cbfc.credit=307B or more, for a link counts 32767 credits")
    (text, *_) = headroom(far(100_000))
    assert text.endswith("the most that a link can count, 32767 credits of 2048 B, fill 67 %")
    assert any(text.endswith("a link numbers 524287 at most, larger frames fill more") for text in headroom(far(100_000)))


def test_what_a_port_keeps_at_most() -> None:
    texts = headroom(far(2_000_000))  # 10 ms a way, 2 GB
    assert any(text.startswith("fabric.llr.bytes_max: 1 GiB, the most that a port keeps, fill 53 % of a link") for text in texts)
    assert not any(text.startswith("fabric.llr.bytes_max") for text in headroom(far(1_000_000)))


def test_long_cables_to_spines_are_told_apart() -> None:
    spine = SpineSpec("s", 32, 64, 800 * G, 250_000, 256 * KIB, CableSpec(500_000, "fiber", cable_delay_ps(500_000, "fiber")))
    switches = {"planes": 1, "leaves": 32, "uplinks": 32, "uplink_paths": 16, "spine": spine}
    spec = spec_of(endpoints={"count": 1024, "stacks": 1}, switches=switches)
    texts = advice(spec)
    assert [text.split(":")[0] for text in texts] == ["fabric.switches.buffer", "fabric.spine.buffer"]
    assert "of a link from a spine (500 m of fiber, 800 Gb/s)" in texts[0]
    assert "of a link to a spine (500 m of fiber, 800 Gb/s)" in texts[1]


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        (
            {"cbfc": {"limits": (31, 4_096, 4_096, 5_000)}},
            [
                "fabric.cbfc.credits: 31 credits of 64 B for VC 0, a frame of 2048 B takes 32; expected at least 32",
                "fabric.cbfc.credits: 5000 credits of 64 B for VC 3, fabric.gpus.buffer holds 4096; expected at most 4096",
            ],
        ),
        (
            {"cbfc": {"pool": 31}},
            ["fabric.cbfc.pool: 31 credits of 64 B for a port, a frame of 2048 B takes 32; expected at least 32"],
        ),
        (
            {"llr": {"outstanding_bytes_max": 2_047}},
            ["fabric.llr.bytes_max: 2047 B keep no frame of 2048 B, so none could be sent; expected at least 2048 B"],
        ),
        (
            {"link": LinkSpec(flow_control=FlowControl.PFC), "switches": {"buffer_bytes": 2_000}},
            ["fabric.switches.buffer: 2000 B a VC hold no frame of 2048 B; expected at least 2048 B"],
        ),
        ({"link": LinkSpec(flow_control=FlowControl.NONE), "switches": {"buffer_bytes": 1 << 22}}, []),
        ({"cbfc": {"limits": (4_096,) * 4}, "switches": {"buffer_bytes": 1 << 22}}, []),  # more than a link counts, less granted
    ],
)
def test_links_that_cannot_work(changes, texts) -> None:
    assert [str(problem) for problem in check_wiring(spec_of(**changes))] == texts
