"""Hostile JSON: every reader of the wire refuses it in its own words, and no writer chokes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.bridge import wire as bridge
from gateway.backends.cascade.models.reply import _arguments, _Call
from gateway.backends.cascade.recognisers import transcriptions
from gateway.backends.cascade.voices import openai_speech
from gateway.backends.gemini import wire as gemini
from gateway.backends.live import wire as live
from gateway.backends.nova import wire as nova
from gateway.backends.realtime import wire as realtime
from gateway.backends.session import known_arguments, tool_arguments
from gateway.lines.sip import http as sip_http
from gateway.lines.twilio import wire as twilio
from gateway.lines.webrtc import channel
from gateway.lines.webrtc.tokens import Passes, read_grant
from gateway.log_events import KeyLogged, UsageLogged
from gateway.observe import lines
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.plumbing.wire_json import DEEPEST, clean, decode, parse
from gateway.tools.functions import plain
from gateway.tools.http import _answer

DEEP = {
    "arrays": b"[" * 100_000,
    "objects": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "levels": b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1),
}
HOSTILE = {
    **DEEP,
    "integer": b"9" * 4000,
    "longer integer": b"9" * 100_000,
    "65 bits": b"18446744073709551616",
    "float": b"1e999",
    "not a number": b"NaN",
    "infinity": b"-Infinity",
    "half a pair": b'"\\ud800"',
    "half a pair in UTF-8": b'"\xed\xa0\x80"',
    "no UTF-8": b'"\xff"',
    "cut off": b'{"a":',
    "nothing": b"",
}

READERS: dict[str, Callable[[bytes], object]] = {
    "twilio": twilio.parse,
    "widget": lambda text: channel.decode(text.decode("latin-1")),
    "realtime": realtime.parse,
    "live": live.parse,
    "gemini": gemini.parse,
    "nova": nova.parse,
    "bridge": bridge.parse,
    "grant": read_grant,
    "call log": lines.parse,
    "dial": lambda text: decode(sip_http._ASKED, text),
    "transcription": transcriptions._parsed,
    "speech": openai_speech._parsed,
    "chat": lambda text: _arguments(_Call(name="book", arguments=[text.decode("latin-1")])),
    "anything": parse,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_text_that_is_hostile_as_a_whole_is_refused(reader: str, kind: str) -> None:
    if (reader, kind) == ("chat", "nothing"):
        return  # a tool without arguments
    with pytest.raises((ValueError, OSError)) as refused:
        READERS[reader](HOSTILE[kind])
    assert 0 < len(str(refused.value)) < 1000


ENVELOPES = {
    "twilio": b'{"event":"connected","protocol":"Call","x":%s}',
    "widget": b'{"v":1,"type":"mute","muted":true,"x":%s}',
    "realtime": b'{"type":"response.done","response":{"id":"r","usage":{"x":%s}},"x":%s}',
    "live": b'{"type":"session.closed","reason":"r","usage":{"x":%s},"x":%s}',
    "gemini": b'{"usageMetadata":{"x":%s},"x":%s}',
    "nova": b'{"event":{"usageEvent":{"details":{"x":%s}}},"x":%s}',
    "bridge": b'{"type":"tool","reply":1,"ask":"a","name":"n","arguments":{"x":%s}}',
    "grant": b'{"agent":"a","metadata":{"x":%s}}',
    "anything": b'{"x":%s}',
}


@pytest.mark.parametrize("reader", ENVELOPES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_hostile_inside_a_message_is_refused_or_can_be_written(
    reader: str, kind: str
) -> None:
    text = ENVELOPES[reader].replace(b"%s", HOSTILE[kind])
    try:
        read = READERS[reader](text)
    except (ValueError, OSError):
        return
    assert kind not in DEEP or reader == "twilio"  # it skips what it does not know
    msgspec.json.encode(read)
    assert not isinstance(read, dict), "what has no shape of its own is refused"


@pytest.mark.parametrize("reader", ENVELOPES)
def test_the_envelopes_are_messages(reader: str) -> None:
    READERS[reader](ENVELOPES[reader].replace(b"%s", b"1"))


@pytest.mark.parametrize("kind", HOSTILE)
def test_arguments_of_a_model_that_nobody_can_hold_count_as_none(kind: str) -> None:
    inside = '{"x":' + HOSTILE[kind].decode("latin-1") + "}"
    assert tool_arguments(HOSTILE[kind].decode("latin-1")) == {}
    assert kind in ("no UTF-8", "half a pair in UTF-8") or tool_arguments(inside) == {}
    assert known_arguments({"x": [{"y": 10**40}]}) == {}
    assert known_arguments({"x": [{"y": 10**4}]}) == {"x": [{"y": 10**4}]}


TEXTS = [kind for kind in HOSTILE if HOSTILE[kind].isascii()]


@pytest.mark.parametrize("kind", TEXTS)
def test_an_answer_of_a_tools_server_that_is_no_json_is_text(kind: str) -> None:
    text = HOSTILE[kind].decode()
    found = _answer(200, text)
    if not found.get("cut"):
        assert found == ({"result": text} if text else {})
        return
    kept = str(found["result"]).removesuffix(" … (cut)")
    assert kept != found["result"]
    assert text.startswith(kept)


@pytest.mark.parametrize("kind", HOSTILE)
def test_details_of_nova_that_are_no_json_are_none(kind: str) -> None:
    text = HOSTILE[kind].decode("latin-1")
    assert nova.Content("c", "TEXT", additional_model_fields=text).stage == ""
    assert not nova.Text("c", '"interrupted"' + text).interrupted


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_pass_with_a_hostile_head_is_invalid(kind: str) -> None:
    passes = Passes("k" * 40, 60.0, lambda: "name")
    for content in (HOSTILE[kind], b'{"alg":' + HOSTILE[kind] + b"}"):
        head = base64.urlsafe_b64encode(content).rstrip(b"=").decode()
        assert passes.look(f"{head}.e30.c2ln", 0.0) == "token_invalid"


def test_of_names_that_occur_twice_the_last_counts() -> None:
    assert parse('{"a":1,"a":2}') == {"a": 2}
    assert tool_arguments('{"a":1,"a":2}') == {"a": 2}


def test_depth_is_counted_outside_of_strings() -> None:
    said = "[{" * 500 + '\\"'
    assert parse(json.dumps({"said": said})) == {"said": said}
    assert parse("[" * DEEPEST + "]" * DEEPEST)
    assert len(parse("[" + "[]," * 500 + "[]]")) == 501


ODD: list[Any] = [
    "\ud800", float("nan"), float("inf"), 10**40, -(10**40), {"\udfff": "\ud83d\ude00"}, (1, [2]),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_what_a_tool_of_ones_own_gives_can_be_written(odd: Any) -> None:
    result = plain({"x": [odd]})
    assert parse(msgspec.json.encode(result)) == result
    assert json.loads(json.dumps(result, ensure_ascii=False, allow_nan=False)) == result


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    )
)
def test_what_is_clean_is_read_as_it_was_written(value: Any) -> None:
    cleaned = clean(value)
    assert parse(msgspec.json.encode(cleaned)) == cleaned


def test_a_result_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="deeply"):
        clean(endless)


@pytest.mark.parametrize("odd", [*ODD, object()], ids=lambda odd: type(odd).__name__)
def test_no_line_ends_the_call_log(tmp_path: Path, odd: Any) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with Journal(LogSettings(path=str(tmp_path / "log"))) as journal:
        log = journal.bind("c1", 0.0)
        log.write(UsageLogged(figures={"endless": endless}))
        log.write(UsageLogged(figures={"odd": odd}))
        log.write(KeyLogged(keys="1"))
    events = [lines.parse(raw) for raw in (tmp_path / "log").read_bytes().splitlines()]
    assert [line.event for line in events] == ["usage", "usage", "key"]
    assert "unwritable" in events[0].fields


PLAIN = re.compile(r"json\.loads\(|json\.decode\(|_(?:DECODER|TYPE)\.decode\(|\.json\(\)")
OWN = {
    "gateway/archive/__main__.py": "what its own gateway asks of it",
    "gateway/archive/reading.py": "what it wrote itself",
    "gateway/web/calls/pages.py": "what its own archive answers",
    "gateway/observe/running.py": "what it wrote itself, of a process that was killed",
    "gateway/tools/store.py": "what it wrote itself",
}


def test_all_json_of_the_wire_is_read_in_one_place() -> None:
    root = Path(__file__).parents[3]
    found = {
        str(path.relative_to(root))
        for path in (root / "gateway").rglob("*.py")
        if PLAIN.search(path.read_text())
    }
    assert found == set(OWN)
