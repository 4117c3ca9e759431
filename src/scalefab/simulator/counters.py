"""Counters and states of a port by the names of the conformance cases; no compiled code."""

from __future__ import annotations

from typing import Any

from ..protocol import cbfc, llr
from .records import State

TX_STATES = tuple(state.name for state in llr.TxState)
RX_STATES = tuple(state.name for state in llr.RxState)


def llr_counters(state: State, port: int) -> dict[str, int]:
    """Return the LLR counters of a port: what it sends (TX_*, sets out) and what it receives (RX_*, sets in).

    Parameters
    ----------
    state
        Of a run; ports are brought up to date by whoever ran it (`bring_up_to_date`).
    port
        As in the fabric arrays.
    """
    p, link, peer = state.port[port], state.link[port], int(state.port.peer[port])
    tx, rx = state.llr_tx[port], state.llr_rx[peer]
    k = state.kernel[0]
    exact = bool(k.lossy or k.careful)
    sequenced = int(link.sequenced) if exact else int(p.frames + p.ack_frames + link.cc_updates) * int(k.llr)
    return {
        "LLR_TX_OK": sequenced - int(link.sequenced_poisoned),
        "LLR_TX_POISONED": int(link.sequenced_poisoned),
        "LLR_TX_REPLAY": int(tx.tx_replay),
        "LLR_TX_INIT_CTL_OS": int(link.inits),
        "LLR_TX_INIT_ECHO_CTL_OS": int(link.echoes),
        "LLR_TX_ACK_CTL_OS": int(p.llr_acks),
        "LLR_TX_NACK_CTL_OS": int(p.llr_nacks),
        "LLR_RX_OK": int(rx.rx_ok),
        "LLR_RX_BAD": int(rx.rx_bad),
        "LLR_RX_POISONED": int(rx.rx_poisoned),
        "LLR_RX_REPLAY": int(rx.replays),
        "LLR_RX_EXPECTED_SEQ_GOOD": int(rx.good),
        "LLR_RX_EXPECTED_SEQ_BAD": int(rx.bad),
        "LLR_RX_EXPECTED_SEQ_POISONED": int(rx.poisoned),
        "LLR_RX_MISSING_SEQ": int(rx.missing),
        "LLR_RX_DUPLICATE_SEQ": int(rx.duplicate),
        "LLR_RX_INIT_CTL_OS": int(link.inits_in),
        "LLR_RX_INIT_ECHO_CTL_OS": int(link.echoes_in),
        "LLR_RX_ACK_CTL_OS": int(p.acks_in),
        "LLR_RX_NACK_CTL_OS": int(p.nacks_in),
        "LLR_RX_ACK_NACK_SEQ_ERROR": int(tx.ack_errors),
    }


def cbfc_messages(state: State, port: int) -> dict[str, int]:
    """Return the CBFC messages of a port, sent and received, and what it dropped."""
    p, link = state.port[port], state.link[port]
    return {
        "CF_UPDATE_TX": int(p.cf_updates),
        "CF_UPDATE_RX": int(p.updates_in),
        "CC_UPDATE_TX": int(link.cc_updates),
        "CC_UPDATE_RX": int(link.cc_updates_in),
        "CF_ERROR": int(state.sender.errors[port].sum()),
        "NO_ROOM_DROPS": int(link.no_room),
        "LLR_DISCARDED": int(link.discarded),
        "LLR_FLUSHED": int(link.flushed),
        "LINE_LOST": int(link.line_lost),
    }


def port_counters(state: State, port: int) -> dict[str, int]:
    """Return all counters of a port that are not by VC."""
    return llr_counters(state, port) | cbfc_messages(state, port)


def vc_counters(state: State, port: int, vc: int) -> dict[str, int]:
    """Return the credit counters of one VC of a port: as sender, and as receiver of what its peer sends."""
    sender, receiver = state.sender[port, vc], state.receiver[port, vc]
    return {
        "SENDER_CREDITS_CONSUMED": int(sender.consumed),
        "SENDER_CREDITS_FREED": int(sender.freed),
        "SENDER_CREDITS_USED": int(cbfc.used(sender, cbfc.COUNTER_BITS)),
        "RECEIVER_CREDITS_CONSUMED": int(receiver.consumed),
        "RECEIVER_CREDITS_FREED": int(receiver.freed),
    }


def port_states(state: State, port: int) -> tuple[str, str]:
    """Return the LLR states of a port's sending and receiving end."""
    peer = int(state.port.peer[port])
    return TX_STATES[int(state.llr_tx.state[port])], RX_STATES[int(state.llr_rx.state[peer])]


def snapshot(state: State, ports: Any) -> dict[int, dict[str, int]]:
    """Return the counters of several ports, to subtract from later ones (counters are cleared at the start of a case)."""
    return {int(port): port_counters(state, int(port)) for port in ports}
