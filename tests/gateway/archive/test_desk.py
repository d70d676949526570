"""The list of calls, a call's page, and the day: asked of a log that is written meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.made_up_calls import MadeUp, make_up, write_calls
from gateway.archive.asking import Archive, NoSuchCall
from gateway.archive.desk import Desk, Places
from gateway.observe.journal import timestamp

BEGAN = 1_770_000_000.0


class Bench:
    """A log that grows, and a desk that reads it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "calls.jsonl"
        self.desk = self.open()

    def open(self) -> Desk:
        places = Places(str(self.log), str(self.folder / "index/calls.sqlite"), str(self.folder))
        return Desk(places)

    def write(self, *lines: bytes) -> None:
        with self.log.open("ab") as file:
            file.write(b"".join(lines))

    def hold(self, *calls: MadeUp) -> None:
        for call in calls:
            self.write(*call.bytes())

    def ask(self, name: str, **given: Any) -> Any:
        while self.desk.read():
            pass
        return msgspec.json.decode(self.desk.answer(name, given))

    def names(self, **given: Any) -> list[str]:
        return [call["call"] for call in self.ask("calls", **given)["calls"]]

    def rotate(self) -> None:
        for number in range(9, 0, -1):
            older = self.log.with_name(f"calls.jsonl.{number - 1}") if number > 1 else self.log
            if older.exists():
                older.rename(self.log.with_name(f"calls.jsonl.{number}"))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    one = Bench(tmp_path)
    yield one
    one.desk.close()


def call(number: int, hours: float = 0.0, **told: Any) -> MadeUp:
    """Make a small call up, of which a test knows each line."""
    made = MadeUp(f"sip-{number}", BEGAN + 3600 * hours + number)
    started = {
        "line": "sip", "from": f"+4930{number}", "to": "+4940", "agent": "desk",
        "direction": "inbound", "codec": "pcmu", **told,
    }  # fmt: skip
    made.tell("call_started", **started)
    return made


def talk(made: MadeUp, words: str, response: float = 0.6, cut: bool = False) -> MadeUp:
    made.at += 2.0
    made.tell("turn_ended", turn=1, why="semantic", seconds=1.5)
    made.tell("caller_spoke", turn=1, text=words)
    made.at += response - 0.2
    stages = dict.fromkeys(("end_of_turn", "transcript", "first_token", "first_audio"), 0.1)
    made.tell("turn", turn=1, stages=stages | {"line": 0.2}, response=response, drafted=False)
    made.at += 1.0
    if cut:
        made.tell(
            "interrupted", utterance=2, kind="reply", heard=1.0, error=0.02, basis="sent",
            queued=3.0, heard_text="We open", text="We open at eight and close at six",
            evidence="words: no", stop_delay=0.2, turn=1,
        )  # fmt: skip
    else:
        made.tell("agent_spoke", utterance=2, kind="reply", text="Quite so", seconds=1.0, turn=1)
    return made


def end(made: MadeUp, by: str = "caller") -> MadeUp:
    made.at += 1.0
    made.tell("call_ended", reason="hung up", ended_by=by, seconds=made.at, turns=1)
    return made


def test_calls_are_found_by_what_is_asked(bench: Bench) -> None:
    bench.hold(
        end(talk(call(1), "my gearbox is broken")),
        end(talk(call(2, agent="hotel"), "Löffel and gear", response=2.0), "agent"),
        end(talk(call(3, line="twilio"), "opening hours", cut=True), "failure"),
        talk(call(4), "still here"),
    )
    assert bench.names() == ["sip-4", "sip-3", "sip-2", "sip-1"]
    assert bench.names(words="gearbox") == ["sip-1"]
    assert bench.names(words="gear") == ["sip-2", "sip-1"]
    assert bench.names(words="loffel AND") == ["sip-2"]
    assert bench.names(words='"; drop table calls; --') == []
    assert bench.names(words="close at six") == []  # nobody heard that
    assert bench.names(line="twilio") == ["sip-3"]
    assert bench.names(agent="hotel") == ["sip-2"]
    assert bench.names(number="49302") == ["sip-2"]
    assert bench.names(ended_by="agent") == ["sip-2"]
    assert bench.names(ended_by="nobody") == ["sip-4"]
    assert bench.names(slow=True) == ["sip-2"]
    assert bench.names(cut_in=True) == ["sip-3"]
    assert bench.names(faulty=True) == ["sip-3"]
    assert bench.names(since=timestamp(BEGAN + 2), until=timestamp(BEGAN + 3)) == ["sip-2"]
    found = bench.ask("calls", most=2)
    assert (found["total"], found["more"]) == (4, True)
    assert found["lines"] == ["sip", "twilio"]
    assert found["agents"] == ["desk", "hotel"]
    assert bench.names(after=found["calls"][-1]["number"]) == ["sip-2", "sip-1"]
    (one,) = bench.ask("calls", words="gearbox")["calls"]
    assert one["said"] == "my \x02gearbox\x03 is broken\nQuite so"


@pytest.mark.parametrize("given", [{"wrods": "x"}, {"most": "many"}, {"since": 5}])
def test_what_cannot_be_asked_is_said(bench: Bench, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        bench.ask("calls", **given)
    with pytest.raises(KeyError):
        bench.ask("call", call="nobody")


def test_a_call_appears_as_it_happens_and_is_followed_to_its_end(bench: Bench) -> None:
    one = call(1)
    bench.hold(one)
    (listed,) = bench.ask("calls")["calls"]
    assert not listed["over"]
    version = bench.ask("calls")["version"]
    assert bench.ask("calls")["version"] == version
    written = len(one.lines)
    end(talk(one, "hello there"))
    bench.write(*list(one.bytes())[written:])
    found = bench.ask("calls")
    assert found["version"] > version
    assert found["calls"][0]["over"]
    assert bench.names(words="there") == ["sip-1"]


def test_a_page_tells_what_was_heard_and_has_every_line(bench: Bench) -> None:
    one, other = end(talk(call(1), "opening hours", cut=True)), end(talk(call(2), "two"))
    both = zip(one.bytes(), other.bytes(), strict=True)
    bench.write(*(line for pair in both for line in pair))
    bench.write(b"not a line of ours\n")
    page = bench.ask("call", call="sip-1")
    assert page["lines"] == [msgspec.json.decode(line) for line in one.bytes()]
    (turn,) = page["story"]["turns"]
    assert turn["text"] == "opening hours"
    assert (turn["start"], turn["end"]) == (pytest.approx(0.3), pytest.approx(1.8))
    (said,) = page["story"]["utterances"]
    assert (said["heard_text"], said["text"]) == ("We open", "We open at eight and close at six")
    assert (said["start"], said["end"]) == (2.4, 3.4)
    assert not page["sound"]
    assert bench.ask("peaks", call="sip-1") is None


def test_calls_are_found_in_renamed_files_and_across_them(bench: Bench) -> None:
    first, over = end(talk(call(1), "one")), end(talk(call(2), "across"))
    lines = list(over.bytes())
    bench.hold(first)
    bench.write(*lines[:3])
    assert bench.names() == ["sip-2", "sip-1"]
    bench.rotate()
    bench.write(*lines[3:])
    assert bench.names(ended_by="caller") == ["sip-2", "sip-1"]
    assert len(bench.ask("call", call="sip-2")["lines"]) == len(lines)
    bench.desk.close()
    bench.desk = bench.open()
    bench.rotate()
    assert len(bench.ask("call", call="sip-2")["lines"]) == len(lines)


def test_what_the_log_forgets_the_index_forgets(bench: Bench) -> None:
    bench.hold(end(talk(call(1), "secret gearbox")))
    assert bench.names(words="gearbox") == ["sip-1"]
    bench.rotate()
    bench.hold(end(talk(call(2), "two")))
    assert bench.names() == ["sip-2", "sip-1"]
    bench.log.with_name("calls.jsonl.1").unlink()
    assert bench.names() == ["sip-2"]
    assert bench.names(words="gearbox") == []
    assert b"gearbox" not in b"".join(p.read_bytes() for p in (bench.folder / "index").iterdir())


def test_reading_again_counts_nothing_twice(bench: Bench) -> None:
    one = call(1)
    bench.hold(one, end(talk(call(2), "two")))
    refused = {"call": "", "at": 0, "event": "call_refused", "line": "sip", "cause": "calls"}
    head = {"ts": timestamp(BEGAN), "direction": "inbound", "count": 3}
    bench.write(msgspec.json.encode(refused | head) + b"\n")
    assert len(bench.names()) == 2
    bench.desk.close()
    bench.desk = bench.open()  # begins with the call that was in progress
    assert bench.names(ended_by="nobody") == ["sip-1"]
    other = bench.open()  # as a second gateway's
    written = len(one.lines)
    end(talk(one, "one"))
    bench.write(*list(one.bytes())[written:])
    while other.read():
        pass
    other.close()
    assert len(bench.names(ended_by="caller")) == 2
    asked = {"since": timestamp(BEGAN)[:13], "until": timestamp(BEGAN + 3600)[:13]}
    now = bench.ask("day", **asked)["now"]
    assert (now["calls"], now["turns"], now["refused"]) == (2, 2, 3)


def test_a_line_of_which_the_end_is_missing_is_waited_for(bench: Bench) -> None:
    lines = list(end(talk(call(1), "whole")).bytes())
    bench.write(*lines[:2], lines[2][:20])
    assert bench.names(ended_by="nobody") == ["sip-1"]
    bench.write(lines[2][20:], *lines[3:])
    assert bench.names(words="whole") == ["sip-1"]


def test_the_day_says_what_is_new_since_a_week(bench: Bench) -> None:
    bench.hold(
        *(end(talk(call(n, -24 * 7), "before", 0.5)) for n in range(1, 4)),
        *(end(talk(call(n), "now", 2.0, cut=True), "failure") for n in range(11, 13)),
    )
    hour = timestamp(BEGAN)[:13]
    day = bench.ask("day", since=hour, until=timestamp(BEGAN + 7200)[:13])
    assert day["hours"] == [hour, timestamp(BEGAN + 3600)[:13]]
    assert day["now"]["calls"] == day["by_hour"][0]["calls"] == 2
    assert day["now"]["response"]["p50"] == pytest.approx(2.0, rel=0.02)
    assert day["now"]["stages"]["line"] == pytest.approx(0.2, rel=0.02)
    assert (day["now"]["good"], day["before"]["good"]) == (0.0, 1.0)
    assert (day["now"]["cut_ins"], day["now"]["failed"]) == (2, 2)
    assert day["before"]["calls"] == 3
    (agent,) = day["agents"]
    assert (agent["name"], agent["now"]["calls"], agent["before"]["calls"]) == ("desk", 2, 3)
    assert bench.ask("day", since=hour, until=hour[:-2] + "23", agent="hotel")["now"]["calls"] == 0


@pytest.mark.parametrize(("since", "until"), [("now", "then"), ("2026-01-02T01", "2026-01-02T01")])
def test_hours_that_are_none_are_refused(bench: Bench, since: str, until: str) -> None:
    with pytest.raises(ValueError, match=r"hour|until"):
        bench.ask("day", since=since, until=until)


def test_many_calls_are_all_there(bench: Bench) -> None:
    dice = random.Random(5)
    bench.hold(*(make_up(n, BEGAN + n, dice) for n in range(60)))
    found = bench.ask("calls", most=100)
    assert found["total"] == len(found["calls"]) == 60
    assert all(call["over"] and call["turns"] for call in found["calls"])


def test_a_call_that_is_not_read_yet_is_looked_for(tmp_path: Path) -> None:
    dice = random.Random(5)
    write_calls(tmp_path / "calls.jsonl", (make_up(n, BEGAN + n, dice) for n in range(900)))
    archive = Archive(Places(str(tmp_path / "calls.jsonl"), str(tmp_path / "i.sqlite")))
    last = make_up(899, BEGAN, random.Random(1)).call.split("-")[1]
    try:
        names = [f"{line}-{last}" for line in ("sip", "twilio", "webrtc")]
        found = 0
        for name in names:
            try:
                found += bool(msgspec.json.decode(archive.ask("call", {"call": name}))["lines"])
            except NoSuchCall:
                continue
        assert found == 1
    finally:
        archive.close()
