"""The vocabulary of Moonshine: a small made one, and the real one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.cascade.recognisers.moonshine_tokens import FIRST_PIECE, Tokens
from inference import find


def small(*pieces: str) -> Tokens:
    """Make a vocabulary: three special ones, the bytes, then these."""
    written = [b"<unk>", b"<s>", b"</s>", *(bytes([byte]) for byte in range(256))]
    written += [piece.encode() for piece in pieces]
    return Tokens(b"".join(_length(len(each)) + each for each in written))


def _length(count: int) -> bytes:
    return bytes([count]) if count < 128 else bytes([128 + count % 128, count // 128])


@pytest.fixture(scope="module")
def real() -> Tokens:
    return Tokens(find("moonshine", "tokenizer.bin").read_bytes())


def test_pieces_are_joined_with_their_spaces() -> None:
    tokens = small("\u2581Hel", "lo", "\u2581you")
    assert tokens.text([1, FIRST_PIECE, FIRST_PIECE + 1, FIRST_PIECE + 2, 2]) == "Hello you"


def test_bytes_write_what_no_piece_can() -> None:
    tokens = small("a")
    assert tokens.text([3 + byte for byte in "é".encode()]) == "é"
    assert tokens.encode("é")[-2:] == tuple(3 + byte for byte in "é".encode())


def test_the_pair_that_was_learnt_first_merges_first() -> None:
    first = small("a", "b", "c", "ab", "bc")
    assert first.encode("abc")[-2:] == (FIRST_PIECE + 3, FIRST_PIECE + 2)
    second = small("a", "b", "c", "bc", "ab")
    assert second.encode("abc")[-2:] == (FIRST_PIECE, FIRST_PIECE + 3)


def test_a_long_piece_has_a_length_of_two_bytes() -> None:
    long = "x" * 300
    assert small("\u2581", long).text([FIRST_PIECE + 1]) == long


def test_a_file_that_breaks_off_is_refused() -> None:
    whole = find("moonshine", "tokenizer.bin").read_bytes()
    for cut in (whole[:-1], whole[:300], b"", b"\x80"):
        with pytest.raises(ValueError, match="tokenizer"):
            Tokens(cut)


def test_the_real_one_writes_words_as_the_model_does(real: Tokens) -> None:
    # Taken down from what the model itself wrote about recorded speech.
    assert real.text(real.encode("service light")) == "service light"
    assert len(real.encode("service light")) == 2
    assert len(real.encode("my name is")) == 3
    assert len(real) == 32768


@given(text=st.text(st.characters(exclude_characters="\u2581", exclude_categories=("Cs",))))
def test_text_comes_back(text: str, real: Tokens) -> None:
    assert real.text(real.encode(text)) == text.strip()
