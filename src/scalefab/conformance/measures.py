"""What an expectation can speak of: the counters of a port, its status, and what is measured of a flow. Names and meanings."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from ..protocol.llr import RxState, TxState

PORT_COUNTERS: Mapping[str, str] = MappingProxyType(
    {
        "LLR_TX_OK": "frames with a sequence number that the port put on the line with a good FCS, replays too",
        "LLR_TX_POISONED": "frames with a sequence number that the port put on the line with a poisoned FCS, replays too",
        "LLR_TX_REPLAY": "replays that the port began: runs from the oldest frame without ACK, by timer or by NACK",
        "LLR_RX_OK": "frames with a sequence number that came with a good FCS, whatever became of them",
        "LLR_RX_BAD": "frames with a sequence number that came with a bad FCS",
        "LLR_RX_POISONED": "frames with a sequence number that came with a poisoned FCS",
        "LLR_RX_REPLAY": "replays that the port saw beginning: a sequence number that is not ahead of the last one",
        "LLR_RX_EXPECTED_SEQ_GOOD": "frames accepted: the expected sequence number and a good FCS",
        "LLR_RX_EXPECTED_SEQ_BAD": "frames dropped: the expected sequence number, but a bad FCS",
        "LLR_RX_EXPECTED_SEQ_POISONED": "frames passed on as poisoned: the expected sequence number and a poisoned FCS",
        "LLR_RX_MISSING_SEQ": "frames dropped because an earlier one is missing",
        "LLR_RX_DUPLICATE_SEQ": "frames dropped because they were accepted before",
        "LLR_TX_INIT_CTL_OS": "INIT ordered sets sent",
        "LLR_TX_INIT_ECHO_CTL_OS": "INIT_ECHO ordered sets sent",
        "LLR_TX_ACK_CTL_OS": "ACK ordered sets sent",
        "LLR_TX_NACK_CTL_OS": "NACK ordered sets sent",
        "LLR_RX_INIT_CTL_OS": "INIT ordered sets that came",
        "LLR_RX_INIT_ECHO_CTL_OS": "INIT_ECHO ordered sets that came",
        "LLR_RX_ACK_CTL_OS": "ACK ordered sets that came",
        "LLR_RX_NACK_CTL_OS": "NACK ordered sets that came",
        "LLR_RX_ACK_NACK_SEQ_ERROR": "ACK and NACK ordered sets that came with a sequence number out of range",
        "CF_UPDATE_TX": "CF_UPDATE ordered sets sent",
        "CF_UPDATE_RX": "CF_UPDATE ordered sets that came",
        "CC_UPDATE_TX": "CC_UPDATE frames sent, replays not counted",
        "CC_UPDATE_RX": "CC_UPDATE frames accepted",
        "CF_ERROR": "CF_UPDATE ordered sets that gave back more credits than were out, and were ignored",
        "LLR_FLUSHES": "times that the port gave up and went to FLUSH",
        "LLR_REPLAYED_FRAMES": "frames that the port sent again in replays",
        "LLR_DISCARDED": "frames that the port dropped by init_action or flush_action: discard",
        "LLR_FLUSHED": "frames that a FLUSH dropped before they had got through",
        "LINE_LOST": "frames without a sequence number that the line out of the port lost or corrupted",
        "NO_ROOM_DROPS": "frames of best-effort VCs that found no room in the port's receive buffer and were dropped",
    }
)
"""Counters of a port. The names are SAI's where SAI has one (sib), ours below (own)."""

VC_COUNTERS: Mapping[str, str] = MappingProxyType(
    {
        "SENDER_CREDITS_CONSUMED": "credits that the port has charged for frames it sent, modulo 2^20",
        "SENDER_CREDITS_FREED": "credits that CF_UPDATEs gave back to the port, modulo 2^20",
        "SENDER_CREDITS_USED": "consumed - freed, modulo 2^20: credits that are out",
        "RECEIVER_CREDITS_CONSUMED": "credits of the frames that the port's receive buffer took, modulo 2^20",
        "RECEIVER_CREDITS_FREED": "credits of the frames that have left the port's receive buffer, modulo 2^20",
    }
)
"""Counters of a port and VC: gauges of the protocol, so `at the start` they are 0 and USED is never a difference."""

STATES: Mapping[str, str] = MappingProxyType(
    {
        "LLR_TX_STATE": "state of the port's LLR sender",
        "LLR_RX_STATE": "state of the port's LLR receiver",
    }
)

TX_STATES = tuple(state.name for state in TxState)
RX_STATES = tuple(state.name for state in RxState)


class Unit(StrEnum):
    """What a measured value is counted in."""

    COUNT = "count"
    PERCENT = "%"
    PS = "ps"
    BYTES = "B"


FLOW_MEASURES: Mapping[str, tuple[Unit, str]] = MappingProxyType(
    {
        "sent": (Unit.COUNT, "frames that the source put on its line for the first time"),
        "arrived": (Unit.COUNT, "frames that the destination got; with 'vc' those that came in that VC"),
        "lost": (Unit.COUNT, "sent - arrived"),
        "good": (Unit.COUNT, "frames that arrived with a good FCS"),
        "poisoned": (Unit.COUNT, "frames that arrived with a poisoned FCS"),
        "order_errors": (Unit.COUNT, "frames that arrived behind a later one of their flow, and frames that arrived twice"),
        "discarded": (Unit.COUNT, "frames that the source dropped itself, by init_action or flush_action"),
        "bytes": (Unit.BYTES, "bytes that arrived, DA to FCS, with a tag's 4 B"),
        "rate": (Unit.PERCENT, "share of the line rate that the arrived frames take, with preamble and gap"),
        "share": (Unit.PERCENT, "share of all frames' line time that arrived at the same destination"),
        "latency_min": (Unit.PS, "first bit at the source to last bit at the destination: the least"),
        "latency_mean": (Unit.PS, "the same: mean, rounded down"),
        "latency_max": (Unit.PS, "the same: the largest"),
        "first_arrival": (Unit.PS, "time of the first arrival, from the start of traffic"),
        "last_arrival": (Unit.PS, "time of the last arrival, from the start of traffic"),
        "vc": (Unit.COUNT, "the VC in which all frames arrived"),
    }
)
"""What is measured of a flow, or of all flows together."""

WINDOWED = ("sent", "arrived", "lost", "good", "poisoned", "order_errors", "discarded", "bytes", "rate", "share")
"""Measures that can be told of a part of the run."""


def per_vc(counter: str) -> bool:
    """Whether each VC has this counter."""
    return counter in VC_COUNTERS
