"""Bytes in, bytes out: a receiver's checks in the profile's order, a counter for each, and a target behind it.

===== ================================== ==========================================================================
step  check                              a failure
===== ================================== ==========================================================================
1     FCS, poison                        drop, FCS or POISONED
2     EtherType, length                  drop, ETHERTYPE or LENGTH
3     dst_id mine                        drop, DST
4     ICRC                               drop, ICRC
5     version                            drop, VERSION
6     RH.src = src_id                    drop, SRC
7     partition among mine               drop, PARTITION: never acknowledged
8     op, VC, ack fields, PSN of no DATA drop, OP, VC, ACK or PSN
9     acknowledgement that rides along   (to the sender's side)
10    PSN                                drop, GAP or DUPLICATE (`reliability.on_data`)
11    TH                                 PSN advances, ERROR status 5 goes back; OPCODE, RANGE, BODY or VC
===== ================================== ==========================================================================

Timers, NACKs and retries are not here: this is the model for vectors, one frame after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..errors import WireError
from .codec import Bytes, decode, encode
from .frame import Frame, TransactionError, data_frame
from .layout import RhOp
from .record import Record, decode_control
from .reliability import PSN_BITS, SESSION, OnData, on_data
from .requests import pack_transactions
from .target import Answer, Target


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What an ACK, a NACK or a DATA frame says: all up to ``psn`` of (peer, path, vc) has been accepted."""

    peer: int
    path: int
    vc: int
    psn: int
    is_nack: bool


@dataclass(frozen=True, slots=True)
class Received:
    """What became of one frame.

    ``verdict`` is ACCEPT, or the counter that went up; ``frames`` go back; ``control`` is the body of a CONTROL frame.
    """

    verdict: str
    frames: tuple[bytes, ...] = ()
    acknowledged: Acknowledged | None = None
    control: Record | None = None


class Endpoint:
    """One endpoint without a clock.

    Parameters
    ----------
    endpoint_id
        Its id, 0 .. 1023.
    target
        What executes requests.
    partitions
        That it belongs to.
    """

    def __init__(self, endpoint_id: int, target: Target, partitions: Collection[int] = (0,)) -> None:
        self.endpoint_id = endpoint_id
        self.target = target
        self.counters: Counter[str] = Counter()
        self._partitions = frozenset(partitions)
        self._spaces: dict[tuple[int, int, int], np.recarray] = {}
        self._next_psn: Counter[tuple[int, int, int]] = Counter()

    def receive(self, data: Bytes) -> Received:
        """Take one frame, OEFH to FCS. Answers carry the acknowledgement of the space that they answer."""
        error: TransactionError | None = None
        try:
            frame = decode(data, self.target.wire, dst_id=self.endpoint_id, partitions=self._partitions)
        except TransactionError as caught:
            frame, error = caught.frame, caught
        except WireError as caught:
            return self._count(caught.reason)
        rh, path = frame.rh, frame.oefh.path_id
        told = Acknowledged(rh.src, path, rh.ack_vc, rh.ack_psn, rh.op == RhOp.NACK) if rh.ack else None
        if rh.op == RhOp.CONTROL:
            try:
                return Received("ACCEPT", (), told, decode_control(frame.control))
            except WireError as caught:
                return self._count(caught.reason, told)
        if rh.op != RhOp.DATA:
            return Received("ACCEPT", (), told)
        space = self._space(rh.src, path, rh.vc)
        verdict = OnData(on_data(space[0], rh.psn, PSN_BITS, 0))
        if verdict is not OnData.ACCEPT:
            return self._count(verdict.name, told)
        if error is not None:
            self.counters[error.reason] += 1
        answers = self.target.execute(frame) if error is None else self.target.refuse(error)
        frames = tuple(encode(one, self.target.wire) for one in self._frames(frame, answers))
        return Received("ACCEPT" if error is None else error.reason, frames, told)

    def _count(self, name: str, told: Acknowledged | None = None) -> Received:
        self.counters[name] += 1
        return Received(str(name), (), told)

    def _space(self, src: int, path: int, vc: int) -> np.recarray:
        key = src, path, vc
        if key not in self._spaces:
            self._spaces[key] = np.zeros(1, SESSION).view(np.recarray)
        return self._spaces[key]

    def _frames(self, request: Frame, answers: list[Answer]) -> list[Frame]:
        """Pack answers by VC; the first frame acknowledges the request's space."""
        rh, oefh = request.rh, request.oefh
        ack: tuple[int, int] | None = (rh.vc, rh.psn)
        out = []
        for vc in sorted({one.vc for one in answers}):
            listed = [one.transaction for one in answers if one.vc == vc]
            for packed in pack_transactions(listed, self.target.wire.frame_max):
                key = rh.src, oefh.path_id, vc
                psn = self._next_psn[key] & (1 << PSN_BITS) - 1
                self._next_psn[key] += 1
                out.append(
                    data_frame(
                        self.endpoint_id,
                        rh.src,
                        vc,
                        psn,
                        packed,
                        entropy=oefh.entropy,
                        partition=rh.partition,
                        ack=ack,
                    )
                )
                ack = None
        return out
