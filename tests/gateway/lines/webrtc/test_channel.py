"""The messages of page and gateway."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.webrtc import channel


def test_ours_say_their_version_and_type() -> None:
    caption = channel.Caption(who="agent", id=3, text="Hé", final=True)
    assert json.loads(channel.encode(caption)) == {
        "v": 1,
        "type": "caption",
        "who": "agent",
        "id": 3,
        "text": "Hé",
        "final": True,
        "interrupted": False,
    }
    hello = channel.Hello(call="WR1", agent="desk", seconds=60.0)
    assert json.loads(channel.encode(hello))["type"] == "hello"


def test_theirs_are_read() -> None:
    assert channel.decode('{"v":1,"type":"mute","muted":true}') == channel.Mute(v=1, muted=True)
    assert channel.decode('{"v":1,"type":"text","text":"hi"}') == channel.Text(v=1, text="hi")
    assert channel.decode('{"v":1,"type":"keys","keys":"1#"}') == channel.Keys(v=1, keys="1#")
    answer = channel.decode('{"v":1,"type":"answer","proposal":"a1","yes":true}')
    assert answer == channel.Answer(v=1, proposal="a1", yes=True)
    played = channel.decode('{"v":1,"type":"played","rtp":4294967295,"age_ms":12.5}')
    assert played == channel.Played(v=1, rtp=4294967295, age_ms=12.5)
    more = channel.decode('{"v":1,"type":"mute","muted":false,"since":"later versions"}')
    assert more == channel.Mute(v=1, muted=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"type":"mute","muted":true}',
        '{"v":2,"type":"mute","muted":true}',
        '{"v":1,"type":"dance"}',
        '{"v":1,"type":"mute","muted":"yes"}',
        '{"v":1,"type":"text","text":"' + "x" * 2001 + '"}',
        '{"v":1,"type":"keys","keys":"1x"}',
        '{"v":1,"type":"played","rtp":-1,"age_ms":0}',
        '{"v":1,"type":"played","rtp":1,"age_ms":1e9}',
        '{"v":1,"type":"played","rtp":1,"age_ms":NaN}',
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        channel.decode(text)


@given(st.text(max_size=80))
def test_garbage_is_refused_and_nothing_else_happens(text: str) -> None:
    with pytest.raises(ValueError):
        channel.decode(text)
