import pytest

from scalefab import units
from scalefab.errors import InputError
from scalefab.fabric import catalogue
from scalefab.fabric.catalogue import PresetKind
from scalefab.fabric.timing import MEDIA, PORT_RATES_BPS
from scalefab.fabric.wiring import PORTS_PER_STACK, STACKS

G = 10**9
GPUS, SWITCHES = catalogue.names()["gpus"], catalogue.names()["switches"]


@pytest.mark.parametrize("name", GPUS)
def test_every_gpu_row_is_usable_and_sourced(name):
    preset = catalogue.gpu(name)
    settings = preset.settings
    assert set(settings) == {"stacks", "ports_per_stack", "port_rate", "memory"}
    assert set(settings["memory"]) == {"bandwidth", "capacity"}
    assert STACKS[0] <= settings["stacks"] <= STACKS[1]
    assert PORTS_PER_STACK[0] <= settings["ports_per_stack"] <= PORTS_PER_STACK[1]
    assert units.parse_rate_bps(settings["port_rate"]) in PORT_RATES_BPS
    assert units.parse_bandwidth_Bps(settings["memory"]["bandwidth"]) > 10**12
    assert units.parse_size_bytes(settings["memory"]["capacity"]) > 10**10
    assert preset.source
    assert preset.note
    assert (preset.kind is PresetKind.REMEMBERED) == ("remembered" in preset.source)
    assert (preset.kind is PresetKind.GENERIC) == ("own" in preset.source)


PUBLISHED_GBps = [  # name, one direction, how far the ports may be off
    ("a100-80gb-sxm", 300, 0),
    ("h100-sxm", 450, 0),
    ("h800-sxm", 200, 0),
    ("h20", 450, 0),
    ("h200-sxm", 450, 0),
    ("b200-sxm", 900, 0),
    ("b300-sxm", 900, 0),
    ("gb200", 900, 0),
    ("gb300", 900, 0),
    ("mi300x", 448, 0.005),
    ("mi325x", 448, 0.005),
    ("mi355x", 538, 0.025),
    ("gaudi3", 525, 0),
    ("ascend-910c", 392, 0.0205),
]


@pytest.mark.parametrize(("name", "published_GBps", "within"), PUBLISHED_GBps)
def test_ports_stand_for_the_published_bandwidth(name, published_GBps, within):
    settings = catalogue.gpu(name).settings
    ports = settings["stacks"] * settings["ports_per_stack"]
    GBps = ports * units.parse_rate_bps(settings["port_rate"]) / 8e9
    assert abs(GBps / published_GBps - 1) <= within


def test_every_real_gpu_is_checked_against_its_bandwidth():
    real = {name for name in GPUS if catalogue.gpu(name).kind is not PresetKind.GENERIC}
    assert real == {name for name, _, _ in PUBLISHED_GBps}
    assert {name for name in real if catalogue.gpu(name).ethernet} == {"gaudi3"}


@pytest.mark.parametrize(
    ("name", "ports"),  # at 100, 200, 400, 800 Gb/s
    [
        ("ethx-switch-25.6t", [256, 128, 64, 32]),
        ("ethx-switch-51.2t", [256, 256, 128, 64]),
        ("ethx-switch-102.4t", [512, 512, 256, 128]),
        ("tomahawk-ultra", [512, 256, 128, 64]),
        ("tomahawk-5", [256, 256, 128, 64]),
        ("tomahawk-6", [512, 512, 256, 128]),
        ("flat-1024", [1024, 1024, 1024, 1024]),
    ],
)
def test_ports_of_a_switch_follow_from_its_capacity(name, ports):
    assert [catalogue.switch_ports(name, rate) for rate in PORT_RATES_BPS] == ports
    assert [catalogue.switch_ports(catalogue.switch(name), rate) for rate in PORT_RATES_BPS] == ports


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_row_is_usable_and_sourced(name):
    preset = catalogue.switch(name)
    unpublished = name in {"tomahawk-5", "tomahawk-6"}
    assert set(preset.settings) == (set() if unpublished else {"latency"})
    assert unpublished or units.parse_time_ps(preset.settings["latency"]) == 250_000
    assert preset.source
    assert preset.note
    assert (preset.kind is PresetKind.IDEAL) == (name == "flat-1024")
    # a latency that nobody published must be called so
    assert ("No latency figure" in preset.source) == unpublished


def test_settings_are_copies():
    catalogue.gpu("gb200").settings["memory"]["bandwidth"] = "1B/s"
    catalogue.switch("flat-1024").settings["latency"] = "1s"
    catalogue.defaults()["gpus"]["tx_latency"] = "1s"
    assert catalogue.gpu("gb200").settings["memory"]["bandwidth"] == "8TB/s"
    assert catalogue.switch("flat-1024").settings["latency"] == "250ns"
    assert catalogue.defaults()["gpus"]["tx_latency"] == "50ns"


def test_default_buffers_of_the_profile():
    KiB = 1024
    sizes = [units.parse_size_bytes(catalogue.default_buffer(rate)) for rate in PORT_RATES_BPS]
    assert sizes == [32 * KiB, 64 * KiB, 128 * KiB, 256 * KiB]
    with pytest.raises(InputError, match=r"no default buffer for ports of 50 Gb/s; expected one of 100 Gb/s"):
        catalogue.default_buffer(50 * G)


def test_defaults_are_the_profile_budget():
    defaults = catalogue.defaults()
    assert set(defaults) == {"gpus", "switches", "cables", "phy_tx", "phy_rx"}
    assert defaults["gpus"] == {"tx_latency": "50ns", "rx_latency": "50ns", "memory": {"latency": "150ns"}}
    assert defaults["switches"] == {"latency": "250ns"}
    assert defaults["cables"]["medium"] in MEDIA
    assert units.parse_length_mm(defaults["cables"]["length"]) == 3_000
    assert (defaults["phy_tx"], defaults["phy_rx"]) == ("50ns", "50ns")


@pytest.mark.parametrize(
    ("look_up", "name", "near", "key"),
    [
        (catalogue.gpu, "gb20", "gb200", "fabric.gpus.preset"),
        (catalogue.gpu, "ETHX-GPU-8x800G", "ethx-gpu-8x800g", "fabric.gpus.preset"),
        (catalogue.switch, "tomahawk-utra", "tomahawk-ultra", "fabric.switches.preset"),
        (catalogue.switch, "zzz", "", "fabric.switches.preset"),
    ],
)
def test_unknown_name(look_up, name, near, key):
    with pytest.raises(InputError) as caught:
        look_up(name)
    (problem,) = caught.value.problems
    assert (problem.near, problem.key) == (near, key)
    assert f"'{name}' in the catalogue" in problem.message
    assert problem.expected.startswith("one of eth")


def test_ports_at_no_rate():
    with pytest.raises(InputError, match=r"fabric\.switches\.port_rate: a port of 0 b/s; expected a positive rate"):
        catalogue.switch_ports("tomahawk-5", 0)
