"""The list of faults: which rows an entry makes, in which order, and what cannot be."""

from __future__ import annotations

import dataclasses
import json

import pytest

from scalefab.errors import InputError
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.fabric.linkspec import ALL_VCS, AfterFlush, FlowControl, LinkSpec, LinkStart, VcMap
from scalefab.fabric.names import find_link, find_node
from scalefab.protocol.faults import threshold_of
from scalefab.protocol.fec_loss import LineErrors
from scalefab.protocol.limits import FrameAction
from scalefab.scenario import Scenario, parse_scenario
from scalefab.scenario.fabricfile import read_fabric
from scalefab.workload.spec import WorkloadSpec

TEXT = """\
scalefab: 1
fabric:
  gpus: {preset: ethx-gpu-8x800g, count: 8}
  switches: {preset: ethx-switch-51.2t, planes: 8}
workload:
  - all_to_all: {size: 1MiB}
faults:
"""
G = 10**9
US = 10**6


def read(*entries: str, more: tuple[str, ...] = ()) -> Scenario:
    return parse_scenario(TEXT + "".join(f"  - {{{entry}}}\n" for entry in entries), "x.yaml", more)


def messages(*entries: str, more: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(*entries, more=more)
    return [str(problem) for problem in caught.value.problems]


PLAIN = parse_scenario(TEXT.removesuffix("faults:\n"), "x.yaml")
UP = find_link(PLAIN.fabric, "gpu3.port0 -> switch").ports[0]
DOWN = find_link(PLAIN.fabric, "switch -> gpu3.port0").ports[0]
LINE = LineErrors(1e-5, 0.75)


@pytest.mark.parametrize(
    ("entry", "rows"),
    [
        ("link: gpu3.port0, down: on", [Fault(0, UP, FaultKind.LINK_DOWN)]),
        ("link: switch0.port3, down: on", [Fault(0, UP, FaultKind.LINK_DOWN)]),
        (
            "at: 1us, until: 3us, link: gpu3.port0, down: on",
            [Fault(US, UP, FaultKind.LINK_DOWN), Fault(3 * US, UP, FaultKind.LINK_UP)],
        ),
        (
            "at: 1us, link: gpu3.port0, flap: {period: 10us, down: 2us, count: 2}",
            [
                Fault(US, UP, FaultKind.LINK_DOWN),
                Fault(3 * US, UP, FaultKind.LINK_UP),
                Fault(11 * US, UP, FaultKind.LINK_DOWN),
                Fault(13 * US, UP, FaultKind.LINK_UP),
            ],
        ),
        (
            "at: 1us, until: 12us, link: gpu3.port0, flap: {period: 10us, down: 2us}",
            [
                Fault(US, UP, FaultKind.LINK_DOWN),
                Fault(3 * US, UP, FaultKind.LINK_UP),
                Fault(11 * US, UP, FaultKind.LINK_DOWN),
                Fault(12 * US, UP, FaultKind.LINK_UP),
            ],
        ),
        (
            "at: 1us, until: 9us, link: gpu3.port0, drain: 5us",
            [
                Fault(US, UP, FaultKind.PORT_DRAIN, 1),
                Fault(6 * US, UP, FaultKind.LINK_DOWN),
                Fault(9 * US, UP, FaultKind.LINK_UP),
                Fault(9 * US, UP, FaultKind.PORT_DRAIN, 0),
            ],
        ),
        (
            "link: gpu3.port0 -> switch, until: 1us, ber: 1e-5, burst: 0.75",
            [
                Fault(0, UP, FaultKind.LINE_ERRORS, line=LINE),
                Fault(US, UP, FaultKind.LINE_ERRORS, line=LineErrors(0.0)),
            ],
        ),
        (
            "link: gpu3.port0, loss: 0.25",
            [Fault(0, UP, FaultKind.LOSS_RATE, 1 << 60), Fault(0, DOWN, FaultKind.LOSS_RATE, 1 << 60)],
        ),
        (
            "link: GPU 3 -> switch plane 0, until: 2us, loss: 1.0",
            [Fault(0, UP, FaultKind.LOSS_RATE, 1 << 62), Fault(2 * US, UP, FaultKind.LOSS_RATE, 0)],
        ),
        ("link: gpu3.port0 -> switch, lose_frame: 7", [Fault(0, UP, FaultKind.LOSE_FRAME, 7)]),
        ("link: switch -> gpu3.port0, corrupt_frame: 1", [Fault(0, DOWN, FaultKind.CORRUPT_FRAME, 1)]),
        ("link: gpu3.port0 -> switch, at: 2us, poison_frame: 2", [Fault(2 * US, UP, FaultKind.POISON_FRAME, 2)]),
        (
            "link: switch -> gpu3.port0, until: 1us, lose_sets: 0.1",
            [Fault(0, DOWN, FaultKind.LOSE_SETS, threshold_of(0.1)), Fault(US, DOWN, FaultKind.LOSE_SETS, 0)],
        ),
        (
            "link: switch -> gpu3.port0, until: 1us, delay_sets: 3us",
            [Fault(0, DOWN, FaultKind.DELAY_SETS, 3 * US), Fault(US, DOWN, FaultKind.DELAY_SETS, 0)],
        ),
        (
            "link: gpu3.port0 -> switch, until: 1us, lanes: 3 of 4",
            [Fault(0, UP, FaultKind.RATE, 600 * G), Fault(US, UP, FaultKind.RATE, 800 * G)],
        ),
        (
            "link: gpu3.port0, rate: 100Gb/s",
            [Fault(0, UP, FaultKind.RATE, 100 * G), Fault(0, DOWN, FaultKind.RATE, 100 * G)],
        ),
        (
            "link: switch -> gpu3.port0, until: 1us, slow_receiver: 50Gb/s, vc: 2",
            [Fault(0, UP, FaultKind.DRAIN, 50 * G, 2), Fault(US, UP, FaultKind.DRAIN, -1, 2)],
        ),
        (
            "link: gpu3.port0 -> switch, until: 1us, ack_pause: on",
            [Fault(0, UP, FaultKind.ACK_PAUSE), Fault(US, UP, FaultKind.ACK_RESUME)],
        ),
    ],
)
def test_rows_of_one_link(entry: str, rows: list[Fault]) -> None:
    assert list(read(entry).faults) == rows


def test_rows_of_nodes_lists_and_all() -> None:
    fabric = PLAIN.fabric
    own = {port for port in range(fabric.ports) if fabric.port_node[port] == find_node(fabric, "gpu2")}
    both = own | {int(fabric.port_peer[port]) for port in own}
    assert {row.port for row in read("node: gpu2, loss: 0.1").faults} == both
    assert {row.port for row in read("node: gpu2, slow_receiver: 0Gb/s").faults} == own
    assert {row.port for row in read("node: gpu2, ack_pause: on").faults} == own
    assert {row.port for row in read("node: gpu2, down: on").faults} == own  # one row a link
    assert {row.port for row in read("all: on, lose_sets: 0.5").faults} == set(range(fabric.ports))
    gpus = {port for port in range(fabric.ports) if fabric.port_node[port] < fabric.endpoints}
    assert {row.port for row in read("all: on, slow_receiver: 1Gb/s").faults} == gpus
    assert {row.port for row in read("all: on, down: on").faults} == gpus
    rows = read("link: [gpu3.port0 -> switch, switch -> gpu3.port0, gpu3.port0 -> switch], loss: 0.1").faults
    assert [row.port for row in rows] == [UP, DOWN]


TIERS = """\
scalefab: 1
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 16, stacks: 2}
  switches: {planes: 2, ports: 8, leaves: 4, uplinks: 4, uplink_paths: 4}
  spine: {ports: 8}
workload:
  - all_to_all: {size: 1MiB}
faults:
"""


def test_a_plane_is_all_of_its_switches() -> None:
    fabric = PLAIN.fabric
    assert read("node: plane 2, down: on").faults == read("node: switch2, down: on").faults
    scenario = parse_scenario(TIERS + "  - {node: plane1, down: on}\n", "x.yaml")
    fabric = scenario.fabric
    hit = {int(fabric.port_link[row.port]) for row in scenario.faults}
    assert hit == {int(fabric.port_link[port]) for port in range(fabric.ports) if fabric.port_plane[port] == 1}
    assert len(scenario.faults) == len(hit)
    spine = parse_scenario(TIERS + "  - {node: plane1.spine0, down: on}\n", "x.yaml").faults
    leaf = parse_scenario(TIERS + "  - {node: [plane1.leaf0, plane1.leaf1], down: on}\n", "x.yaml").faults
    assert 0 < len(spine) < len(hit) and 0 < len(leaf) < len(hit)


RANDOM = "all: on, at: 10us, until: 2ms, random: {every: 5us, down: 3us}"


def spans(faults: tuple[Fault, ...]) -> dict[int, list[tuple[int, int]]]:
    """From when to when each port's link is down; DOWN and UP must take turns."""
    found: dict[int, list[tuple[int, int]]] = {}
    since: dict[int, int] = {}
    for row in faults:
        if row.kind is FaultKind.LINK_DOWN:
            assert row.port not in since
            since[row.port] = row.at_ps
        else:
            assert row.kind is FaultKind.LINK_UP
            found.setdefault(row.port, []).append((since.pop(row.port), row.at_ps))
    assert not since
    return found


def test_random_faults_come_at_their_rate_and_last_as_long_as_told() -> None:
    faults = read(RANDOM).faults
    assert list(faults) == sorted(faults, key=lambda row: row.at_ps)
    every = [span for of_port in spans(faults).values() for span in of_port]
    assert 330 < len(every) < 470  # 398 expected, 20 the standard deviation; few of 64 links are hit while down
    assert all(10 * US < begin < end <= 2000 * US and end - begin <= 3 * US for begin, end in every)
    assert sum(end - begin == 3 * US for begin, end in every) >= len(every) - 3
    assert len(spans(faults)) > 56  # of 64 links


def test_random_faults_follow_the_seed() -> None:
    faults = read(RANDOM).faults
    assert read(RANDOM).faults == faults
    other = RANDOM.replace("down: 3us", "down: 3us, seed: 1")
    assert read(other).faults == faults  # run.seed is 1
    assert read(other.replace("seed: 1", "seed: 2")).faults == read(RANDOM, more=("run.seed=2",)).faults != faults
    two = read(RANDOM.replace("all: on", "node: gpu0"), RANDOM.replace("all: on", "node: gpu1")).faults
    first = {row.at_ps for row in two if PLAIN.fabric.port_node[row.port] == 0}
    assert first and first.isdisjoint(row.at_ps for row in two if PLAIN.fabric.port_node[row.port] == 1)


def test_random_switches_go_down_whole() -> None:
    faults = read(RANDOM.replace("down: 3us", "down: 3us, of: switches").replace("all: on", "node: [switch1, plane 4]")).faults
    by_time: dict[int, set[int]] = {}
    for row in faults:
        if row.kind is FaultKind.LINK_DOWN:
            by_time.setdefault(row.at_ps, set()).add(row.port)
    planes = {frozenset(int(PLAIN.fabric.port_plane[port]) for port in ports) for ports in by_time.values()}
    assert planes == {frozenset({1}), frozenset({4})} and {len(ports) for ports in by_time.values()} == {8}
    assert len(read(RANDOM.replace("down: 3us", "down: 3us, of: switches")).faults) > len(faults)


def test_random_faults_are_read_back() -> None:
    scenario = read(RANDOM)
    assert parse_scenario(json.dumps(scenario.resolved), "y.yaml").faults == scenario.faults


def test_rows_stand_in_time_order_and_ends_before_beginnings() -> None:
    faults = read("at: 2us, until: 3us, link: gpu3.port0, down: on", "at: 1us, until: 2us, link: gpu3.port0, down: on").faults
    assert [(row.at_ps // US, row.kind) for row in faults] == [
        (1, FaultKind.LINK_DOWN),
        (2, FaultKind.LINK_UP),
        (2, FaultKind.LINK_DOWN),
        (3, FaultKind.LINK_UP),
    ]


def test_the_fabric_s_errors_come_back() -> None:
    (begin, end) = read("link: gpu3.port0 -> switch, until: 1us, ber: 1e-5", more=("fabric.ber=1e-9",)).faults
    assert (begin.line, end.line) == (LineErrors(1e-5), LineErrors(1e-9))


@pytest.mark.parametrize(
    ("entries", "texts"),
    [
        (["link: gpu3.port0"], ["x.yaml:8: faults[0]: holds no fault; expected exactly one of "]),
        (
            ["loss: 0.1, ber: 1e-4"],
            [
                "x.yaml:8: faults[0]: holds several faults at once (ber, loss); expected one entry each",
                "x.yaml:8: faults[0]: says nowhere; expected exactly one of link, node, all",
            ],
        ),
        (
            ["link: gpu1.port0, node: gpu1, down: on"],
            ["x.yaml:8: faults[0]: says where more than once (link, node); expected exactly one of link, node, all"],
        ),
        (["all: off, down: on"], ["x.yaml:8: faults[0].all: says nothing when it is off; expected on, or no such line"]),
        (
            ["link: gpu1.port0, lose: 3"],
            ["x.yaml:8: faults[0].lose: unknown setting; did you mean 'loss'?"],
        ),
        (
            ["link: gpu1.port0 -> switch, lose_frame: 3, until: 3us"],
            ["x.yaml:8: faults[0].until: is read by nothing, a frame is met once; expected no until"],
        ),
        (
            ["link: gpu1.port0, at: 3us, until: 3us, down: on"],
            ["x.yaml:8: faults[0].until: is not after 'at'; expected a later time"],
        ),
        (
            ["link: gpu1.port0, down: on, vc: 3, burst: 0.5"],
            [
                "x.yaml:8: faults[0].burst: is read by nothing without 'ber'; expected ber beside it",
                "x.yaml:8: faults[0].vc: is read by nothing without 'slow_receiver'; expected slow_receiver beside it",
            ],
        ),
        (
            ["link: gpu1.port0, flap: {period: 3us, down: 1us}"],
            ["x.yaml:8: faults[0].flap.count: is missing, and so is 'until'; expected one of the two"],
        ),
        (
            ["link: gpu1.port0, until: 9us, flap: {period: 3us, down: 1us, count: 2}"],
            ["x.yaml:8: faults[0].until: is read by nothing, 'flap.count' says how often; expected one of the two"],
        ),
        (
            ["link: gpu1.port0, flap: {period: 3us, down: 3us, count: 2}"],
            ["x.yaml:8: faults[0].flap.down: is no shorter than the period; expected a part of the period"],
        ),
        (
            ["link: gpu1.port0, lanes: 4 of 4"],
            [
                "x.yaml:8: faults[0].lanes: '4 of 4' is no share of a port's lanes; expected fewer than all and one at least, "
                "such as '2 of 4'"
            ],
        ),
        (
            ["link: [gpu1.port0, gpu9.port0], down: on"],
            ["x.yaml:8: faults[0].link[1]: there is no GPU 9 in the domain; expected GPU 0 .. 7"],
        ),
        (["link: [], down: on"], ["x.yaml:8: faults[0].link: names nothing; expected at least one name"]),
        (['link: "a\\nb", down: on'], ["x.yaml:8: faults[0].link: holds a name that nothing has; expected names such as"]),
        (
            ["link: gpu1.port0 -> switch, down: on"],
            ["x.yaml:8: faults[0].link: names one direction, a link goes down in both; expected GPU 1, without an arrow"],
        ),
        (
            ["link: gpu1.port0, lose_frame: 1"],
            [
                "x.yaml:8: faults[0].link: names both directions of a link, this fault has one; "
                "expected GPU 1 -> switch plane 0 or switch plane 0 -> GPU 1"
            ],
        ),
        (
            ["link: gpu1.port0 -> switch, slow_receiver: 1Gb/s", "node: switch2, slow_receiver: 1Gb/s"],
            [
                "x.yaml:8: faults[0].link: switch plane 0 is a switch, which sends on at line rate; expected a GPU that receives",
                "x.yaml:9: faults[1].node: switch plane 2 is a switch, which sends on at line rate; expected a GPU that receives",
            ],
        ),
        (
            ["link: gpu1.port0, rate: 800Gb/s"],
            ["x.yaml:8: faults[0].rate: is no slower than the line, 800Gb/s; expected a lower rate"],
        ),
        (
            ["at: 1us, until: 5us, link: gpu3.port0, down: on", "at: 4us, node: gpu3, flap: {period: 3us, down: 1us, count: 2}"],
            [
                "x.yaml:9: faults[1].flap: begins while faults[0] holds GPU 3 -> switch plane 0; "
                "expected times apart, or another link"
            ],
        ),
        (
            ["all: on, lanes: 1 of 2", "at: 4us, link: gpu0.port0, rate: 100Gb/s"],
            [
                "x.yaml:9: faults[1].rate: begins while faults[0] holds GPU 0 -> switch plane 0, which has no 'until'; "
                "expected times apart, or another link"
            ],
        ),
        (
            ["node: gpu1, slow_receiver: 1Gb/s", "at: 4us, node: gpu1, slow_receiver: 2Gb/s, vc: 1"],
            ["x.yaml:9: faults[1].slow_receiver: begins while faults[0] holds GPU 1 -> switch plane 0, which has no 'until'"],
        ),
        (
            ["at: 1us, until: 5us, link: gpu1.port0, drain: 4us"],
            ["x.yaml:8: faults[0].until: comes before the link goes down, at 'at' + 'drain'; expected a later time"],
        ),
        (
            ["all: on, random: {every: 5us, down: 1us}"],
            ["x.yaml:8: faults[0].until: is missing, random faults have no end of their own; expected when the last one is over"],
        ),
        (
            ["all: on, until: 1ms, random: {every: 5us, down: 1us, of: planes}"],
            ["x.yaml:8: faults[0].random.of: 'planes' is not known; expected one of links, switches"],
        ),
        (
            ["link: gpu1.port0, until: 1ms, random: {every: 5us, down: 1us, of: switches}"],
            ["x.yaml:8: faults[0].random.of: takes whole switches, and 'link' names a link; expected node, or all"],
        ),
        (
            ["node: [switch0, gpu3], until: 1ms, random: {every: 5us, down: 1us, of: switches}"],
            ["x.yaml:8: faults[0].node: GPU 3 is no switch; expected a switch or a plane"],
        ),
        (
            ["all: on, until: 1s, random: {every: 5us, down: 1us}"],
            ["x.yaml:8: faults[0].random.every: draws more than 10000 faults; expected a longer 'every', or an earlier 'until'"],
        ),
        (
            ["all: on, until: 1ms, random: {every: 5us, down: 1us}", "at: 900us, link: gpu3.port0, drain: 5us"],
            [
                "x.yaml:9: faults[1].drain: begins while faults[0] holds GPU 3 -> switch plane 0; "
                "expected times apart, or another link"
            ],
        ),
        (
            ["all: on, flap: {period: 3us, down: 1us, count: 100000}"],
            ["x.yaml:8: faults[0]: makes more than 1000000 changes of links together with those before; expected fewer"],
        ),
        (
            ["link: gpu1.port0, until: 1s, flap: {period: 3us, down: 1us}"],
            ["x.yaml:8: faults[0].flap: goes down more than 100000 times; expected a longer period, or an earlier 'until'"],
        ),
    ],
)
def test_what_cannot_be(entries: list[str], texts: list[str]) -> None:
    found = messages(*entries)
    assert len(found) == len(texts)
    for line, text in zip(found, texts, strict=True):
        assert line.startswith(text)


def test_times_and_places_apart_may_set_the_same() -> None:
    entries = ["at: 1us, until: 2us, link: gpu3.port0, down: on", "at: 2us, link: gpu3.port0, down: on"]
    entries += ["link: gpu3.port0 -> switch, loss: 0.1", "link: switch -> gpu3.port0, loss: 0.2", "link: gpu3.port0, ber: 1e-9"]
    entries += ["node: gpu1, slow_receiver: 1Gb/s, vc: 0", "node: gpu1, slow_receiver: 2Gb/s, vc: 1"]
    entries += ["link: gpu3.port0 -> switch, lose_frame: 3", "link: gpu3.port0 -> switch, lose_frame: 4"]
    assert len(read(*entries).faults) == 3 + 2 + 2 + 8 + 8 + 2


def test_faults_that_the_rest_of_the_file_does_not_bear() -> None:
    off = ("fabric.llr.enabled=off",)
    for kind in ("down: on", "loss: 0.1", "ber: 1e-5", "flap: {period: 3us, down: 1us, count: 2}"):
        assert read(f"link: gpu1.port0, {kind}", more=off).faults  # RH sends again what is lost
    said = "x.yaml:8: faults[0].ack_pause: is read by nothing, LLR is off; expected fabric.llr.enabled: on"
    assert messages("node: gpu1, ack_pause: on", more=off) == [said]
    assert read("link: gpu1.port0, lose_sets: 0.1", more=off).faults  # CF_UPDATEs
    said = "x.yaml:8: faults[0].lose_sets: is read by nothing, no port sends ordered sets; expected LLR or CBFC"
    assert messages("link: gpu1.port0, lose_sets: 0.1", more=(*off, "fabric.flow_control=none")) == [said]
    said = "x.yaml:8: faults[0].at: never happens, the run ends at 5us; expected an earlier time"
    assert messages("at: 5us, link: gpu1.port0, down: on", more=("run.until=5us",)) == [said]


def test_faults_are_in_the_resolved_configuration_and_read_back() -> None:
    scenario = read("at: 1us, until: 2us, link: gpu3.port0, down: on", "node: gpu1, lanes: 2 of 4")
    assert scenario.resolved["faults"] == [
        {"at": "1us", "until": "2us", "link": ["gpu3.port0"], "down": True},
        {"at": "0ps", "node": ["gpu1"], "lanes": "2 of 4"},
    ]
    assert str(scenario.origins["faults[0].at"].where) == "x.yaml:8"
    again = parse_scenario(json.dumps(scenario.resolved), "y.yaml")
    assert again.faults == scenario.faults
    assert "faults" not in PLAIN.resolved and PLAIN.faults == ()


def test_a_fabric_file_carries_its_faults(tmp_path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(TEXT + "  - {link: gpu3.port0 -> switch, loss: 0.1}\n")
    setup = read_fabric(str(file))
    assert len(setup.faults) == 1
    workload = WorkloadSpec(PLAIN.workload.phases)
    assert setup.scenario(workload).faults == setup.faults


LINKS = """\
  llr:
    frames_max: 900
    bytes_max: 100kB
    replay_timer: 7us
    replay_count: 255
    data_age: 0ps
    pcs_lost: 80us
    spacing: 4096B
    init_action: discard
    flush_action: best_effort
    start: init
    eligible_vcs: [2, 0]
  cbfc: {refresh: 1MB, cc_interval: 0ps, credits: [1024, 1024, 2048, 256], pool: 4096, lossless_vcs: [0, 1, 3], credit: 128B}
  vc_map: one
"""


def with_links(text: str, *more: str) -> Scenario:
    before, _, after = TEXT.removesuffix("faults:\n").partition("workload:")
    return parse_scenario(before + text + "workload:" + after, "x.yaml", more)


def test_settings_of_links_become_what_ports_are_told() -> None:
    spec = with_links(LINKS, "fabric.gpus.response_queue=64KiB").fabric_spec
    llr, cbfc = spec.link.llr, spec.link.cbfc
    assert (llr.on, llr.outstanding_frames_max, llr.outstanding_bytes_max) == (True, 900, 100_000)
    assert (llr.replay_timer_ps, llr.replay_count_max, llr.data_age_ps, llr.pcs_lost_ps) == (7 * US, 255, 0, 80 * US)
    assert (llr.ctlos_spacing_bytes, llr.eligible_vcs, llr.start) == (4_096, 0b101, LinkStart.INIT)
    assert (llr.init_action, llr.flush_action) == (FrameAction.DISCARD, FrameAction.BEST_EFFORT)
    assert (cbfc.refresh_bytes, cbfc.cc_interval_ps, cbfc.limits, cbfc.pool) == (10**6, 0, (1024, 1024, 2048, 256), 4096)
    assert (cbfc.lossless_vcs, cbfc.credit_bytes) == (0b1011, 128)
    assert spec.link.vc_map is VcMap.ONE
    assert spec.endpoints.response_queue_bytes == 64 << 10
    assert PLAIN.fabric_spec.link == LinkSpec()
    assert PLAIN.fabric_spec.link.llr.eligible_vcs == ALL_VCS
    flush = with_links("  llr: {re_init_on_flush: on}\n").fabric_spec.link.llr
    assert flush.after_flush is AfterFlush.RE_INIT


def test_what_a_mode_does_not_read_is_refused_and_not_resolved() -> None:
    pfc = with_links("  flow_control: pfc\n  pfc: {xoff: 128KiB, xon: 64KiB, quanta: 1000}\n")
    assert pfc.fabric_spec.link.flow_control is FlowControl.PFC
    assert dataclasses.astuple(pfc.fabric_spec.link.pfc) == (128 << 10, 64 << 10, 1000)
    off = with_links("  llr: {enabled: off}\n  flow_control: none\n")
    assert not off.fabric_spec.link.llr.on
    assert "cbfc" not in pfc.resolved["fabric"] and {"cbfc", "pfc"} & set(off.resolved["fabric"]) == set()
    assert off.resolved["fabric"]["llr"] == {"enabled": False}
    for scenario in (pfc, off, with_links(LINKS)):
        assert parse_scenario(json.dumps(scenario.resolved), "y.yaml").fabric_spec == scenario.fabric_spec
    with pytest.raises(InputError) as caught:
        with_links(
            "  llr: {enabled: off, replay_count: 3}\n  flow_control: none\n  cbfc: {credit: 64B}\n"
            "  pfc: {xoff: 1KiB, xon: 2KiB}\n"
        )
    assert str(caught.value).splitlines() == [
        "x.yaml:5: fabric.llr.replay_count: is read by nothing, LLR is off; expected enabled: on",
        "x.yaml:8: fabric.pfc.xon: is above 'xoff', 1KiB; expected at most 1KiB",
    ]
    with pytest.raises(InputError) as caught:
        with_links("  flow_control: none\n  cbfc: {credit: 64B, pool: 12}\n  pfc: {xoff: 1KiB}\n")
    assert [str(problem) for problem in caught.value.problems] == [
        "x.yaml:6: fabric.cbfc.credit: is read by nothing, 'flow_control' is none; expected flow_control: cbfc",
        "x.yaml:6: fabric.cbfc.pool: is read by nothing, 'flow_control' is none; expected flow_control: cbfc",
        "x.yaml:7: fabric.pfc.xoff: is read by nothing, 'flow_control' is none; expected flow_control: pfc",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  llr: {eligible_vcs: [0, 4]}\n", "fabric.llr.eligible_vcs: names VC 4; expected VCs 0 .. 3"),
        ("  llr: {eligible_vcs: [0, 0]}\n", "fabric.llr.eligible_vcs: names a VC twice; expected each VC once"),
        ("  cbfc: {credits: [1, 2]}\n", "fabric.cbfc.credits: has 2 entries; expected 4 numbers, 1 to 32767 each"),
        ("  cbfc: {credits: [0, 1, 1, 1]}\n", "fabric.cbfc.credits: is out of range; expected 4 numbers, 1 to 32767 each"),
        ("  flow_control: credit\n", "fabric.flow_control: 'credit' is not known; expected one of cbfc, pfc, none"),
        ("  flow_contrl: pfc\n", "fabric.flow_contrl: unknown setting; did you mean 'flow_control'?"),
        ("  llr: {repaly_timer: 3us}\n", "fabric.llr.repaly_timer: unknown setting; did you mean 'replay_timer'?"),
    ],
)
def test_messages_of_links(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        with_links(text)
    assert message in str(caught.value)


def test_head_room_is_told_beside_the_scenario() -> None:
    scenario = with_links("  cables: {length: 500m, medium: fiber}\n", "fabric.switches.buffer=1MiB")
    (warning,) = scenario.warnings
    assert warning == (
        "fabric.gpus.buffer: 256 KiB a VC fill 49 % of a link to a GPU (500 m of fiber, 800 Gb/s); 531032B would fill it"
    )


@pytest.mark.parametrize(
    ("entry", "settings", "broken"),
    [
        ("until: 19us, link: gpu3.port0, down: on", (), ""),
        ("link: gpu3.port0, down: on", (), ""),  # it stays down: nothing is kept
        ("until: 20us, link: gpu3.port0, down: on", (), "down: 20us without a signal is not below fabric.llr.data_age (20us)"),
        (
            "link: gpu3.port0, flap: {period: 90us, down: 60us, count: 2}",
            (),
            "flap: 60us without a signal is not below fabric.llr.pcs_lost (50us) and fabric.llr.data_age (20us)",
        ),
        ("until: 60us, link: gpu3.port0, down: on", ("fabric.llr.pcs_lost=0ps", "fabric.llr.replay_count=255"), ""),
        (
            "until: 9us, link: gpu3.port0, down: on",
            ("fabric.llr.replay_timer=2us", "fabric.llr.replay_count=1"),
            "down: 9us without a signal is not below fabric.llr.data_age (4us)",
        ),
    ],
)
def test_outages_that_llr_does_not_survive_are_told(entry: str, settings: tuple[str, ...], broken: str) -> None:
    said = f"faults[0].{broken}: the link gives up, and RH sends what it kept again; longer times there would keep it"
    assert read(entry, more=settings).warnings == ((said,) if broken else ())
