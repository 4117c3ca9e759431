"""Closed forms of go-back-N goodput under frame loss, to hold simulations against.

They count in frame times (the line time of one frame) and expect a saturated sender whose window fills the round trip,
independent losses with probability p a frame sent, and no loss of answers but where one says so.

`go_back_n`
    The textbook form (S. Lin and D. J. Costello, *Error Control Coding*, ARQ chapter: throughput P / (P + (1 - P) N) with
    P = 1 - p): each lost frame costs W frame times, from its first bit to that of its repetition; (1 - p) / (1 - p + p W).

`llr`
    LLR is go-back-N with two ways to find a loss (`own` extension of the same renewal argument). A frame's first loss is found by
    the next frame, and answered by a NACK: W frame times. If its *repetition* is lost too, the receiver has sent its NACK already
    and says nothing; the sender's timer finds it: V frame times, V much larger than W. So a delivered frame takes
    1 + p W + p^2 / (1 - p) V frame times; with V = W that is the textbook form.

`rh`
    RH tells the loss of a repetition too (a new run that lost its head), so every loss costs W frame times, as in the textbook
    form (this one is an `own` extension of it). Besides, the frames that would have shown the gap may be lost as well,
    p / (1 - p) of them on average; and if the NACK is lost (probability q), a frame ahead that comes 5 us after it brings the
    next one: R frame times, q / (1 - q) times on average. The window must last for W + R frames, else the retry timer ends it.

`cbfc`
    Throughput of one VC whose credits hold W frames: credits / (rate x round trip), at most 1; in the round trip is the wait for
    the next CF_UPDATE. That wait is what the spacing leaves of each turn, so the form is a recurrence (max-plus), not one
    quotient: frame k starts when the line is free and the CF_UPDATE has come that tells of frame k - W; a CF_UPDATE leaves when
    something is freed and the spacing is over, and tells of all that is freed by then (`own`).
"""

from __future__ import annotations

from .limits import line_time_ps
from .profile import ORDERED_SET_BYTES, WIRE_EXTRA_BYTES


def go_back_n(loss: float, wasted_frames: float) -> float:
    """Return goodput / line rate of textbook go-back-N.

    Parameters
    ----------
    loss
        Probability that a frame is lost, 0 <= loss < 1.
    wasted_frames
        Frame times from the first bit of a lost frame to the first bit of its repetition (W).
    """
    return (1 - loss) / (1 - loss + loss * wasted_frames)


def llr(loss: float, nack_frames: float, timer_frames: float) -> float:
    """Return goodput / line rate of LLR.

    Parameters
    ----------
    loss
        Probability that a frame is lost, 0 <= loss < 1.
    nack_frames
        Frame times that a loss costs when a NACK tells it (W).
    timer_frames
        Frame times that the loss of a repetition costs, told by the replay timer (V).
    """
    return 1 / (1 + loss * nack_frames + loss * loss / (1 - loss) * timer_frames)


def rh(loss: float, nack_frames: float, nack_loss: float = 0.0, again_frames: float = 0.0) -> float:
    """Return goodput / line rate of RH, end to end, with LLR off.

    Parameters
    ----------
    loss
        Probability that a DATA frame is lost on its way through all links, 0 <= loss < 1.
    nack_frames
        Frame times from the first bit of a lost frame to the first bit of its repetition (W), if its follower arrives.
    nack_loss
        Probability that a NACK frame is lost on its way back (q), 0 <= nack_loss < 1.
    again_frames
        Frame times between two NACKs of one gap (R): 5 us, and up to a frame more.
    """
    return 1 / (1 + loss / (1 - loss) * (nack_frames + loss / (1 - loss) + nack_loss / (1 - nack_loss) * again_frames))


def nack_frames(size_bytes: int, rate_bps: int, one_way_ps: int, lost: bool = True) -> int:
    """Return W of a saturated link of equal frames, in whole frame times.

    The lost frame, the next one (which shows the gap; a frame that comes corrupted shows it itself), to the other end and back,
    one ordered set; then the sender finishes the frame that it has begun, and repeats.

    Parameters
    ----------
    size_bytes
        Frame, DA .. FCS.
    rate_bps
        Line rate.
    one_way_ps
        Last bit sent to frame judged, and NACK sent to NACK read: cable, PHY, FEC.
    lost
        Whether the frame vanishes; False = it comes with a bad FCS.
    """
    frame_ps = line_time_ps(size_bytes + WIRE_EXTRA_BYTES, rate_bps)
    answer_ps = 2 * one_way_ps + line_time_ps(ORDERED_SET_BYTES, rate_bps)
    return (2 if lost else 1) + -(-answer_ps // frame_ps)


def timer_frames(size_bytes: int, rate_bps: int, timer_ps: int, replayed_frames: int) -> float:
    """Return V: the rest of the replay whose first frame was lost, then the replay timer."""
    frame_ps = line_time_ps(size_bytes + WIRE_EXTRA_BYTES, rate_bps)
    return replayed_frames + timer_ps / frame_ps


def cbfc(window_frames: int, frame_ps: int, freed_ps: int, back_ps: int, spacing_ps: int) -> float:
    """Return the throughput of one VC / line rate, when credits are all that holds a saturated sender back.

    Parameters
    ----------
    window_frames
        Frames that the credits hold: credits // credits a frame (rounding to whole credits is in there), at least 1.
    frame_ps
        Line time of a frame, preamble and gap too.
    freed_ps
        From a frame's first bit on the line to its last byte's leaving the receive buffer.
    back_ps
        Line time of an ordered set and the link's delay.
    spacing_ps
        Least time between two CF_UPDATEs.
    """
    frames = 40 * window_frames + 400
    start = [0] * frames
    told_at = [0] * frames  # when the sender hears that frame k has left
    waiting: list[int] = []  # frames freed and not told yet
    leave_ps = -spacing_ps
    for k in range(frames):
        free = start[k - 1] + frame_ps if k else 0
        if k >= window_frames:
            wanted = k - window_frames
            while told_at[wanted] == 0:
                leave_ps = max(start[waiting[0]] + freed_ps, leave_ps + spacing_ps)
                while waiting and start[waiting[0]] + freed_ps <= leave_ps:
                    told_at[waiting.pop(0)] = leave_ps + back_ps
            free = max(free, told_at[wanted])
        start[k] = free
        waiting.append(k)
    turns = 20 * window_frames  # whole turns: inside one frames come in bursts
    return min(1.0, turns * frame_ps / (start[-1] - start[-1 - turns]))
