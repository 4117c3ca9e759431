"""A second encoder, written from the profile's text alone: strings of bits and a bitwise CRC, no code of the product."""

from __future__ import annotations

from typing import Any


def bits(value: int, width: int) -> str:
    assert 0 <= value < 1 << width
    return format(value, f"0{width}b")


def crc32_bitwise(data: bytes) -> int:
    """IEEE 802.3: reflected 0x04C11DB7, initial and final xor all ones."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def to_bytes(text: str) -> bytes:
    assert len(text) % 8 == 0
    return int(text, 2).to_bytes(len(text) // 8, "big")


EIGHT_BYTE_TH = {0, 2, 5, 8, 10, 19, 22, 49, 63}


def transaction_bytes(t: dict[str, Any]) -> bytes:
    text = bits(t["opcode"], 6) + bits(t["order"], 2) + bits(t["scope"], 2) + bits(t["posted"], 1) + bits(t["last"], 1)
    text += bits(max(t["length"] - 1, 0), 12) + bits(t["kind"], 8) + bits(t["tag"], 16) + bits(t["context"], 16)
    if t["opcode"] not in EIGHT_BYTE_TH:
        text += bits(t["address"], 64)
    out = to_bytes(text)
    for part in map(bytes.fromhex, t["parts"]):
        out += part + bytes(-len(part) % 8)
    return out


def wire_id(plain: int, slap_safe: bool) -> str:
    return bits(0x02 | plain >> 8 << 4, 8) + bits(plain & 255, 8) if slap_safe else bits(plain, 16)


def frame_bytes(f: dict[str, Any], slap_safe: bool = False, poisoned: bool = False) -> bytes:
    """Build a frame from the flat fields of a test vector."""
    body = b"".join(map(transaction_bytes, f["transactions"])) + bytes.fromhex(f["control"])
    total = 14 + 2 + 8 + len(body) + 4
    head = (
        wire_id(f["dst_id"], slap_safe) + bits(0, 32) + wire_id(f["src_id"], slap_safe) + bits(total, 16) + bits(f["entropy"], 16)
    )
    rest = bits(0x88B6 if f["op"] == 3 else 0x88B5, 16)
    rest += bits(f["ar"], 1) + bits(0, 3) + bits(f["ttl"], 4) + bits(f["dscp"], 6) + bits(f["ecn"], 2)
    rest += bits(0, 2) + bits(f["op"], 2) + bits(f["again"], 1) + bits(0, 1) + bits(f["src"], 10) + bits(f["psn"], 16)
    rest += (
        bits(f["vc"], 2)
        + bits(f["ack_vc"], 2)
        + bits(f["ack"], 1)
        + bits(0, 1)
        + bits(f["partition"], 10)
        + bits(f["ack_psn"], 16)
    )
    covered = bytearray(to_bytes(head + rest) + body)
    covered[14] |= 0x7F
    covered[15] |= 0xFF
    tag = f["vlan"]
    tag_bits = "" if tag is None else bits(0x8100, 16) + bits(tag["pcp"], 3) + bits(tag["dei"], 1) + bits(tag["vid"], 12)
    frame = to_bytes(head + tag_bits + rest) + body + crc32_bitwise(bytes(covered)).to_bytes(4, "little")
    frame += bytes(max(0, 60 - total))
    crc = crc32_bitwise(frame)
    return frame + (crc ^ 0xFFFFFFFF if poisoned else crc).to_bytes(4, "little")
