"""Encoder, decoder, interleaving and packing; parity and corrections equal to those of reedsolo."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from fec_words import messages, reedsolo_codec, some, spoilt
from reedsolo import ReedSolomonError

from scalefab.compiled import jit_enabled
from scalefab.errors import InputError
from scalefab.protocol import fec, gf
from scalefab.protocol.fec import RS272, RS528, RS544, UNCORRECTABLE, Fec, Pad, ReedSolomon
from scalefab.protocol.fec_codes import CODES, Code
from scalefab.protocol.reed_solomon import _feedback_table

CODERS = pytest.mark.parametrize("coder", [RS272, RS528, RS544], ids=lambda coder: coder.code.name)

# Open profile section 3.
GENERATOR_14 = "1 904 6 701 32 656 925 900 614 391 592 265 945 290 432"
GENERATOR_30 = (
    "1 575 552 187 230 552 1 108 565 282 249 593 132 94 720 495 385 942 503 883 361 788 610 193 392 127 185 158 128 834 523"
)


def test_generators_are_the_profile_s() -> None:
    for coder, text in ((RS272, GENERATOR_14), (RS528, GENERATOR_14), (RS544, GENERATOR_30)):
        assert coder.generator == tuple(int(word) for word in text.split())


def test_the_field() -> None:
    assert len(set(gf.EXP[: gf.ORDER].tolist())) == gf.ORDER
    random = np.random.default_rng(1)
    for a, b in random.integers(0, 1024, (300, 2)).tolist():
        product = 0
        for bit in range(10):
            product ^= (a << bit) if b >> bit & 1 else 0
        for bit in range(18, 9, -1):
            product ^= (gf.POLYNOMIAL << (bit - 10)) if product >> bit & 1 else 0
        assert gf.multiply(a, b) == product
        if b:
            assert gf.divide(product, b) == a


@CODERS
def test_parity_is_reedsolo_s(coder: ReedSolomon) -> None:
    message = messages(coder, some(5), 2)
    message[0] = 0
    word = coder.encode(message)
    assert word.dtype == np.uint16
    assert word.shape == (len(message), coder.code.n)
    codec = reedsolo_codec(coder)
    for row, sent in zip(message, word, strict=True):
        assert list(codec.encode(row.tolist())) == sent.tolist()


@CODERS
@pytest.mark.parametrize("beyond", [False, True])
def test_corrections_are_reedsolo_s(coder: ReedSolomon, beyond: bool) -> None:
    t = coder.code.t
    codec = reedsolo_codec(coder)
    word = coder.encode(messages(coder, 1, 3))
    for errors in (t + 1, t + 2, 3 * t) if beyond else range(t + 1):
        received = spoilt(word, errors, errors)
        corrected, found = coder.decode(received)
        try:
            expected = list(codec.decode(received[0].tolist())[1])
        except ReedSolomonError:
            expected = received[0].tolist()
            assert found[0] == UNCORRECTABLE
        else:
            assert found[0] == (received[0] != corrected[0]).sum() <= t
        assert corrected[0].tolist() == expected
        assert (found[0] == errors) is not beyond


@CODERS
def test_every_number_of_errors_up_to_t_is_corrected(coder: ReedSolomon) -> None:
    word = coder.encode(messages(coder, some(200, 1), 4))
    for errors in range(coder.code.t + 1) if jit_enabled() else (0, 1, coder.code.t):
        received = spoilt(word, errors, errors)
        kept = received.copy()
        corrected, found = coder.decode(received)
        assert (received == kept).all()
        assert (corrected == word).all()
        assert found.dtype == np.int16
        assert (found == errors).all()


@CODERS
def test_more_errors_are_detected_and_left(coder: ReedSolomon) -> None:
    word = coder.encode(messages(coder, some(300, 1), 5))
    for errors in (coder.code.t + 1, coder.code.n // 2, coder.code.n):
        received = spoilt(word, errors, errors)
        corrected, found = coder.decode(received)
        assert (found == UNCORRECTABLE).all()
        assert (corrected == received).all()


def test_a_word_near_another_codeword_becomes_that_one() -> None:
    """No decoder can know: g(x) is a codeword of 15 symbols, seven of which are missing; it is eight from what was sent."""
    other = np.zeros((1, 272), np.uint16)
    other[0, 100:115] = RS272.generator
    received = other.copy()
    received[0, 100:107] = 0
    corrected, found = RS272.decode(received)
    assert (corrected == other).all()
    assert found.tolist() == [7]


@CODERS
def test_errors_at_the_ends_and_in_the_parity(coder: ReedSolomon) -> None:
    word = coder.encode(messages(coder, 1, 6))
    t, n, k = coder.code.t, coder.code.n, coder.code.k
    for places in (range(t), range(n - t, n), range(k - t // 2, k - t // 2 + t), [0, n - 1]):
        received = word.copy()
        received[0, list(places)] ^= 0x3FF
        corrected, found = coder.decode(received)
        assert (corrected == word).all()
        assert found.tolist() == [len(places)]


def test_words_of_another_place_are_not_corrected() -> None:
    """A single error whose place lies in the part that the code was shortened by."""
    long = ReedSolomon(Code(Fec.RS528, "longer", 300, 286, 0))
    word = long.encode(np.zeros((1, 286), np.uint16))
    word[0, 3] = 5  # in front of what RS-272 sends
    remainder = RS272.encode(np.zeros((1, 258), np.uint16))
    remainder[0, 258:] = long.encode(word[:, :286])[0, 286:]  # same syndromes, all 272 places
    corrected, found = RS272.decode(remainder)
    assert found.tolist() == [UNCORRECTABLE]
    assert (corrected == remainder).all()


def test_golden_words_in_every_mode() -> None:
    """Compiled and interpreted code agree with one value."""
    told = []
    for coder in (RS272, RS528, RS544):
        symbols = (np.arange(coder.code.k) * 37 + 11) % 1024
        word = coder.encode(symbols.astype(np.uint16)[None, :])
        told.append(sha256(word.astype("<u2").tobytes()).hexdigest()[:16])
    assert told == ["b6425d9a03eecb21", "65b5dc8f9a619136", "a36e859d7066b4c8"]


def test_no_words_and_strided_words() -> None:
    assert RS272.encode(np.zeros((0, 258), np.uint16)).shape == (0, 272)
    corrected, found = RS272.decode(np.zeros((0, 272), np.uint16))
    assert corrected.shape == (0, 272)
    assert found.shape == (0,)
    message = messages(RS272, 4, 7)
    assert (RS272.encode(message[::2]) == RS272.encode(message)[::2]).all()
    wide = np.asfortranarray(message)
    wide.setflags(write=False)
    assert (RS272.encode(wide) == RS272.encode(message)).all()


@pytest.mark.parametrize(
    ("symbols", "told"),
    [
        (np.zeros(258, np.uint16), ["RS-272: message has the shape (258,); expected [m, 258]"]),
        (np.zeros((1, 257), np.uint16), ["RS-272: message has the shape (1, 257); expected [m, 258]"]),
        (np.zeros((1, 258), np.int64), ["RS-272: message has elements of int64; expected uint16"]),
        (np.full((1, 258), 1024, np.uint16), ["RS-272: message holds the symbol 1024; expected 0 .. 1023"]),
        (
            np.full((2, 3), -4),
            [
                "RS-272: message has elements of int64; expected uint16",
                "RS-272: message has the shape (2, 3); expected [m, 258]",
                "RS-272: message holds the symbol -4; expected 0 .. 1023",
            ],
        ),
        ([[1, 2]], ["RS-272: message is a list; expected an array of uint16[m, 258]"]),
    ],
)
def test_what_cannot_be_encoded(symbols: object, told: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        RS272.encode(symbols)  # type: ignore[arg-type]
    assert [str(problem) for problem in caught.value.problems] == told


def test_what_cannot_be_decoded() -> None:
    with pytest.raises(InputError, match=r"RS-544: word has the shape \(1, 514\); expected \[m, 544\]"):
        RS544.decode(np.zeros((1, 514), np.uint16))
    with pytest.raises(InputError, match="RS-272: word holds the symbol 65535"):
        RS272.decode(np.full((1, 272), 65535, np.uint16))


def test_a_code_of_too_much_parity_is_refused() -> None:
    with pytest.raises(ValueError, match="31 parity symbols; at most 30"):
        _feedback_table(gf.generator_polynomial(31))


@pytest.mark.parametrize("depth", [1, 2, 4, 16])
def test_interleaving(depth: int) -> None:
    word = np.arange(32 * 272, dtype=np.uint16).reshape(32, 272)
    line = fec.interleave(word, depth)
    assert line.shape == (32 // depth, 272 * depth)
    assert line[0, :depth].tolist() == word[:depth, 0].tolist()
    assert line[-1, -depth:].tolist() == word[-depth:, -1].tolist()
    assert (fec.deinterleave(line, depth) == word).all()
    assert not np.shares_memory(line, word)


def test_a_burst_is_shared_by_the_words_of_a_block() -> None:
    depth, length = 4, 4 * RS272.code.t
    word = RS272.encode(messages(RS272, depth, 8))
    line = fec.interleave(word, depth)
    line[0, 500 : 500 + length] ^= 0x155
    corrected, found = RS272.decode(fec.deinterleave(line, depth))
    assert (corrected == word).all()
    assert found.tolist() == [RS272.code.t] * depth


def test_what_cannot_be_interleaved() -> None:
    with pytest.raises(InputError, match="3 words of a block of 2; expected a multiple of 2"):
        fec.interleave(np.zeros((3, 272), np.uint16), 2)
    with pytest.raises(InputError, match=r"interleave 17; expected 1 \.\. 16"):
        fec.interleave(np.zeros((17, 272), np.uint16), 17)
    with pytest.raises(InputError, match="273 symbols of a block of 2 words"):
        fec.deinterleave(np.zeros((1, 273), np.uint16), 2)
    with pytest.raises(InputError, match=r"shape \(272,\); expected two dimensions"):
        fec.interleave(np.zeros(272, np.uint16), 2)


@pytest.mark.parametrize("which", [Fec.RS272, Fec.RS528, Fec.RS544])
def test_blocks_fill_a_message(which: Fec) -> None:
    code = CODES[which]
    blocks = np.random.default_rng(9).integers(0, 2, (3, code.blocks, 257), np.uint8)
    message = fec.pack_blocks(which, blocks)
    assert message.shape == (3, code.k)
    assert code.message_bits == code.blocks * 257 + 10 * code.pad_symbols
    bits = blocks[1].reshape(-1)
    assert int(message[1, 7]) == sum(int(bit) << i for i, bit in enumerate(bits[70:80]))  # first on the wire = least significant
    back, pad = fec.unpack_blocks(which, message)
    assert (back == blocks).all()
    assert pad.tolist() == [[0]] * 3 if which is Fec.RS272 else pad.size == 0
    assert (fec.unpack_blocks(which, fec.BY_FEC[which].encode(message)[:, : code.k])[0] == blocks).all()


def test_pad_by_prbs9_runs_on_from_word_to_word() -> None:
    blocks = np.zeros((600, 10, 257), np.uint8)
    whole = fec.pack_blocks(Fec.RS272, blocks, Pad.PRBS9)[:, -1]
    parts = [fec.pack_blocks(Fec.RS272, blocks[:250], Pad.PRBS9), fec.pack_blocks(Fec.RS272, blocks[250:], Pad.PRBS9, first=250)]
    assert whole.tolist() == np.concatenate(parts)[:, -1].tolist()
    bits = ((whole[:, None] >> np.arange(10)) & 1).reshape(-1)
    assert (bits[511:1022] == bits[:511]).all()
    assert bits[:511].sum() == 256  # a maximal sequence has one more 1 than 0
    assert (bits[9:511] == bits[:502] ^ bits[4:506]).all()  # x^9 + x^5 + 1
    assert fec.pad_symbols(3).tolist() == [0, 0, 0]


def test_what_cannot_be_packed() -> None:
    with pytest.raises(InputError, match=r"RS-272: blocks are uint8\[1, 20, 257\]; expected uint8\[m, 10, 257\]"):
        fec.pack_blocks(Fec.RS272, np.zeros((1, 20, 257), np.uint8))
    with pytest.raises(InputError, match="blocks hold the bit 2"):
        fec.pack_blocks(Fec.RS272, np.full((1, 10, 257), 2, np.uint8))
    with pytest.raises(InputError, match=r"RS-544: messages are uint16\[1, 544\]; expected uint16\[m, 514\]"):
        fec.unpack_blocks(Fec.RS544, np.zeros((1, 544), np.uint16))
