"""The simulator's own records and the one bundle of arrays that its kernel works on (contracts: FRAME, EVENT, OP STATE).

Fields are signed and wider than the wire's, because NumPy's record fields wrap differently compiled and interpreted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


def zeros(shape: int | tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return records of a dtype, all 0, whose fields are attributes, compiled and interpreted."""
    return np.zeros(shape, dtype).view(np.recarray)


_i2, _i4, _i8 = np.int16, np.int32, np.int64

EVENT = np.dtype([("t_ps", _i8), ("next", _i4), ("a", _i4), ("b", _i4), ("kind", _i4)], align=True)

# Event kinds
SLOT, EGRESS, DELIVER, ACK_TIMER, RELEASE, ACTIVATE, SERVE_READ, FREE, LLR_TIMER = range(9)
START, FAULT, ARRIVE, INIT_TIMER, HANDSHAKE, PCS_TIMER, CC_TIMER, DRAINED, TAKE = range(9, 18)
PAUSE, PAUSE_TIMER, PAUSE_END, RETRY_TIMER, ASK_TIMER, SEN_TIMER, PORT_CHANGE, PATH_LOST = range(18, 26)
NO_PATH, RECHECK, LOAD_TIMER, SILENCE, RESUME, HEARD, FENCE_DONE, FENCE_ANEW = range(26, 34)

# A single event takes fewer entries of a pool than this: a frame of 9216 B holds 382 runs, each with an answer. Starts of
# operations come on top: room for all that are still to come is always kept (``dormant``).
POOL_MARGIN = 1024

# What a PORT_CHANGE says, and a SEN
GOES_DOWN, COMES_UP, DRAIN_BEGINS, DRAIN_ENDS, DEGRADES, CONGESTS = range(6)

# A path change queues again at most the frames of a window, each with some runs.
SHARE_MARGIN = 1 << 14

# How long no DATA frame may come while CONTROL frames still ask: some eight looks at a path in error.
ASKING_PATIENCE_PS = 10_000_000_000

# Frame kinds; ACK: or NACK; RAW = any Ethernet frame of a scripted port; CC = CC_UPDATE; CONTROL = RH op 3; SEN
DATA, ACK, RAW, CC, CONTROL, SEN = range(6)

NEVER_PS = 1 << 62

FENCE_EVENTS = 2  # that each FENCE keeps room for until it is done: its end, and its beginning anew

CREDIT_FIELD_BITS = 20
"""An event FREE holds VC and credits in one number: vc << 20 | credits."""

FRAME = np.dtype(
    [
        ("op", _i4),  # first run: operation ...
        ("first", _i4),  # ... index of its first packet or transaction ...
        ("count", _i4),  # ... and how many
        ("stride", _i4),  # paths of the round robin that deals its packets, 1 = they follow each other
        ("more", _i4),  # further runs of a packed frame (RUN), -1
        ("next", _i4),  # queue or free list
        ("src", _i2),
        ("dst", _i2),
        ("kind", _i2),  # DATA, ACK, RAW, CC
        ("vc", _i2),
        ("answer", _i2),  # 1 = carries responses
        ("poisoned", _i2),  # 1 = its FCS is the complement of the right one
        ("nack", _i2),  # ACK: 1 = NACK
        ("again", _i2),  # 1 = RH sends it again
        ("epoch", _i2),  # while it waits for room for its responses (`heldpairs`)
        ("drained", _i2),  # 1 = a slow receiver has taken it out of the buffer
        ("size_bytes", _i4),  # OEFH .. FCS
        ("payload_bytes", _i4),
        ("session", _i4),
        ("path", _i4),  # path index that it takes
        ("psn", _i4),
        ("ack_session", _i4),  # whose frames ack_psn acknowledges, -1
        ("ack_psn", _i4),
        ("in_port", _i4),  # port whose receive buffer it is in
        ("credits", _i4),
        ("cable_ps", _i8),
        ("lookup_ps", _i8),
        ("ready_ps", _i8),  # its operation (answer: what it answers) was ready
        ("start_ps", _i8),  # first bit left the source
        ("stage_ps", _i8),  # may leave the node it is in from here on; at its endpoint: arrived
        ("mark_ps", _i8),  # in a switch: credit wait of the output port when it came; on a line: first time there
        ("credit_ps", _i8),
        ("window_ps", _i8),
        ("arbiter_ps", _i8),
        ("hold_ps", _i8),  # waited in switches for credits
        ("again_ps", _i8),  # from its first time on the source's line to the time that got through, less link replays
        ("replay_ps", _i8),  # between the first time on a line and the time that got through
        ("trace_row", _i4),  # its row in the trace, -1
    ],
    align=True,
)

RUN = np.dtype([("op", _i4), ("first", _i4), ("count", _i4), ("stride", _i4), ("next", _i4)], align=True)

REPLY = np.dtype(
    [
        ("op", _i4),
        ("first", _i4),
        ("count", _i4),
        ("session", _i4),  # answers travel here
        ("next", _i4),
        ("answered_ps", _i8),  # what it answers was executed
        ("ready_ps", _i8),  # and the endpoint's transmit latency is over
        ("credit_mark_ps", _i8),
        ("window_mark_ps", _i8),
    ],
    align=True,
)

PORT = np.dtype(
    [
        ("node", _i4),
        ("peer", _i4),
        ("num", _i8),  # ps a byte = num / den
        ("den", _i8),
        ("delay_ps", _i8),
        ("sched_ps", _i8),  # its live event, -1; an event at another time is stale
        ("free_ps", _i8),  # line is free from here on
        ("frame_end_ps", _i8),  # the last frame's gap is over; ordered sets may follow at once
        ("turn", _i4),  # VC whose turn it is
        ("blocked", _i4),  # NOT_BLOCKED, ON_CREDIT, ON_WINDOW
        ("blocked_ps", _i8),  # since when
        ("from_ps", _i8),  # last credit wait: from, to
        ("to_ps", _i8),
        ("wfrom_ps", _i8),  # last window wait: from, to
        ("wto_ps", _i8),
        ("credit_wait_ps", _i8),
        ("window_wait_ps", _i8),
        # CBFC, receiving end: the CF_UPDATE that this port owes its peer
        ("cf_last_ps", _i8),
        ("cf_gap_ps", _i8),  # spacing, as time
        ("cf_due_ps", _i8),  # -1 = no news is due
        ("refresh_ps", _i8),  # no VC has to be told again before that
        # CBFC, sending end: ring of CF_UPDATEs on their way here
        ("cf_head", _i4),
        ("cf_count", _i4),
        # LLR, receiving end: ordered sets that this port owes its peer
        ("ack_last_ps", _i8),
        ("ack_gap_ps", _i8),  # spacing, as time
        ("nack_due_ps", _i8),  # -1 = none
        ("reack_due_ps", _i8),  # a duplicate asks for another ACK, -1
        # LLR, sending end: copies are numbered from 0; those una .. next - 1 are kept
        ("copy_una", _i8),
        ("copy_told", _i8),  # acknowledged by ordered sets that have left the receiver
        ("untold_ps", _i8),  # when the first one arrived that is accepted and not told, `NEVER_PS` = there is none
        ("copy_accepted", _i8),  # accepted by the receiver
        ("copy_next", _i8),
        ("copy_mask", _i8),  # entries of its ring in use - 1; it doubles when they are full: see `link.widen`
        ("ack_head", _i4),  # ring of ACKs and NACKs on their way here
        ("ack_count", _i4),
        ("nack_arrives_ps", _i8),  # -1 = none is on its way
        ("timer_set", _i4),
        ("cc_due", _i4),  # CC_UPDATEs that are due, a bit each: 2 x (1 = of ineligible VCs) + part; PAUSE_DUE
        ("fault_key", _i8),  # substream of its direction of the link
        ("fault_count", _i8),  # frames drawn from it
        # switch output
        ("transit_head", _i4),  # frames that come, by time
        ("transit_tail", _i4),
        ("queued", _i4),  # frames in VOQs
        ("held_port", _i4),  # receive buffer that the frame on the line still holds, -1
        ("held_vc", _i4),
        ("held_credits", _i4),
        ("held_ps", _i8),  # until when
        ("held_next", _i4),  # next output in that buffer's list
        # receive buffer: outputs whose frame on the line still holds room here, by time
        ("holder_head", _i4),
        ("holder_tail", _i4),
        # endpoint
        ("control_head", _i4),  # sessions that owe an ACK
        ("control_tail", _i4),
        ("ctl_head", _i4),  # NACK and CONTROL frames, by time
        ("ctl_tail", _i4),
        ("pending_head", _i4),  # answers, by time
        ("pending_tail", _i4),
        ("parked", _i4),  # sessions whose window is full
        # statistics
        ("frames", _i8),
        ("ack_frames", _i8),
        ("cf_updates", _i8),
        ("llr_acks", _i8),
        ("llr_nacks", _i8),
        ("acks_in", _i8),  # ordered sets that have come: ACK, NACK, CF_UPDATE
        ("nacks_in", _i8),
        ("updates_in", _i8),
        ("replayed", _i8),  # frames resent
        ("llr_wait_ps", _i8),
        ("data_bytes", _i8),
        ("wire_bytes", _i8),
        ("busy_ps", _i8),
    ],
    align=True,
)

PAUSE_DUE = 16  # in ``cc_due``

NOT_BLOCKED, ON_CREDIT, ON_WINDOW, ON_LLR = range(4)

LINK = np.dtype(
    [
        # settings of the direction out of the port
        ("eligible", _i8),  # mask of VCs that LLR protects
        ("lossless", _i8),  # mask of VCs with credits
        ("credit_bytes", _i4),
        ("overhead_bytes", _i4),
        ("init_action", _i4),
        ("flush_action", _i4),
        ("re_init", _i4),
        ("handshake", _i4),  # 1 = INIT at the start
        ("refresh_gap_ps", _i8),  # each VC is told once in that time
        ("cc_gap_ps", _i8),
        # LLR: INIT and INIT_ECHO that the port owes its peer, -1
        ("init_due_ps", _i8),
        ("echo_due_ps", _i8),
        ("pcs_since_ps", _i8),  # PCS lost since, -1 = it is there
        ("down_from_ps", _i8),  # nothing that arrives later gets through; the next time that it goes down
        # faults
        ("line", _i4),  # row of loss_threshold: how the line errs
        ("loss", _i8),  # probability x 2^62 that a frame arrives with a wrong FCS, beside that of its length
        ("number", _i8),  # new frames put on the line
        ("next_number", _i8),  # the next one that a fault waits for
        ("fault_head", _i4),  # list of such faults
        ("ack_mode", _i4),  # ACKS_GO, ACKS_PAUSED, ACKS_FROZEN
        ("frozen_seq", _i4),
        ("cc_stopped", _i4),
        ("cc_asleep", _i4),  # 1 = its timer rests, nothing has moved for long
        ("cc_sent", _i4),  # CC_UPDATEs that have not got through yet, bits as in cc_due
        ("set_key", _i8),
        ("set_count", _i8),
        ("set_loss", _i8),  # probability x 2^62 that an ordered set is lost
        ("set_delay_ps", _i8),
        ("set_last_ps", _i8),  # arrival of the last one: they do not overtake each other
        # counters
        ("sequenced", _i8),  # frames with a sequence number put on the line, replays too
        ("sequenced_poisoned", _i8),
        ("inits", _i8),
        ("echoes", _i8),
        ("inits_in", _i8),
        ("echoes_in", _i8),
        ("cc_updates", _i8),
        ("cc_updates_in", _i8),
        ("flushed", _i8),  # copies that a FLUSH dropped before they had got through
        ("discarded", _i8),  # frames that init_action or flush_action dropped
        ("line_lost", _i8),  # frames without LLR that the line lost or corrupted
        ("pauses", _i8),  # PAUSE frames of PFC sent, and come
        ("pauses_in", _i8),
        ("plane", _i4),
        ("dead", _i4),  # 1 = LLR has given it up: nothing is sent, what comes for it is dropped
        ("draining", _i4),  # 1 = it will be taken down, paths over it are left
        ("sen_event", _i4),  # of the last change that the switch told of this port
        ("sen_copies", _i4),
        ("full_num", _i8),  # its rate without faults, as PORT.num, PORT.den
        ("full_den", _i8),
        ("degraded", _i4),  # 1 = it runs slower
        ("load_mask", _i4),  # VCs that are congested
        ("load_event", _i4),  # of the last change of that
        ("load_copies", _i4),
        ("dead_drops", _i8),  # frames dropped because the port was dead
        ("pause_timer", _i4),  # 1 = an event to tell a pause again is scheduled
        ("no_room", _i8),  # frames of best-effort VCs that found no room at the port
    ],
    align=True,
)
"""The rarely needed part of a port: what it was told of its link, handshakes, faults, counters."""

ACKS_GO, ACKS_PAUSED, ACKS_FROZEN = range(3)

DRAIN = np.dtype(
    [
        ("num", _i8),  # ps a byte = num / den; den 0 = the buffer is emptied at once, num 0 = not at all
        ("den", _i8),
        ("due_ps", _i8),  # when the head of the list leaves, -1
        ("head", _i4),  # frames that wait while it is not emptied
        ("tail", _i4),
    ],
    align=True,
)
"""How fast an endpoint takes the frames of a VC out of a port's receive buffer."""

FAULT_ROW = np.dtype(
    [("at_ps", _i8), ("port", _i4), ("kind", _i4), ("vc", _i4), ("next", _i4), ("arg", _i8), ("number", _i8)], align=True
)
"""One row of the fault table; ``number`` and ``next`` serve those that wait for a frame."""

NODE = np.dtype(
    [
        ("first_port", _i4),
        ("is_switch", _i4),
        ("tier", _i4),  # -1 endpoint, 0 leaf, 1 spine
        ("leaf", _i4),  # leaf: its number in the plane
        ("first_uplink", _i4),  # leaf of two tiers: port of its first uplink, -1
        ("uplinks", _i4),  # and how many follow
        ("down_links", _i4),  # spine: links to each leaf
        ("latency_ps", _i8),
        ("tx_ps", _i8),
        ("rx_ps", _i8),
        ("memory_ps", _i8),
        ("mem_num", _i8),  # ps a byte of target memory
        ("mem_den", _i8),
        ("mem_shift", _i8),  # mem_den = 2^mem_shift, -1 = it is no power of two: a shift, where a division a frame costs
        ("mem_free_ps", _i8),
    ],
    align=True,
)

FLOW = np.dtype(
    [
        ("ring_next", _i4),
        ("place", _i2),  # NOWHERE, IN_RING, PARKED, RESTING
        ("in_control", _i2),
        ("share_head", _i4),
        ("share_tail", _i4),
        ("reply_head", _i4),
        ("reply_tail", _i4),
        ("answer", _i4),  # session for the answers to this one's requests, -1
        ("control_next", _i4),
        ("moved", _i2),  # 1 = its path was not live, new work went elsewhere; `pathstate.LOADED`
        ("in_timer", _i2),  # an ACK deadline is in the event queue
        ("control_ps", _i8),
    ],
    align=True,
)
"""What a session's sender has waiting, and its receiver's place in the ACK queues."""

NOWHERE, IN_RING, PARKED, RESTING = range(4)

SHARE = np.dtype(
    [
        ("op", _i4),
        ("next", _i4),
        ("session", _i4),
        ("index", _i4),  # next packet or transaction
        ("stride", _i2),  # paths of its round robin, 1 = packets follow each other, 0 = takes from the common cursor
        ("answer", _i2),  # 1 = data of a GET, sent by its target
        ("left", _i4),
        ("ready_ps", _i8),
        ("credit_mark_ps", _i8),
        ("window_mark_ps", _i8),
    ],
    align=True,
)
"""The part of an operation that one session carries."""

OPERATION = np.dtype(
    [
        # 64 B that frames touch
        ("kind", _i2),
        ("posted", _i2),
        ("src", _i2),
        ("dst", _i2),
        ("chunk", _i4),
        ("packets", _i4),  # packets or transactions that carry it
        ("answers", _i4),  # answers awaited at the source
        ("cursor", _i4),  # common cursor of its shares; FENCE: its row; ATOMIC: bytes of a second operand
        ("executed", _i4),  # packets or transactions executed
        ("answered", _i4),
        ("bytes", _i8),
        ("executed_ps", _i8),
        ("first_ps", _i8),
        ("done_ps", _i8),
        # its beginning
        ("waits", _i4),
        ("share_first", _i4),
        ("share_count", _i4),
        ("ready_ps", _i8),
    ],
    align=True,
)

READ = np.dtype(
    [
        ("requested", _i4),  # requests executed
        ("requests", _i4),
        ("data_first", _i4),  # shares of the data that come back
        ("data_count", _i4),
        ("data_ready_ps", _i8),  # they may be read
    ],
    align=True,
)
"""What only a GET has."""

RESPONSES = np.dtype(
    [
        ("bytes", _i8),  # of responses taken on and not yet in a frame on the line
        ("limit_bytes", _i8),
        ("waits", _i8),  # frames that had to wait
        ("held", _i4),  # frames that wait
        ("waking", _i4),  # 1 = an event to take one is scheduled
    ],
    align=True,
)
"""The response queue of an endpoint port (`simulator.responses`)."""

KEEP = np.dtype(
    [
        ("head", _i4),  # frames that are not acknowledged, oldest first
        ("tail", _i4),
        ("again", _i4),  # the one that was sent again last
        ("timer_set", _i4),  # 1 = an event watches the retry timer
        ("asked", _i4),  # control frames of it that wait to leave, bit = Control
        ("change", _i4),  # the path change that last queued work here, and the last piece of it
        ("again_tail", _i4),
    ],
    align=True,
)
"""What a sequence space keeps until it is acknowledged."""

CTL = np.dtype(
    [("what", _i4), ("session", _i4), ("next", _i4), ("psn", _i4), ("nonce", _i4), ("path", _i4), ("ready_ps", _i8)], align=True
)
"""A frame of VC 3 that waits to leave: NACK, or CONTROL."""

CF_UPDATE = np.dtype([("t_ps", _i8), ("vc0", _i2), ("vc1", _i2), ("c0", _i4), ("c1", _i4)], align=True)

VOQ = np.dtype([("head", _i4), ("tail", _i4), ("deficit", _i4)], align=True)
"""Frames that wait for an output at an input: head and tail are frame + 1, 0 = empty; bytes left of its turn."""

COPY_BITS = 6
COPIES_FIRST = 1 << COPY_BITS  # entries of a replay buffer at first, see `link.widen`

COPY = np.dtype([("arrive_ps", _i8), ("size_bytes", _i4), ("frame", _i4)], align=True)
"""One frame in a replay buffer; ``frame`` = -1 once the receiver has accepted it: what a replay of it needs is its size."""

LLR_SET = np.dtype([("t_ps", _i8), ("seq", _i4), ("nack", _i4)], align=True)
"""An ACK or NACK on its way."""

KERNEL = np.dtype(
    [
        # parameters
        ("endpoints", _i4),
        ("first_switch_port", _i4),
        ("words", _i4),
        ("voq_rows", _i4),  # switch ports: rows of VOQs of a VC
        ("uplinks", _i4),  # uplink ids of a pair: path index = port * uplinks + id
        ("pack", _i4),
        ("frame_max", _i4),
        ("body_limit", _i4),
        ("mtu", _i4),
        ("window", _i4),
        ("ack_every", _i4),
        ("service", _i4),
        ("rh", _i4),  # 1 = frames may be lost: RH keeps copies and runs its timers
        ("paths", _i4),  # 1 = links go down: spaces move to other paths
        ("path_count", _i4),
        ("sen", _i4),  # 1 = switches tell of their ports
        ("change", _i4),
        ("share_top", _i4),
        ("one_vc", _i4),  # 1 = all DATA travels on VC 0 (`linkspec.VcMap`)
        ("credit_bytes", _i4),
        ("overhead_bytes", _i4),
        ("cf_ring", _i4),
        ("vcs", _i4),
        ("raw", _i4),  # 1 = endpoints are scripted testers
        ("llr", _i4),  # 1 = links retry
        ("lossy", _i4),  # 1 = links lose frames at random
        ("careful", _i4),  # 1 = ordered sets may be lost or late, links go down or begin with INIT, single frames are hit
        ("mixed", _i4),  # 1 = some VC is not eligible, not lossless, or shares credits with others
        ("pfc", _i4),  # 1 = links pause instead of granting credits
        ("drained", _i4),  # 1 = some receive buffer is emptied slowly
        ("ack_ring", _i4),
        ("quantum_bytes", _i4),
        ("bins", _i4),
        ("ack_delay_ps", _i8),
        ("bin_bits", _i8),  # bins of load are 2^bin_bits ps long: a shift, where a division is 10 cycles in 6 places a frame
        # event queue
        ("now_ps", _i8),
        ("bucket", _i8),
        ("width_bits", _i8),  # a bucket is 2^width_bits ps wide
        ("bucket_mask", _i8),  # buckets - 1
        ("waiting", _i8),
        ("events", _i8),
        ("event_free", _i4),  # free list, -1; then fresh entries from the top
        ("event_top", _i4),
        ("events_left", _i4),
        ("past", _i4),  # events scheduled before now, or of a kind that settings rule out: must stay 0
        # pools
        ("frame_free", _i4),
        ("frame_top", _i4),
        ("frames_left", _i4),
        ("run_free", _i4),
        ("run_top", _i4),
        ("runs_left", _i4),
        ("reply_free", _i4),
        ("reply_top", _i4),
        ("replies_left", _i4),
        ("ctl_free", _i4),
        ("ctl_top", _i4),
        # releases by start time
        ("release_at", _i4),
        ("fault_at", _i4),
        ("background", _i4),  # events in the queue that come again and again: they are no progress
        ("moved_ps", _i8),  # when a frame last began to move or was executed
        ("patience_ps", _i8),  # how long nothing may move while only such events are left
        ("dormant", _i8),  # operations that still need an event to start
        # trace
        ("numbered", _i8),  # frames sent, DATA and ACK
        ("trace_room", _i4),
        ("traced", _i4),
        ("traced_runs", _i4),
        ("hops", _i4),
        ("updates", _i4),
        ("sample_room", _i4),
        ("sampled", _i4),
        ("sample_of", _i8),
        ("sample_salt", _i8),
        # results
        ("sent", _i8),
        ("delivered", _i8),
        ("ack_frames", _i8),
        ("executed_bytes", _i8),
        ("wire_bytes", _i8),  # of data frames, on their first link
        ("frame_ps", _i8),
        ("done", _i8),  # operations that ended, well or not
        ("ops", _i8),  # operations in all
        ("hold", _i4),  # 1 = go on when all are done: other planes are not (`simulator.threads`)
        ("slept", _i4),  # CC timers that rested because nothing had moved for long
        ("lost", _i8),  # frames that will never arrive
        ("late", _i8),  # ACKs that came after RH's timer would have expired, while no copies are kept
        ("resent", _i8),  # frames that RH sent again
        ("nacks", _i8),
        ("control_frames", _i8),
        ("path_errors", _i8),
        ("again_runs", _i8),  # runs of transactions queued again on another path
        ("sen_frames", _i8),
        ("completion_ps", _i8),
        ("verify", _i8),  # 1 = executed segments are marked
        ("twice", _i8),  # segments executed again
        ("outside", _i8),  # executions of segments that an operation does not have
        ("executed_bits", _i8),  # and those of executed data
        # where paths change, cold
        ("load", _i4),  # 1 = switches tell of degraded or congested ports too
        ("queues", _i4),  # 1 = switches count the bytes that wait at their outputs
        ("failed", _i8),  # operations that ended with status 6
        ("unstarted", _i8),  # ... that ended without having begun, because of others that failed
        ("data_ps", _i8),  # when a DATA frame last came, where paths change: CONTROL frames ask for ever
        ("disorder", _i8),  # transactions executed before an earlier one of their operation to the same page
        ("values", _i8),  # 1 = values of some operations are followed
        ("ordered", _i8),  # 1 = some operation is a FENCE
        ("tags", _i8),  # 1 = tags of ATOMICs are counted
        ("eventful", _i8),  # 1 = links may change or lose something
        ("disturbed", _i8),  # 1 = lossy or careful: LLR may have to send again
    ],
    align=True,
)
"""Parameters, cursors and counters of a run: one record."""


class State(NamedTuple):
    """All arrays of a run. Compiled code takes it as a `scalefab.compiled.Bundle`, interpreted code as it is."""

    kernel: Any  # KERNEL[1]
    event: Any  # EVENT[pool]
    bucket_head: Any  # int32[buckets]: event + 1, 0 = empty
    bucket_tail: Any
    port: Any  # PORT[ports]
    link: Any  # LINK[ports]
    mine: Any  # int8[ports]: 1 = simulated by this kernel
    node: Any  # NODE[nodes]
    sender: Any  # cbfc.SENDER[ports, vcs + 1]: the last one is the pool that all VCs share
    receiver: Any  # cbfc.RECEIVER[ports, vcs]
    told_ps: Any  # int64[ports, vcs]: when a CF_UPDATE last told the VC
    drain: Any  # DRAIN[ports, vcs], [1, 1] where none is slow
    cc_value: Any  # int32[ports, 2 * vcs]: what CC_UPDATEs on their way say, eligible ones first
    pause_tx: Any  # pfc.SENDER[ports, VCs]; [1, 1] without PFC
    pause_rx: Any  # pfc.RECEIVER[ports, VCs]
    cf_ring: Any  # CF_UPDATE[ports, ring]
    llr_tx: Any  # llr.SENDER[ports]
    llr_rx: Any  # llr.RECEIVER[ports], of the direction out of the port
    copy: Any  # COPY[copies / 64 * ports, 64]: the first 64 of each port, the next 64 of each ... `retry.copy_at`
    sent_ps: Any  # int64[ports, copies]: when each copy was first sent, [1, 1] where nothing can make it old
    fault: Any  # FAULT_ROW[rows]
    loss_threshold: Any  # int64[ways to err, wire bytes]: loss probability x 2^62
    ack_ring: Any  # LLR_SET[ports, ring]
    deficit: Any  # int64[ports, vcs]
    voq: Any  # VOQ[vcs * switch ports, inputs]: by VC first, two of the four are rarely used and take no memory
    voq_bits: Any  # int64[vcs * switch ports, words]
    voq_count: Any  # int32[vcs * switch ports]: frames in a row of VOQs
    voq_last: Any  # int32[vcs * switch ports]
    ring_head: Any  # int32[endpoint ports, 3]: session + 1, 0 = empty
    ring_tail: Any
    burst: Any  # int32[endpoint ports, 3]
    responses: Any  # RESPONSES[endpoint ports]
    held_head: Any  # int32[endpoint ports, VCs]: first frame that waits in the receive buffer + 1, 0 = none
    held_tail: Any
    held_needs: Any  # int64: room that the responses to the first one need
    wanted: Any  # int32[endpoint ports, VCs]: credits that the next frame needed when it could not go
    frame: Any  # FRAME[pool]
    run: Any  # RUN[pool]
    reply: Any  # REPLY[pool]
    session: Any  # reliability.SESSION[sessions]
    retry: Any  # rh_sender.RETRY[sessions]
    repair: Any  # rh_receiver.REPAIR[sessions], [1] where nothing is kept
    keep: Any  # KEEP[sessions], [1]
    ask: Any  # path_change.ASK[sessions], [1] where no path changes
    path_state: Any  # int64[src x dst x paths]: paths.PathState, [1]
    path_id: Any  # int64[paths]: the profile's path ids
    pair_first: Any  # int64[src x dst]: first session of the pair, -1, [1]
    pair_nonce: Any  # int64[src x dst], [1]
    pair_since: Any  # int64[src x dst]: since when no path is live, ps, -1, [1]
    reduced: Any  # int16[src x dst x paths, 3]: ports that reduce a path: degraded, congested for VC 0, for VC 2, [1, 3]
    heard_load: Any  # int64[endpoints, switch ports]: last event of congestion acted on, [1, 1]
    force: Any  # int16[endpoints, switch ports]: what is in force of a port's load (`load`), [1, 1]
    told_ps_at: Any  # int64[endpoints, 2 x switch ports]: when that was told last: degraded, congested, [1, 1]
    queued_bytes: Any  # int64[switch ports, VCs]: bytes in VOQs, [1, 1]
    heard: Any  # int64[endpoints, switch ports]: last SEN event acted on, [1, 1]
    ctl: Any  # CTL[pool]
    flow: Any  # FLOW[sessions]
    twin: Any  # int32[sessions, VCs in use]: sessions of the other direction on the same path, -1
    owed: Any  # int8[sessions]: 0 = no ACK is owed; a small table, where a session is a cache miss: 3 in each frame
    share: Any  # SHARE[shares]
    op: Any  # OPERATION[n]
    start_ps: Any  # int64[n]: the operation graph's own columns, not copied
    compute_ps: Any
    address: Any
    read: Any  # READ[n], [1] without GETs
    op_status: Any  # int8[n]: how operations ended without success (`failures`), 0, [1] where no path changes
    succ_ptr: Any
    succ: Any
    release: Any  # int32: operations without predecessors, by start time
    todo: Any  # int32[n]: stack of operations that are done and not yet told to their successors
    stage_ps: Any  # int64[stages]
    latency: Any  # int64[bins]: histogram of frame latencies
    load: Any  # int64[ports, bins]: wire bytes
    executed_bins: Any  # int64[bins]: executed data bytes
    segment_bits: Any  # uint8[...]: a bit each packet or transaction that was executed, [1] where memory is not verified
    segment_base: Any  # int64[n + 1]: first byte of each operation's bits, [1]
    value_of: Any  # int32[n]: row of ``valued`` + 1, 0 = its values are not followed; [1] where none are
    valued: Any  # VALUED[m], [1]
    fetched: Any  # int64[transactions of these]: what each found at its address, [1]
    cell: Any  # CELL[a power of two], [1]: open addressing
    signal_of: Any  # int32[n]: row of ``signal`` + 1, 0 = none; [1]
    signal: Any  # SIGNAL[m], [1]
    order_pair: Any  # int32[src x dst]: row of ``pair``, -1, [1] where no pair has one; likewise the next six
    pair: Any  # PAIR[pairs]
    issued: Any  # ordering.ISSUED[pairs]
    serial: Any  # int64[n]: number of an operation at its pair, -1
    fence: Any  # ordering.FENCE[fences]; OPERATION.cursor of a FENCE is its row
    fenced: Any  # FENCED[fences]
    fence_note: Any  # FENCE_NOTE[sessions], [1] where no path changes
    closed: Any  # int8[pairs, 64]: 1 = a tag that is not the oldest has its response, by tag modulo 64
    tag_base: Any  # int64[n]: first row in ``tag`` of an ATOMIC, [1] where tags are not counted
    tag: Any  # int64[transactions of ATOMICs]: tag, `atomictags.NOT_TAKEN`, CLOSED, [1]
    sample: Any  # trace.SAMPLE[rows]
    traced: Any  # trace.TRACED[rows]
    traced_run: Any  # trace.TRACED_RUN[rows]
    hop: Any  # trace.HOP[rows]
    update: Any  # trace.UPDATE[rows]
    raw_flow: Any  # rawflow.RAW_FLOW[flows], [1] without testers
    raw_vc: Any  # int64[flows, 32]: arrivals by VC
