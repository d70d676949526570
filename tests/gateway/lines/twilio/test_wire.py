"""Messages are parsed as Twilio documents them, and whatever else comes raises ValueError."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.twilio import wire
from tests.gateway.lines.twilio.harness import CONNECTED, media_message, start_message


def parse(message: dict[str, Any]) -> wire.Message:
    return wire.parse(json.dumps(message).encode())


def test_the_documented_messages() -> None:
    assert parse(CONNECTED) == wire.Connected()
    started = parse(start_message(customParameters={"tenant": "acme"}))
    assert isinstance(started, wire.Start)
    assert started.sequence_number == 1
    assert started.start.media_format == wire.MediaFormat("audio/x-mulaw", 8000, 1)
    assert started.start.custom_parameters == {"tenant": "acme"}
    sound = bytes(range(160))
    assert parse(media_message(2, 5, sound)) == wire.Media(
        wire.MediaDetail(sound, 5, "inbound"), "MZ0a", 2
    )
    dtmf = {
        "event": "dtmf",
        "sequenceNumber": "9",
        "streamSid": "MZ0a",
        "dtmf": {"track": "inbound_track", "digit": "5"},
    }
    assert parse(dtmf) == wire.Dtmf(wire.KeyDetail("5"), "MZ0a", 9)
    mark = {
        "event": "mark",
        "sequenceNumber": "12",
        "streamSid": "MZ0a",
        "mark": {"name": "g1:u7:800"},
    }
    assert parse(mark) == wire.Mark(wire.MarkDetail("g1:u7:800"), "MZ0a", 12)
    stop = {
        "event": "stop",
        "sequenceNumber": "99",
        "streamSid": "MZ0a",
        "stop": {"accountSid": "AC1", "callSid": "CA1"},
    }
    assert parse(stop) == wire.Stop("MZ0a")


def test_an_unknown_event_is_kept_as_unknown() -> None:
    assert parse({"event": "weather", "media": 3}) == wire.Unknown("weather")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not a Media Streams message"),
        (b"\xff\xfe", "not a Media Streams message"),
        (b"[]", "not a Media Streams message"),
        (b'{"event":7}', "not a Media Streams message"),
        (b'{"event":"media"}', "malformed 'media' message"),
        (b'{"event":"media","media":{"payload":"!","timestamp":"1"}}', "base64"),
        (b'{"event":"media","media":{"payload":"AA==","timestamp":"x"}}', "timestamp"),
        (b'{"event":"start","start":{"streamSid":"MZ"}}', "malformed 'start' message"),
        (b'{"event":"mark","mark":{"name":3}}', "malformed 'mark' message"),
        (b'{"event":"media","x":' + b"[" * 100_000, "RecursionError"),
    ],
)
def test_what_is_no_message_is_told(text: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wire.parse(text)


@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    try:
        wire.parse(data)
    except ValueError:
        pass


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
some_keys = st.sampled_from(
    ["start", "media", "mark", "dtmf", "stop", "streamSid", "sequenceNumber", "payload", "name"]
)


@given(
    st.sampled_from([*sorted(wire.KNOWN), "other"]),
    st.dictionaries(some_keys, json_values | st.dictionaries(some_keys, json_values)),
)
def test_random_json_raises_nothing_else(event: str, rest: dict[str, Any]) -> None:
    try:
        parse({**rest, "event": event})
    except ValueError:
        pass


@given(st.binary(max_size=400), st.text(max_size=20), st.text(min_size=1, max_size=40))
def test_what_is_written_is_the_json_that_is_meant(sound: bytes, sid: str, name: str) -> None:
    out = wire.Outgoing(sid)
    media = json.loads(out.media(sound))
    assert base64.b64decode(media["media"].pop("payload"), validate=True) == sound
    assert media == {"event": "media", "streamSid": sid, "media": {}}
    assert json.loads(out.mark(name)) == {
        "event": "mark",
        "streamSid": sid,
        "mark": {"name": name},
    }
    assert json.loads(out.clear) == {"event": "clear", "streamSid": sid}
