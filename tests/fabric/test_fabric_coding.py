"""Latency, loss and goodput of a link under each code."""

from __future__ import annotations

from fractions import Fraction

import pytest

from scalefab.errors import InputError
from scalefab.fabric.coding import (
    CURVE_FLOOR,
    LinkFigures,
    LinkQuestion,
    default_medium,
    default_phy_ps,
    link_figures,
    loss_curves,
)
from scalefab.protocol.fec_codes import Fec
from scalefab.protocol.fec_loss import LineErrors, frame_loss

G = 10**9


def question(
    rate_G: int = 800, ber: float = 1e-5, burst: float = 0.0, depth: int = 0, frame: int = 64, length_mm: int = 3_000
) -> LinkQuestion:
    return LinkQuestion(rate_G * G, LineErrors(ber, burst), depth, frame, length_mm, default_medium(), default_phy_ps())


def figures(asked: LinkQuestion) -> dict[Fec, LinkFigures]:
    return {row.fec: row for row in link_figures(asked)}


def test_block_times_at_depth_1() -> None:
    rows = figures(question(depth=1))
    assert (rows[Fec.RS272].block_ps, rows[Fec.RS544].block_ps) == (3_200, 6_400)
    assert rows[Fec.NONE].block_ps == rows[Fec.NONE].fec_ps == 0


@pytest.mark.parametrize(("rate_G", "depth", "fec_ps"), [(100, 1, 63_600), (200, 2, 63_600), (400, 2, 50_800), (800, 4, 50_800)])
def test_the_usual_depth_of_every_rate(rate_G: int, depth: int, fec_ps: int) -> None:
    row = figures(question(rate_G))[Fec.RS272]
    assert (row.depth, row.fec_ps) == (depth, fec_ps)


def test_link_delay_is_cable_phys_and_fec() -> None:
    assert default_phy_ps() == 100_000
    rows = figures(question())
    assert rows[Fec.RS272].link_ps == 13_800 + 100_000
    assert rows[Fec.RS544].link_ps == 13_800 + 100_000 + 12_800
    assert rows[Fec.NONE].link_ps == 13_800 + 100_000 - 50_800


def test_goodput_by_hand() -> None:
    """RS-272 with a loss of one in some thousand: 400G, 2048 B, depth 1."""
    asked = question(400, 3e-4, depth=1, frame=2048)
    row = figures(asked)[Fec.RS272]
    frame_ns = 2068 * 8 / 400
    loop_ns = 2 * (13.8 + 100 - 50.8 + 6.4 + 38) + 2 * frame_ns + 8 * 8 / 400
    loss = frame_loss(Fec.RS272, asked.line, 2068, 1)
    assert 1e-6 < loss < 1e-2
    assert row.frame_loss == loss
    assert row.replay_frames == pytest.approx(loop_ns / frame_ns)
    assert row.lossless_bps == pytest.approx(400e9 * 2048 / 2068)
    assert row.goodput_bps == pytest.approx(row.lossless_bps * (1 - loss) / (1 - loss + loss * loop_ns / frame_ns))
    assert row.seconds_a_loss == pytest.approx(frame_ns * 1e-9 / loss)


def test_goodput_ends_at_nothing_and_at_all() -> None:
    rows = figures(question(ber=0.2))
    assert all(row.frame_loss == 1.0 or row.fec is Fec.NONE for row in rows.values())
    assert rows[Fec.RS272].goodput_bps == 0.0
    for row in figures(question(ber=0.0)).values():
        assert row.frame_loss == 0.0
        assert row.goodput_bps == row.lossless_bps
        assert row.seconds_a_loss == float("inf")


def test_a_longer_cable_costs_more_a_loss() -> None:
    near, far = (figures(question(ber=1e-3, length_mm=length))[Fec.RS272] for length in (3_000, 500_000))
    assert near.frame_loss == far.frame_loss
    assert near.goodput_bps > far.goodput_bps


def test_curves_rise_and_pass_through_the_question() -> None:
    asked = question(ber=1e-11, burst=0.75, depth=1)
    curves = loss_curves(asked)
    for which, curve in curves.items():
        losses = [loss for _, loss in curve]
        assert losses == sorted(losses)
        assert losses[0] >= CURVE_FLOOR
        ber, loss = curve[len(curve) // 2]
        assert loss == frame_loss(which, LineErrors(ber, 0.75), 84, 1)
    assert curves[Fec.NONE][0][0] == pytest.approx(1e-11)  # further out than usual: the question lies there
    assert loss_curves(question(ber=0.0))[Fec.NONE][0][0] == pytest.approx(1e-10)


def test_all_that_is_wrong_at_once() -> None:
    with pytest.raises(InputError) as caught:
        LinkQuestion(50 * G, LineErrors(0.0), 17, 63, -1, "twinax", 0)
    assert [str(problem) for problem in caught.value.problems] == [
        "rate: 50 Gb/s is no port rate; expected one of 100Gb/s, 200Gb/s, 400Gb/s, 800Gb/s",
        "depth: interleave 17; expected 1 .. 16, or 0 for the usual one",
        "frame: frame of 63 B; expected 64 .. 9216 B",
        "length: cable of -1 mm; expected 0 .. 100000000 mm",
    ]


def test_time_of_a_frame_is_exact() -> None:
    assert question(800).frame_ps == Fraction(840)
