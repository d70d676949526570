"""The caller's messages and the gateway's fit together, though written apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.caller.twilio_wire import Clear, Mark, Media, Writer, parse
from gateway.lines.twilio import wire


def writer() -> Writer:
    return Writer("MZ1", "CA1", "AC1")


def test_a_stream_as_the_gateway_reads_it() -> None:
    write = writer()
    assert wire.parse(write.connected()) == wire.Connected()
    start = wire.parse(write.start({"token": "t"}))
    mulaw = wire.MediaFormat("audio/x-mulaw", 8000, 1)
    detail = wire.StartDetail("MZ1", "CA1", mulaw, "AC1", ("inbound",), {"token": "t"})
    assert start == wire.Start(detail, 1)
    assert wire.parse(write.media(b"abc", 40)) == wire.Media(
        wire.MediaDetail(b"abc", 40, "inbound"), "MZ1", 2
    )
    assert wire.parse(write.dtmf("5")) == wire.Dtmf(wire.KeyDetail("5"), "MZ1", 3)
    assert wire.parse(write.mark("g1:u1:160")) == wire.Mark(wire.MarkDetail("g1:u1:160"), "MZ1", 4)
    assert wire.parse(write.media(b"", 60)) == wire.Media(
        wire.MediaDetail(b"", 60, "inbound"), "MZ1", 5
    )
    assert wire.parse(write.stop()) == wire.Stop("MZ1")


@given(st.binary(max_size=400), st.text(min_size=1, max_size=30))
def test_the_gateways_messages_as_twilio_reads_them(sound: bytes, name: str) -> None:
    out = wire.Outgoing("MZ1")
    media = parse(out.media(sound), "MZ1")
    assert isinstance(media, Media)
    assert media.media.payload == sound
    mark = parse(out.mark(name), "MZ1")
    assert isinstance(mark, Mark)
    assert mark.mark.name == name
    assert isinstance(parse(out.clear, "MZ1"), Clear)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b'{"event":"media","streamSid":"MZ2","media":{"payload":""}}',
        b'{"event":"media","media":{"payload":""}}',
        b'{"event":"media","streamSid":"MZ1","media":{"payload":"!"}}',
        b'{"event":"hello","streamSid":"MZ1"}',
        b"[" * 100_000,
    ],
)
def test_what_twilio_would_not_understand(text: bytes) -> None:
    with pytest.raises(ValueError, match="31951"):
        parse(text, "MZ1")
