"""The story: what a person reads of a call."""

from __future__ import annotations

import io

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.style import Style

from gateway.observe.lines import parse
from gateway.observe.story import BAR_CELLS, STAGES, Story, bar, cut
from tests.support.log_lines import CALL, Fields, line, stages, story, whole


def told(lines: list[bytes], tagged: bool = False) -> list[str]:
    """Tell lines on paper without colour; give what is printed, without ends of lines."""
    out = io.StringIO()
    console = Console(file=out, width=130, highlight=False)
    teller = Story(tagged)
    for each in lines:
        for row in teller.tell(parse(each)):
            console.print(row)
    return [text.rstrip() for text in out.getvalue().splitlines() if text.strip()]


def one(event: str, fields: Fields, at: float = 5.0) -> list[str]:
    return told([line(at, event, fields)])


def test_a_whole_call_is_told_in_the_order_it_was_heard() -> None:
    lines = told(story())
    assert CALL in lines[0]
    assert "+12065550142 → workshop" in lines[0]
    starts = [text.split()[:3] for text in lines[1:]]
    assert [start for start in starts if start[1:2] in (["agent"], ["caller"])] == [
        ["0.40", "agent", "Thank"],
        ["12.58", "caller", "Hi"],
        ["12.84", "agent", "I'm"],
        ["23.41", "caller", "Sure."],
        ["24.12", "agent", "Thank"],
        ["28.20", "caller", "It's"],
        ["29.90", "agent", "I"],
    ]
    assert lines[-1].split("  ")[-1] == (
        "ended by agent · goodbye · 44.7 s · 3 turns · late frames 0 · missing frames 0"
    )


def test_what_happened_while_the_agent_spoke_follows_its_words() -> None:
    lines = told(story())
    murmur = next(n for n, text in enumerate(lines) if "Uh-huh" in text)
    assert "I'm sorry to hear that" in lines[murmur - 1]


def test_a_tool_is_told_once_and_bills_are_not() -> None:
    lines = told(story())
    assert [text.split()[2:4] for text in lines if " tool " in text] == [["free_times", "done"]]
    assert not [text for text in lines if "tokens" in text]


def test_a_turn_says_its_stages_and_why_it_ended() -> None:
    lines = told(
        [
            whole(9.0, "turn_ended", late=True, keys=None),
            whole(
                9.4, "turn", **stages(0.24, 0.06, 0.0, 0.16, 0.1), acknowledged=0.5, drafted=False
            ),
        ]
    )
    assert lines[0].split()[0] == "9.40"
    assert "0.56 s" in lines[0]
    assert lines[1].strip().split("  ") == [
        "end of turn 240",
        "words 60",
        "voice 160",
        "line 100",
        "semantic 0.93, detector late · filler after 0.50 s",
    ]


def test_an_interrupted_reply_says_how_much_was_heard() -> None:
    lines = told(story())
    at = next(n for n, text in enumerate(lines) if "Mr. Siciliy" in text)
    assert lines[at + 1].strip().split(" · ") == [
        "cut in on",
        "heard 1.21 s of 3.40 s (±0.02)",
        "silent 0.23 s after the caller began",
        "by words",
    ]


def test_what_was_not_heard_is_struck() -> None:
    said = cut("Thank you, Mr. Siciliy. What make?", "Thank you, Mr.")
    (rest,) = said.spans
    assert said.plain[rest.start : rest.end] == "Siciliy. What make?"
    assert isinstance(rest.style, Style)
    assert rest.style.strike
    assert cut("All of it.", "All of it.").spans == []
    assert cut("", "only heard").plain == "only heard"


def test_calls_are_told_apart_by_their_tags() -> None:
    lines = told(
        [line(1.0, "key", {"keys": "1"}, "CAaaaa"), line(1.0, "key", {"keys": "2"}, "CAbbbb")], True
    )
    assert [text.split()[0] for text in lines] == ["aaaa", "bbbb"]


def test_an_event_nobody_knows_is_told_plainly() -> None:
    assert one("odd_thing", {"why": "x", "list": [1, 2], "deep": {"a": 0.5}})[0].split("  ")[
        -1
    ] == ("odd thing · why x · list 1, 2 · deep {a 0.5}")


def test_a_line_of_the_process_shows_the_time_of_day() -> None:
    (text,) = told([line(0.0, "listening", {"port": 8080}, call="")])
    assert text.split()[0].count(":") == 2


def test_markup_in_what_callers_say_stays_text() -> None:
    assert one("caller_spoke", {"text": "[red]hello[/red] [/]"})[0].endswith("[red]hello[/red] [/]")


def test_control_characters_reach_no_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    lines = [
        line(1.0, "caller_spoke", {"text": evil}),
        whole(1.0, "call_started", **{"from": evil, "agent": evil, "line": evil, "codec": evil}),
        whole(1.0, "interrupted", text=evil, heard_text=evil, evidence=evil),
        whole(1.0, "interrupted", text=evil, heard_text="", heard=0, stop_delay=None),
        whole(1.0, "agent_spoke", text=evil),
        whole(1.0, "turn_ended", keys=evil),
        whole(1.0, "turn"),
        whole(1.0, "backchannel", text=evil),
        whole(1.0, "resumed", kind=evil),
        whole(1.0, "draft", why=evil),
        whole(1.0, "tool", name=evil, effect=evil),
        whole(1.0, "fault", part=evil, reason=evil),
        whole(1.0, "input_dropped", kind=evil),
        whole(1.0, "transfer", reason=evil),
        whole(1.0, "call_ended", reason=evil, quality={evil: evil}),
        line(1.0, evil, {evil: evil}),
    ]
    for text in told(lines):
        assert text.isprintable()


STAGE = st.floats(0, 2, allow_nan=False)


@given(st.lists(STAGE, min_size=5, max_size=5))
def test_a_bar_is_as_long_as_the_response(seconds: list[float]) -> None:
    drawn = bar(dict(zip(STAGES, seconds, strict=True)))
    cells = sum(seconds) / 0.04
    if cells > BAR_CELLS:
        assert drawn.plain[BAR_CELLS - 1 :].rstrip("…") != ""
        assert len(drawn.plain) <= BAR_CELLS + 1
    else:
        assert abs(len(drawn.plain) - cells) <= 1


FIELD = st.one_of(
    st.none(), st.text(max_size=9), st.floats(), st.integers(), st.lists(st.integers(), max_size=2)
)
NAMES = st.sampled_from(
    [
        *("text", "heard_text", "heard", "queued", "error", "stop_delay", "seconds", "why"),
        *("probability", "stages", "response", "late", "acknowledged", "drafted", "draft_saved"),
        *("outcome", "kind", "from", "quality", "reason", "name", "arguments"),
    ]
)
EVENTS = st.sampled_from(
    [
        *("call_started", "caller_spoke", "agent_spoke", "interrupted", "turn_ended", "turn"),
        *("draft", "backchannel", "resumed", "tool", "fault", "call_ended", "other"),
    ]
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # a machine may be busy
@given(st.lists(st.tuples(EVENTS, st.dictionaries(NAMES, FIELD, max_size=6)), max_size=6))
def test_no_field_however_odd_stops_the_telling(events: list[tuple[str, Fields]]) -> None:
    told([line(1.0, event, fields) for event, fields in events], tagged=True)
