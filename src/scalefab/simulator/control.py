"""Frames of VC 3 besides ACKs: NACK, ACK_REQ and the other CONTROL frames. They wait at a port and leave before data."""

from __future__ import annotations

from enum import IntEnum

from ..compiled import compiled
from ..protocol import cbfc, rh_receiver
from ..protocol import operations as ops
from ..protocol.reliability import PSN_BITS
from .link import transmit
from .pools import new_frame
from .ports import kick, look_ps
from .recorder import record_frame
from .records import ACK, CONTROL, State


class Control(IntEnum):
    """What waits to leave; the sides of the space that say it are named."""

    NACK = 0  #: receiver
    ACK_NOW = 1  #: receiver, the answer to ACK_REQ
    ACK_REQ = 2  #: sender
    CLOSE = 3  #: sender
    CLOSED = 4  #: receiver
    OPEN = 5  #: sender
    OPENED = 6  #: receiver


NACK, ACK_NOW, ACK_REQ, CLOSE, CLOSED, OPEN, OPENED = range(7)
OWN_PATH = -1


@compiled
def by_receiver(what: int) -> bool:
    """Return whether the receiving end of the space says it."""
    return what in (NACK, ACK_NOW, CLOSED, OPENED)


@compiled
def post(S: State, s: int, what: int, path: int, psn: int, nonce: int, now_ps: int) -> None:
    """Queue a control frame of session ``s`` over ``path`` (`OWN_PATH` = that of the space), after the transmit latency.

    One of each kind waits at most: a second one says the same, or something newer.
    """
    k = S.kernel[0]
    kept = S.keep[s]
    session = S.session[s]
    if (kept.asked >> what) & 1:
        return
    kept.asked |= 1 << what
    node = session.dst if by_receiver(what) else session.src
    chosen = session.path if path == OWN_PATH else path
    a = S.node[node].first_port + chosen // k.uplinks
    port = S.port[a]
    i = k.ctl_free
    if i >= 0:
        k.ctl_free = S.ctl[i].next
    else:
        i = k.ctl_top
        k.ctl_top += 1
    c = S.ctl[i]
    c.what = what
    c.session = s
    c.path = chosen
    c.psn = psn
    c.nonce = nonce
    c.next = -1
    c.ready_ps = now_ps + S.node[node].tx_ps
    if port.ctl_head < 0:
        port.ctl_head = i
    else:
        S.ctl[port.ctl_tail].next = i
    port.ctl_tail = i
    kick(S, a, look_ps(port, c.ready_ps))


@compiled
def send_control(S: State, a: int, start_ps: int) -> None:
    """Send the first control frame that waits at port ``a``."""
    k = S.kernel[0]
    port = S.port[a]
    c = S.ctl[port.ctl_head]
    s = c.session
    session = S.session[s]
    S.keep[s].asked &= ~(1 << c.what)
    back = by_receiver(c.what)
    i = new_frame(S, s, ACK if c.what <= ACK_NOW else CONTROL, start_ps)
    f = S.frame[i]
    f.src = session.dst if back else session.src
    f.dst = session.src if back else session.dst
    f.vc = ops.VC_CONTROL
    f.path = c.path
    f.size_bytes = ops.ACK_FRAME_BYTES
    f.credits = cbfc.credits_needed(ops.ACK_FRAME_BYTES, k.overhead_bytes, k.credit_bytes)
    f.psn = 0
    if c.what <= ACK_NOW:
        f.ack_session = s
        f.ack_psn = rh_receiver.on_reply_sent(session, PSN_BITS)
        f.nack = 1 if c.what == NACK else 0
        k.ack_frames += 1
        k.nacks += f.nack
    else:
        f.stride = c.what
        f.first = c.nonce
        f.psn = c.psn
        k.control_frames += 1
    following = c.next
    c.next = k.ctl_free
    k.ctl_free = port.ctl_head
    port.ctl_head = following
    record_frame(S, f)
    transmit(S, a, i, start_ps)
