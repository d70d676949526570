"""Streams: messages come out whole, wherever the packets were cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.sip.message.framing import Framer, Ping
from gateway.lines.sip.message.message import MAX_BYTES
from tests.gateway.lines.sip.support import SDP, request

ITEMS = [request("INVITE", body=SDP), request("OPTIONS"), b"\r\n\r\n"]


@given(st.lists(st.sampled_from(ITEMS), max_size=6), st.lists(st.integers(1, 400), max_size=30))
def test_any_cut_gives_the_same_messages(items: list[bytes], cuts: list[int]) -> None:
    data, framer = b"".join(items), Framer()
    found: list[bytes | Ping] = []
    for size in [*cuts, len(data) + 1]:
        piece, data = data[:size], data[size:]
        found += framer.feed(piece)
    assert found == [Ping() if item == b"\r\n\r\n" else item for item in items]
    assert not framer.partial


def test_a_pong_before_a_message_is_passed_over() -> None:
    framer = Framer()
    assert framer.feed(b"\r\n") == []
    assert not framer.partial
    assert framer.feed(request("OPTIONS")) == [request("OPTIONS")]


def test_what_never_ends_is_given_up() -> None:
    framer = Framer()
    with pytest.raises(ValueError):
        framer.feed(b"INVITE " + b"x" * MAX_BYTES)


def test_a_length_beyond_bounds_is_given_up() -> None:
    with pytest.raises(ValueError):
        Framer().feed(b"OPTIONS sip:a SIP/2.0\r\nContent-Length: 9999999\r\n\r\n")
