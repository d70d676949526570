"""The vocabulary as data, and a log of every event, masked, as every command reads it back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import msgspec
import pytest

import gateway.observe.report
from gateway.__main__ import main
from gateway.log_events import CallSummaryLogged, LogEvent, Stages, UsageLogged, fields_of, name_of
from gateway.observe.journal import Journal
from gateway.observe.lines import brief, parse
from gateway.observe.privacy import Mask
from gateway.observe.report import report
from gateway.observe.settings import LogSettings
from gateway.observe.vocabulary import EVENTS, event_name, marks, schema
from gateway.web.feed import Feed
from tests.support.log_lines import CALL, SAMPLES

MASKS: tuple[Mask, ...] = get_args(Mask)


@pytest.fixture(params=MASKS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Mask, Path]:
    """A log with every event, under each mask."""
    path = tmp_path / "calls.jsonl"
    with Journal(LogSettings(str(path), mask=request.param)) as journal:
        call = journal.bind(CALL, 0.0)
        for event in SAMPLES:
            if not isinstance(event, CallSummaryLogged):  # the journal writes it by itself
                call.write(event)
    return request.param, path


def test_every_line_is_read_back_as_what_was_written(log: tuple[Mask, Path]) -> None:
    mask, path = log
    lines = [parse(raw) for raw in path.read_bytes().splitlines()]
    assert [type(line.told) for line in lines] == [type(each) for each in SAMPLES]
    if mask == "none":
        for line, each in zip(lines, SAMPLES, strict=True):
            assert line.told == each or isinstance(each, UsageLogged | CallSummaryLogged)


def test_a_line_is_told_the_same_in_brief(log: tuple[Mask, Path]) -> None:
    for raw in log[1].read_bytes().splitlines():
        whole, short = parse(raw), brief(raw)
        assert (short.ts, short.call, short.at, short.event) == (
            whole.ts, whole.call, whole.at, whole.event,
        )  # fmt: skip
        assert short.told == whole.told
        assert short.fields == (whole.fields if isinstance(whole.told, UsageLogged) else {})


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"ts": ""}', b"[" * 100])
def test_what_is_no_line_is_refused_in_brief_too(raw: bytes) -> None:
    for read in (parse, brief):
        with pytest.raises(ValueError):
            read(raw)


def test_every_line_is_what_the_schema_says(log: tuple[Mask, Path]) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    for raw in path_lines(log[1]):
        validator.validate(raw)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"ts": "", "call": "", "at": 0, "event": "fault", "part": "x"})


def path_lines(path: Path) -> list[Any]:
    return [json.loads(raw) for raw in path.read_bytes().splitlines()]


def test_no_personal_word_is_written_under_the_full_mask(log: tuple[Mask, Path]) -> None:
    mask, path = log
    personal = ("anna", "2065550100", "Jack", "Siciliy", "4711")
    found = {word for word in personal if word in path.read_text("utf-8")}
    assert found == {"none": set(personal), "partial": {"Jack", "Siciliy"}, "full": set()}[mask]


def test_stages_are_figures_under_every_mask(log: tuple[Mask, Path]) -> None:
    (turn,) = [line for line in path_lines(log[1]) if line["event"] == "turn"]
    assert msgspec.convert(turn["stages"], Stages) == Stages(0.24, 0.06, 0.02, 0.16, 0.1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["logs"],
        ["logs", "--json"],
        ["logs", "--call", CALL[-4:]],
        ["report"],
        ["report", "--json"],
    ],
    ids=" ".join,
)
def test_every_command_reads_the_log_back(
    log: tuple[Mask, Path], arguments: list[str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main([*arguments, "--file", str(log[1])]) == 0
    out, err = capfdbinary.readouterr()
    assert out
    assert not err


def test_the_page_of_calls_reads_the_log_back(log: tuple[Mask, Path]) -> None:
    feed = Feed(log[1])
    _, calls = feed.news(0)
    feed.close()
    (call,) = json.loads(calls)
    assert call["over"]
    assert call["turns"][0]["response"] == 0.58
    assert call["faults"] == ["voice: synthesis took over 10 s"]


def test_the_report_counts_the_same_under_every_mask(log: tuple[Mask, Path]) -> None:
    found = report([log[1]])
    assert (found.calls, found.response.median, found.cut_ins.count) == (1, 0.58, 1)
    assert found.bad_lines == 0


def test_the_report_asks_for_nothing_that_is_not_written() -> None:
    source = Path(gateway.observe.report.__file__).read_text("utf-8")
    events = set(re.findall(r"event = '(\w+)'", source))
    names = {name for each in SAMPLES for name in fields_of(each)} | {"ts", "call", "at", "event"}
    assert events <= {name_of(each) for each in SAMPLES}
    assert set(re.findall(r"\$\.(\w+)", source)) <= names


def test_the_schema_says_what_a_field_means_counts_and_hides() -> None:
    definitions = schema()["$defs"]
    interrupted = definitions["InterruptedLogged"]["properties"]
    assert interrupted["heard"]["x-unit"] == "seconds"
    assert interrupted["heard"]["description"] == "how much of it the caller heard"
    assert interrupted["text"]["x-personal"] == "words"
    assert definitions["UsageLogged"]["additionalProperties"] is True


def test_parley_logs_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


@pytest.mark.parametrize("kind", EVENTS, ids=event_name)
def test_what_is_personal_is_marked(kind: type[LogEvent]) -> None:
    """Fields of these names hold what callers said, pressed or are, wherever they stand."""
    personal = {
        "from",
        "to",
        "host",
        "target",
        "text",
        "heard_text",
        "keys",
        "evidence",
        "arguments",
        "question",
        "page",
    }
    names = {each.encode_name for each in msgspec.structs.fields(kind)}
    assert names & personal == set(marks(kind))
