"""LLR, link-layer retry of one link direction: sender and receiver tables of open profile section 2, as records and transitions.

Sender
------
================ ========================================== ===========================================================
state            event                                      action -> state
================ ========================================== ===========================================================
OFF              link up, LLR negotiated                    new init_data, next = una = first_seq -> INIT
INIT             every 1 us                                 send INIT(first_seq, init_data)
INIT             INIT_ECHO, same init_data and seq          -> ADVANCE; another echo is ignored
ADVANCE          eligible frame within both limits          send with next, keep a copy, next += 1; else it waits
ADVANCE, REPLAY  ACK n, una - 1 <= n < next                 free up to n; if any: una = n + 1, replays = 0, timer restarts
ADVANCE, REPLAY  NACK n, same range                         as ACK n; if una < next: replays += 1 -> REPLAY from una
any              ACK, NACK out of range                     counted, ignored
ADVANCE          replay timer                               replays += 1 -> REPLAY from una
REPLAY           line free                                  resend una .. next - 1 in order, timer restarts -> ADVANCE
ADVANCE, REPLAY  replays would exceed the limit; oldest     drop copies -> FLUSH
                 copy too old; PCS lost too long
FLUSH            re-init wanted                             at once -> INIT, else the link is down to the layers above
INIT, FLUSH      new eligible frame                         by init_action, flush_action: waits, discarded, or best effort
any              link down                                  drop copies -> OFF
================ ========================================== ===========================================================

Receiver
--------
================ ========================================== ===========================================================
state            event                                      action -> state
================ ========================================== ===========================================================
OFF              frame with a sequence                      drop
any              INIT                                       expected = seq, INIT_ECHO due -> SEND_ACKS
SEND_ACKS        good, d = 0                                accept, expected += 1, ACK due
SEND_ACKS        poisoned, d = 0                            pass on poisoned, expected += 1, ACK due, no NACK
SEND_ACKS        bad FCS with d = 0; anything with d ahead  drop -> SEND_NACK
SEND_ACKS        d behind                                   drop, duplicate counted, ACK due
SEND_NACK        next frame boundary                        send NACK(expected - 1) -> NACK_SENT
NACK_SENT        d = 0, good or poisoned                    accept, ACK due -> SEND_ACKS
NACK_SENT        else                                       drop, nothing sent; the sender's timer covers a lost NACK
any but OFF      ineligible frame                           good: accept, bad: drop; state as it is
================ ========================================== ===========================================================

Distances are modulo 2^``bits`` (20 on the wire; an argument, so that a 3-bit space can be explored): 0 equal, below half ahead,
else behind. The table does not say what becomes of a frame that arrives in SEND_NACK before the NACK is out: it is judged as in
NACK_SENT (`own`). If it is the missing one (the sender's timer was first), it is accepted and the NACK is not needed any more.

An INIT begins the space anew whatever its init_data, so no frame of a port may overtake its own INIT: it would be delivered
twice (``scalefab explore llr --plant overtaken-init`` shows how). On a cable nothing does.

Counters have the meaning of their SAI names: MISSING_SEQ and DUPLICATE_SEQ whatever FCS says, OK / BAD / POISONED of all
sequenced frames, RX_REPLAY = starts of a replay that the receiver could see (a number not ahead of the last one). What the driver
gives: the time, sizes freed, when the oldest copy was first sent (`on_age`), since when PCS is lost (`on_pcs_lost`), init_data.

States, sequence and ordered sets: `sib` (UEC 1.0 LLR as documented by SAI / SONiC); rules not in the public tables and the
default of frames: `own`, reasons in the profile.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled, inlined
from .limits import FrameAction

SEQUENCE_BITS = 20
INIT_INTERVAL_PS = 1_000_000
REPLAY_TIMER_PS = 5_000_000
REPLAY_COUNT_MAX = 3
NO_REPLAY_LIMIT = 255
DATA_AGE_PS = 20_000_000
PCS_LOST_PS = 50_000_000
CTLOS_SPACING_BYTES = 2_048

SENDER = np.dtype(
    [
        ("state", np.int32),  # TxState
        ("next_seq", np.int32),
        ("una_seq", np.int32),
        ("first_seq", np.int32),
        ("init_data", np.int32),
        ("bytes_out", np.int32),  # of copies kept
        ("frames_max", np.int32),
        ("bytes_max", np.int32),
        ("replays", np.int32),  # of the oldest copy, since an ACK last freed one
        ("replays_max", np.int32),
        ("replay_seq", np.int32),  # next to resend
        ("tx_replay", np.int32),  # LLR_TX_REPLAY: replays begun
        ("ack_errors", np.int32),  # LLR_RX_ACK_NACK_SEQ_ERROR
        ("flushes", np.int32),
        ("timer_ps", np.int64),  # when the replay timer was started, -1 = stopped
        ("timer_limit_ps", np.int64),
        ("age_limit_ps", np.int64),  # data age, 0 = off
        ("pcs_limit_ps", np.int64),  # PCS lost, 0 = off
    ],
    align=True,
)
"""The sending end of one direction; copies and their sizes are the driver's."""

RECEIVER = np.dtype(
    [
        ("state", np.int32),  # RxState
        ("expected", np.int32),
        ("ack_due", np.int32),
        ("echo_due", np.int32),
        ("echo_seq", np.int32),
        ("echo_data", np.int32),
        ("good", np.int32),  # LLR_RX_EXPECTED_SEQ_GOOD
        ("bad", np.int32),  # LLR_RX_EXPECTED_SEQ_BAD
        ("poisoned", np.int32),  # LLR_RX_EXPECTED_SEQ_POISONED
        ("missing", np.int32),  # LLR_RX_MISSING_SEQ
        ("duplicate", np.int32),  # LLR_RX_DUPLICATE_SEQ
        ("replays", np.int32),  # LLR_RX_REPLAY: starts of a replay, as far as they can be seen
        ("last_seq", np.int32),  # of the last frame, whatever became of it
        ("rx_ok", np.int32),  # LLR_RX_OK
        ("rx_bad", np.int32),  # LLR_RX_BAD
        ("rx_poisoned", np.int32),  # LLR_RX_POISONED
    ],
    align=True,
)
"""The receiving end of one direction."""


class TxState(IntEnum):
    """States of the sending end."""

    OFF = 0
    INIT = 1
    ADVANCE = 2
    REPLAY = 3
    FLUSH = 4


class NewFrame(IntEnum):
    """What the sender does now with a new eligible frame."""

    WAIT = 0
    DISCARD = 1
    AS_INELIGIBLE = 2  #: without a sequence number and without a copy
    SEND = 3


class RxState(IntEnum):
    """States of the receiving end."""

    OFF = 0
    SEND_ACKS = 1
    SEND_NACK = 2
    NACK_SENT = 3


class Quality(IntEnum):
    """What FCS says of a frame."""

    GOOD = 0
    BAD = 1
    POISONED = 2


class Verdict(IntEnum):
    """What the receiver does with a frame."""

    DROP = 0
    ACCEPT = 1
    ACCEPT_POISONED = 2


class Reply(IntEnum):
    """Control ordered set that the receiver sends next."""

    NOTHING = 0
    ACK = 1
    NACK = 2
    INIT_ECHO = 4


TX_OFF, TX_INIT, TX_ADVANCE, TX_REPLAY, TX_FLUSH = range(5)
RX_OFF, RX_SEND_ACKS, RX_SEND_NACK, RX_NACK_SENT = range(4)
GOOD, BAD, POISONED = range(3)
DROP, ACCEPT, ACCEPT_POISONED = range(3)
BLOCK, DISCARD, BEST_EFFORT = (int(action) for action in FrameAction)
NEW_WAIT, NEW_DISCARD, NEW_AS_INELIGIBLE, NEW_SEND = range(4)
NO_REPLY, ACK, NACK = range(3)
INIT_ECHO = 4


@compiled
def outstanding(t: Any, bits: int) -> int:
    """Return the copies that the sender keeps."""
    return (t.next_seq - t.una_seq) & ((1 << bits) - 1)


@compiled
def on_link_up(t: Any, first_seq: int, init_data: int) -> None:
    """Begin the INIT handshake: the sender has no copies and a new init_data."""
    t.state = TX_INIT
    t.first_seq = first_seq
    t.next_seq = first_seq
    t.una_seq = first_seq
    t.init_data = init_data
    t.bytes_out = 0
    t.replays = 0
    t.timer_ps = -1


@compiled
def on_link_down(t: Any) -> None:
    """Stop: copies are dropped, nothing is sent until the next handshake."""
    t.state = TX_OFF
    t.una_seq = t.next_seq
    t.bytes_out = 0
    t.timer_ps = -1


@compiled
def on_re_init(t: Any, init_data: int) -> bool:
    """Leave FLUSH for a new handshake (re_init_on_flush); return whether it did."""
    if t.state != TX_FLUSH:
        return False
    on_link_up(t, t.first_seq, init_data)
    return True


@compiled
def on_init_echo(t: Any, seq: int, init_data: int) -> bool:
    """Take an INIT_ECHO; return whether it ended the handshake."""
    if t.state != TX_INIT or seq != t.first_seq or init_data != t.init_data:
        return False
    t.state = TX_ADVANCE
    return True


@inlined
def may_send(t: Any, size_bytes: int, bits: int) -> bool:
    """Return whether a new eligible frame may go: ADVANCE and within both limits."""
    return t.state == TX_ADVANCE and outstanding(t, bits) + 1 <= t.frames_max and t.bytes_out + size_bytes <= t.bytes_max


@compiled
def on_new_frame(t: Any, size_bytes: int, init_action: int, flush_action: int, bits: int) -> int:
    """Say what becomes of a new eligible frame now: `NewFrame`; the actions are `FrameAction`."""
    if t.state == TX_INIT or t.state == TX_FLUSH:
        action = init_action if t.state == TX_INIT else flush_action
        if action == BLOCK:
            return NEW_WAIT
        return NEW_DISCARD if action == DISCARD else NEW_AS_INELIGIBLE
    return NEW_SEND if may_send(t, size_bytes, bits) else NEW_WAIT


@inlined
def on_send(t: Any, size_bytes: int, bits: int, now_ps: int) -> int:
    """Give a new frame its sequence number; the driver keeps a copy."""
    seq = t.next_seq
    if seq == t.una_seq:  # nothing was outstanding: the timer starts
        t.timer_ps = now_ps
    t.next_seq = (seq + 1) & ((1 << bits) - 1)
    t.bytes_out += size_bytes
    return seq


@compiled
def freed_by(t: Any, seq: int, bits: int) -> int:
    """Return how many copies an ACK or NACK of ``seq`` frees, -1 when it is out of range."""
    n = (seq - t.una_seq + 1) & ((1 << bits) - 1)
    return n if n <= outstanding(t, bits) else -1


@compiled
def on_ack(t: Any, seq: int, freed_bytes: int, bits: int, now_ps: int) -> int:
    """Take an ACK; ``freed_bytes`` = sizes of the copies that `freed_by` names. Return the copies freed, -1 = ignored."""
    n = freed_by(t, seq, bits)
    if n < 0:  # counted in any state
        t.ack_errors += 1
        return -1
    if t.state != TX_ADVANCE and t.state != TX_REPLAY:
        return -1
    if n > 0:
        mask = (1 << bits) - 1
        if t.state == TX_REPLAY:
            behind = (t.replay_seq - t.una_seq) & mask
            if behind < n:  # copies about to be resent are acknowledged: go on behind them
                t.replay_seq = (seq + 1) & mask
        t.una_seq = (seq + 1) & mask
        t.bytes_out -= freed_bytes
        t.replays = 0
        t.timer_ps = now_ps if t.una_seq != t.next_seq else -1
        if t.una_seq == t.next_seq and t.state == TX_REPLAY:
            t.state = TX_ADVANCE
    return n


@compiled
def begin_replay(t: Any) -> None:
    """Go back to the oldest copy, or give up when it has been replayed often enough."""
    if t.replays_max != NO_REPLAY_LIMIT and t.replays >= t.replays_max:
        on_flush(t)
        return
    t.replays += 1
    t.tx_replay += 1
    t.replay_seq = t.una_seq
    t.state = TX_REPLAY


@compiled
def on_nack(t: Any, seq: int, freed_bytes: int, bits: int, now_ps: int) -> int:
    """Take a NACK: as an ACK, then replay what is left. Return the copies freed, -1 = ignored."""
    n = on_ack(t, seq, freed_bytes, bits, now_ps)
    if n >= 0 and t.una_seq != t.next_seq:
        begin_replay(t)
    return n


@compiled
def timer_due_ps(t: Any) -> int:
    """Return when the replay timer fires, -1 = never as things are."""
    return t.timer_ps + t.timer_limit_ps if t.state == TX_ADVANCE and t.timer_ps >= 0 else -1


@compiled
def on_timer(t: Any, now_ps: int) -> bool:
    """Let the replay timer fire if it is due; return whether it did."""
    due_ps = timer_due_ps(t)
    if due_ps < 0 or now_ps < due_ps:
        return False
    begin_replay(t)
    return True


@compiled
def age_due_ps(t: Any, oldest_ps: int) -> int:
    """Return when the oldest copy, first sent at ``oldest_ps``, gets older than data age allows; -1 = never as things are."""
    if t.age_limit_ps <= 0 or t.una_seq == t.next_seq or (t.state != TX_ADVANCE and t.state != TX_REPLAY):
        return -1
    return oldest_ps + t.age_limit_ps + 1


@compiled
def on_age(t: Any, oldest_ps: int, now_ps: int) -> bool:
    """Give up if the oldest copy is too old; return whether it was."""
    due_ps = age_due_ps(t, oldest_ps)
    if due_ps < 0 or now_ps < due_ps:
        return False
    on_flush(t)
    return True


@compiled
def pcs_due_ps(t: Any, since_ps: int) -> int:
    """Return when a PCS lost since ``since_ps`` (-1 = it is there) has been lost too long; -1 = never as things are."""
    if t.pcs_limit_ps <= 0 or since_ps < 0 or (t.state != TX_ADVANCE and t.state != TX_REPLAY):
        return -1
    return since_ps + t.pcs_limit_ps + 1


@compiled
def on_pcs_lost(t: Any, since_ps: int, now_ps: int) -> bool:
    """Give up if the PCS has been lost too long; return whether it had."""
    due_ps = pcs_due_ps(t, since_ps)
    if due_ps < 0 or now_ps < due_ps:
        return False
    on_flush(t)
    return True


@compiled
def next_replay(t: Any, bits: int, now_ps: int) -> int:
    """Return the sequence number of the copy to resend now, -1 when no replay runs. After the last one the sender goes on."""
    if t.state != TX_REPLAY:
        return -1
    seq = t.replay_seq
    t.replay_seq = (seq + 1) & ((1 << bits) - 1)
    if t.replay_seq == t.next_seq:
        t.timer_ps = now_ps
        t.state = TX_ADVANCE
    return seq


@compiled
def on_flush(t: Any) -> None:
    """Drop all copies: replayed too often, too old, or the PCS was lost too long."""
    t.state = TX_FLUSH
    t.una_seq = t.next_seq
    t.bytes_out = 0
    t.timer_ps = -1
    t.flushes += 1


@compiled
def on_init(r: Any, seq: int, init_data: int) -> None:
    """Take an INIT: the space begins at ``seq``, an INIT_ECHO is due."""
    r.state = RX_SEND_ACKS
    r.expected = seq
    r.last_seq = seq - 1
    r.ack_due = 0
    r.echo_due = 1
    r.echo_seq = seq
    r.echo_data = init_data


@compiled
def on_receiver_down(r: Any) -> None:
    """Stop: sequenced frames are dropped until the next INIT, nothing is due."""
    r.state = RX_OFF
    r.ack_due = 0
    r.echo_due = 0


@compiled
def count_frame(r: Any, seq: int, quality: int, bits: int) -> None:
    """Count a sequenced frame by its FCS, and the start of a replay: a number that is not ahead of the last one."""
    mask = (1 << bits) - 1
    if quality == GOOD:
        r.rx_ok += 1
    elif quality == BAD:
        r.rx_bad += 1
    else:
        r.rx_poisoned += 1
    step = (seq - r.last_seq) & mask
    if step == 0 or step >= 1 << (bits - 1):
        r.replays += 1
    r.last_seq = seq


@compiled
def on_frame(r: Any, seq: int, quality: int, bits: int) -> int:
    """Judge a frame that carries a sequence number: `Verdict`."""
    if r.state == RX_OFF:
        return DROP
    count_frame(r, seq, quality, bits)
    mask = (1 << bits) - 1
    d = (seq - r.expected) & mask
    if d == 0 and quality != BAD:
        r.expected = (seq + 1) & mask
        r.ack_due = 1
        r.state = RX_SEND_ACKS
        if quality == POISONED:
            r.poisoned += 1
            return ACCEPT_POISONED
        r.good += 1
        return ACCEPT
    behind = d >= 1 << (bits - 1)
    if d == 0:
        r.bad += 1
    elif behind:
        r.duplicate += 1
    else:
        r.missing += 1
    if r.state == RX_SEND_ACKS:
        if behind:
            r.ack_due = 1  # else a lost ACK would end in FLUSH
        else:
            r.state = RX_SEND_NACK
            r.ack_due = 0  # the NACK acknowledges what came before
    return DROP


@compiled
def on_ineligible(r: Any, quality: int) -> int:
    """Judge a frame without a sequence number: `Verdict`."""
    return ACCEPT if r.state != RX_OFF and quality == GOOD else DROP


@compiled
def reply_due(r: Any) -> int:
    """Return the ordered set due now, `Reply`: NACK before INIT_ECHO before ACK (whose spacing is the driver's business)."""
    if r.state == RX_SEND_NACK:
        return NACK
    if r.echo_due:
        return INIT_ECHO
    return ACK if r.ack_due else NO_REPLY


@compiled
def on_reply_sent(r: Any, reply: int, bits: int) -> int:
    """Note that the ordered set is on the line; return the sequence number that it carries."""
    if reply == INIT_ECHO:
        r.echo_due = 0
        return r.echo_seq
    if reply == NACK:
        r.state = RX_NACK_SENT
    r.ack_due = 0
    return (r.expected - 1) & ((1 << bits) - 1)
