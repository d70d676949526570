"""The report: figures over a log, checked against the same figures by hand."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from gateway.observe.report import Report, Spread, ToolRuns, report
from gateway.observe.sheet import sheet
from tests.support.log_lines import CALL, line, stages, story


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two calls on two days, in two files, with lines that are none."""
    old, new = tmp_path / "calls.jsonl.1", tmp_path / "calls.jsonl"
    old.write_bytes(b"\n".join(story("CAold", "2026-03-01")) + b"\n")
    new.write_bytes(b"\n".join([*story(), b"{broken", b"", b'{"half": "a lin']) + b"\n")
    return tmp_path


def files(folder: Path) -> list[Path]:
    return [folder / "calls.jsonl.1", folder / "calls.jsonl"]


def test_responses_and_their_stages(log: Path) -> None:
    found = report(files(log))
    assert found.response == Spread(6, 1.47, 1.5)
    assert found.stages["end_of_turn"] == Spread(6, 0.26, 1.02)
    assert found.acknowledged == Spread(2, 0.71, 0.71)
    assert (found.turns_ended, found.detector_late) == ({"semantic": 4, "silence": 2}, 0)


def test_calls_cut_ins_drafts_tools_and_faults(log: Path) -> None:
    found = report(files(log))
    assert (found.calls, found.ended_by) == (2, {"agent": 2})
    assert (found.first, found.last) == ("2026-03-01T14:02:11.500Z", "2026-03-02T14:02:56.250Z")
    cut_ins = found.cut_ins
    assert (cut_ins.count, cut_ins.backchannels, cut_ins.resumed) == (2, 2, 2)
    assert cut_ins.stop_delay == Spread(2, 0.23, 0.23)
    assert cut_ins.heard_error == Spread(2, 0.02, 0.02)
    drafts = found.drafts
    assert (drafts.started, drafts.used, drafts.dropped) == (4, 2, 2)
    assert (drafts.saved, drafts.saved_each) == (0.24, Spread(2, 0.12, 0.12))
    assert found.tools == {"free_times": ToolRuns("read", Spread(2, 0.012, 0.012), {"done": 2})}
    assert found.faults == {"voice": 2}


def test_lines_that_are_none_are_counted_and_left_out(log: Path) -> None:
    assert report(files(log)).bad_lines == 2


def test_since_leaves_out_what_was_before(log: Path) -> None:
    found = report(files(log), datetime(2026, 3, 2, 14, 2, 30, tzinfo=UTC))
    assert (found.calls, found.response.count, found.ended_by) == (0, 2, {"agent": 1})


def test_one_cut_in_that_ends_several_utterances_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    flushed = [(0.0, 0.02), (1.2, 0.05), (0.0, 0.02)]
    lines = [
        line(3.0, "interrupted", {"heard": heard, "error": error, "stop_delay": 0.2})
        for heard, error in flushed
    ]
    lines.append(line(9.0, "interrupted", {"heard": 1.0, "error": 0.01, "evidence": "turn"}))
    path.write_bytes(b"\n".join(lines))
    cut_ins = report([path]).cut_ins
    assert (cut_ins.count, cut_ins.heard_error) == (1, Spread(1, 0.05, 0.05))


def test_an_empty_log_gives_an_empty_report(tmp_path: Path) -> None:
    empty = tmp_path / "log"
    empty.touch()
    assert report([]) == report([empty]) == report([tmp_path / "none"])
    assert report([]).calls == 0


def test_odd_names_and_values_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(
        b"\n".join(
            [
                line(1.0, "tool", {"name": "it's", "seconds": "soon", "outcome": "done"}),
                line(1.0, "turn", {"response": "x", "stages": 3}),
                line(1.0, "fault", {"part": "a\x01b", "reason": "q\"'"}),
                b"3",
                b'"text"',
            ]
        )
    )
    found = report([path])
    assert found.tools == {"it's": ToolRuns("", Spread(), {"done": 1})}
    assert (found.response, found.faults) == (Spread(), {"a\x01b": 1})


def test_the_sheet_shows_the_figures(log: Path) -> None:
    out = io.StringIO()
    Console(file=out, width=120).print(sheet(report(files(log))))
    text = out.getvalue()
    assert "response                                    6      1.47    1.50" in text
    assert "4 started · 2 used · 2 dropped, each an extra model call" in text
    assert "2 · silent after 0.23 s (p95 0.23) · heard position within 0.02 s" in text


def test_the_sheet_of_nothing_says_so() -> None:
    out = io.StringIO()
    Console(file=out).print(sheet(Report()))
    assert out.getvalue().strip() == "nothing in the log for that time"


def test_percentiles_are_between_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = [line(float(n), "turn", stages(n / 100, 0, 0, 0, 0), CALL) for n in range(101)]
    path.write_bytes(b"\n".join(lines))
    assert report([path]).response == Spread(101, 0.5, 0.95)
