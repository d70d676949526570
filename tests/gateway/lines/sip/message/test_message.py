"""Messages: tolerant in what is read, strict in what is written, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.sip.message.address import NameAddr, Via, parse_uri, split_quoted
from gateway.lines.sip.message.message import (
    MAX_BYTES,
    Malformed,
    Request,
    Response,
    clean,
    parse,
    reply,
    via_texts,
    vias,
)
from tests.gateway.lines.sip.support import FAR, core, request, take

printable = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=40)
token = st.text("abcdefghijklmnopqrstuvwxyz0123456789-.!%*_+`'~", min_size=1, max_size=20)


def test_a_request_survives_the_wire() -> None:
    data = request("INVITE", "X-Custom: one", "X-Custom: two", body=b"v=0\r\n")
    first = parse(data)
    assert isinstance(first, Request)
    again = parse(first.encode())
    assert isinstance(again, Request)
    assert again.encode() == first.encode()
    assert again.headers.getlist("X-Custom") == ["one", "two"]
    assert again.body == b"v=0\r\n"


@given(printable, token, token)
def test_an_address_survives_the_wire(name: str, user: str, tag: str) -> None:
    one = NameAddr(f"sip:{user}@example.com", name.strip(), (("tag", tag), ("flag", None)))
    assert NameAddr.parse(str(one)) == one
    assert one.tag == tag


@given(token, st.integers(0, 65535), token)
def test_a_via_keeps_what_it_holds(host: str, port: int, branch: str) -> None:
    plain = "".join(char for char in host if char.isalnum()) or "h"
    via = Via.parse(f"SIP/2.0/UDP {plain}:{port};branch={branch};rport")
    assert (via.host, via.port, via.get("branch"), via.get("rport")) == (plain, port, branch, "")


def test_folded_and_compact_headers_are_read() -> None:
    data = request("OPTIONS", "k: timer,", " 100rel", "s: a\tb").replace(b"Via:", b"v  :")
    message = parse(data)
    assert message.headers.get("Supported") == "timer, 100rel"
    assert len(vias(message)) == 1


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    message = parse(request("OPTIONS").replace(b"Max-Forwards", b"X-Odd: \xff\xfe\r\nMax-Forwards"))
    assert message.headers.get("X-Odd") == "\ufffd\ufffd"


def test_no_value_can_begin_a_line_of_its_own() -> None:
    answer = Response(200, "OK")
    answer.headers.set("X-Name", "one\r\nX-Evil: yes\n\0")
    assert b"\r\nX-Evil" not in answer.encode()
    assert clean("a\r\nb\x1b[31m") == "a  b [31m"


def test_too_large_a_message_is_refused() -> None:
    with pytest.raises(Malformed) as caught:
        parse(b"x" * (MAX_BYTES + 1))
    assert caught.value.code == 513


def test_a_reply_repeats_what_it_must_and_adds_a_tag_once() -> None:
    asked = parse(request("INVITE", "Record-Route: <sip:p.example.com;lr>"))
    assert isinstance(asked, Request)
    answer = reply(asked, 180, "mine")
    assert via_texts(answer) == via_texts(asked)
    assert answer.headers["To"] == "<sip:bot@192.0.2.1>;tag=mine"
    again = parse(request("BYE", to_tag="old"))
    assert isinstance(again, Request)
    assert reply(again, 200, "mine").headers["To"].count("tag=") == 1
    assert "tag=" not in reply(asked, 100, "mine").headers["To"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a, b", ["a", "b"]),
        ('"x, y" <sip:a>, <sip:b,c>', ['"x, y" <sip:a>', "<sip:b,c>"]),
        (r'"x\", y", b', [r'"x\", y"', "b"]),
    ],
)
def test_splitting_heeds_quotes(text: str, parts: list[str]) -> None:
    assert split_quoted(text, ",") == parts


@pytest.mark.parametrize("text", ['"open', "<open"])
def test_what_stays_open_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not closed"):
        split_quoted(text, ",")


def test_uris_with_odd_hosts() -> None:
    assert parse_uri("SIP:bot@my_host:5070;transport=tcp").host == "my_host"
    assert parse_uri("sip:[2001:db8::1]:5060").host == "[2001:db8::1]"
    assert parse_uri("tel:+49-30-1234").user == "+49-30-1234"
    with pytest.raises(ValueError):
        parse_uri("sip:bot@host:99999")


# --- fuzz ----------------------------------------------------------------------------------------

SEEDS = [
    request("INVITE", body=b"v=0\r\no=- 1 1 IN IP4 192.0.2.9\r\ns=-\r\nm=audio 4 RTP/AVP 0\r\n"),
    request("OPTIONS", "Require: a, b", "Accept: text/plain"),
    request("BYE", to_tag="x"),
    request("CANCEL"),
    request("INVITE", "Replaces: a;to-tag=b;from-tag=c", 'Contact: "x" <sip:a@b>;q=1'),
    request("REFER", "Refer-To: <sip:a@b?Replaces=c>", to_tag="x"),
    b"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKa\r\nFrom: <sip:a@b>;tag=1\r\n"
    b"To: <sip:a@b>;tag=2\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n\r\n",
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Take an honest message and spoil it in a few places."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0:
                data[at:at] = draw(st.binary(max_size=8))
            case 1:
                del data[at : at + draw(st.integers(1, 20))]
            case 2:
                data[at : at + 1] = draw(st.sampled_from([b"\r\n", b"\n ", b'"', b"<", b";", b","]))
            case _:
                piece = draw(st.sampled_from(SEEDS))
                data[at:at] = piece[: draw(st.integers(0, len(piece)))]
    return bytes(data)


@given(st.one_of(st.binary(max_size=2000), mutated()))
def test_nothing_from_the_wire_raises(data: bytes) -> None:
    it = core()
    for effect in take(it, data):
        encoded = getattr(effect, "message", None)
        if encoded is not None:
            encoded.encode()
    it.tick(1.0)


@given(st.lists(mutated(), max_size=12))
def test_nothing_stays_after_a_flood(messages: list[bytes]) -> None:
    it = core()
    for number, data in enumerate(messages):
        take(it, data, FAR, float(number))
    for second in range(200):
        it.tick(20.0 + second)
    assert it.deadline is None
    assert len(it) == 0
