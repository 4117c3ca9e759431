"""Multi-path: which of the live paths a page or a packet takes (open profile section 5).

VC 0 is bound to a path by the 4 KiB page of its address (`page_hash`, `bound_path`): order holds a page. VC 2 sprays by a
policy (`Spray`), each path its own PSN space. VC 1, ACK and NACK take the path of what they answer.

Origin: multi-path with re-ordering left to the upper layer is `pub`; hash, constants and policies are `own`.
"""

from __future__ import annotations

from enum import IntEnum

from ..compiled import compiled


class Spray(IntEnum):
    """Policy of VC 2, per operation; the numbers stand in compiled code."""

    HASH = 0  #: the whole message on the path of its address
    #: packet i in turn (i + i div n + offset) mod n, offset going on from the pair's operation before, at first its hash;
    #: turns take ports before uplink ids (`tiers.sprayed_place`)
    ROUND_ROBIN = 1
    LEAST_QUEUED = 2  #: whichever path's port is free first takes the next packet
    SINGLE = 3  #: the first live path


SPRAY_HASH, SPRAY_ROUND_ROBIN, SPRAY_LEAST_QUEUED, SPRAY_SINGLE = range(4)

_GOLDEN_HI = 0x9E3779B9  # the constant 0x9E3779B97F4A7C15 (own: Fibonacci hashing) in two halves:
_GOLDEN_LO = 0x7F4A7C15  # a product modulo 2^64 must not overflow a signed integer
_M32 = 0xFFFFFFFF


@compiled
def page_hash(address: int, dst: int) -> int:
    """Return h of section 5: ((((address >> 12) xor (dst << 45)) x golden) mod 2^64) >> 48; 16 bits."""
    x_hi = ((address >> 44) ^ (dst << 13)) & _M32  # bits 32..63 of (address >> 12) xor (dst << 45)
    x_lo = (address >> 12) & _M32
    # modulo 2^64: hi = x_hi * g_lo + x_lo * g_hi + carry(x_lo * g_lo); each partial product fits 48 bits by halves
    carry = _mul_hi32(x_lo, _GOLDEN_LO)
    high = (_mul_lo32(x_hi, _GOLDEN_LO) + _mul_lo32(x_lo, _GOLDEN_HI) + carry) & _M32
    return high >> 16


@compiled
def _mul_lo32(a: int, b: int) -> int:
    """Return a x b mod 2^32 for 32-bit a and b, with no intermediate above 2^49."""
    return (a * (b & 0xFFFF) + (((a * (b >> 16)) & 0xFFFF) << 16)) & _M32


@compiled
def _mul_hi32(a: int, b: int) -> int:
    """Return a x b >> 32 for 32-bit a and b, with no intermediate above 2^50."""
    low = a * (b & 0xFFFF)
    high = a * (b >> 16)
    return (high + (low >> 16)) >> 16


@compiled
def bound_path(h: int, paths: int) -> int:
    """Return the path index (among the pair's ``paths`` live or not, ascending) that hash ``h`` is bound to."""
    return (h * paths) >> 16


@compiled
def fallback_weight(h: int, path_id: int) -> int:
    """Return the rendezvous weight of a live path for a bucket whose own path is not live; the largest wins, tie lowest id."""
    return ((h ^ (257 * path_id)) * 0x9E37) & 0xFFFF


@compiled
def sprayed_path(packet: int, offset: int, paths: int) -> int:
    """Return the path index of packet ``packet`` of an operation under round robin that starts at ``offset``.

    After each round the next one starts one path further (`own`): else messages whose packets share a factor with the number of
    paths put all their short last packets on the same paths (measured: 1.75 times the bound with 2 KiB messages on 8 paths).
    """
    return (packet + packet // paths + offset) % paths


@compiled
def sprayed_count(packets: int, offset: int, paths: int, path: int) -> int:
    """Return how many of an operation's ``packets`` go to path index ``path`` under round robin."""
    rounds = packets // paths
    place = (path - offset - rounds) % paths  # of the path in the last, unfinished round
    return rounds + (1 if place < packets - rounds * paths else 0)


@compiled
def sprayed_next(packet: int, paths: int) -> int:
    """Return the next packet on the path of ``packet``: one round on, one place earlier; from place 0 to the last place."""
    return packet + (paths - 1 if packet % paths > 0 else 2 * paths - 1)


@compiled
def entropy(stack: int, port: int, uplink: int, h: int) -> int:
    """Return the OEFH entropy word: stack 4, port 2, uplink 4, hash 6."""
    return (stack << 12) | (port << 10) | (uplink << 6) | (h & 63)


@compiled
def path_id(stack: int, port: int, uplink: int) -> int:
    """Return the 10-bit path id: the first ten bits of entropy."""
    return (stack << 6) | (port << 4) | uplink
