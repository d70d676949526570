"""What is judged of a gateway after faults: flat is flat, and open deeds are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.faults.judge import Holdings, growth, problems, uneven
from bench.faults.kills import REASON, undone
from gateway.log_events import CallEndedLogged, DeedLogged, LogEvent
from gateway.observe.journal import Journal
from gateway.observe.lines import LogLine
from gateway.observe.settings import LogSettings
from tests.support.log_lines import logged


def held(*memory: float) -> list[Holdings]:
    return [Holdings(each, 20, 15) for each in memory]


@pytest.mark.parametrize(
    ("memory", "rises"),
    [
        ((600, 800, 900, 950, 951, 950, 951, 950), 0),  # a warm-up
        ((600, 620, 640, 660, 680, 700, 720, 740), 60),  # a leak
        ((600, 800, 900, 950, 950, 950, 990, 950), 9),  # a peak is no slope
    ],
)
def test_memory_is_judged_by_the_slope_of_the_second_half(
    memory: tuple[float, ...], rises: float, tmp_path: Path
) -> None:
    values = held(*memory)
    assert growth(values)["memory"] == pytest.approx(rises, abs=4)
    said = uneven(tmp_path, values, ())
    assert bool(said) == (rises > 20)


def test_a_descriptor_that_is_kept_at_every_part_is_told(tmp_path: Path) -> None:
    values = [Holdings(600, 20 + 2 * part, 15) for part in range(8)]
    assert uneven(tmp_path, values, ("sip",)) == [
        "no call on sip",
        "descriptors rise by 6.0 over the second half",
    ]


def test_a_call_without_an_end_and_a_torn_line_are_told(tmp_path: Path) -> None:
    path = tmp_path / "log" / "calls.jsonl"
    journal = Journal(LogSettings(str(path)))
    one, two = journal.bind("CA1", 0.0), journal.bind("CA2", 0.0)
    one.write(logged("call_started"))
    one.write(logged("call_ended"))
    two.write(logged("call_started"))
    journal.close()
    with path.open("ab") as log:
        log.write(b'{"ts": "2\n')
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "CA1.wav").write_bytes(b"RIFF")
    torn, open_ended, unreadable = problems(tmp_path)
    assert (torn, open_ended) == ("1 lines of the log are torn", "CA2 has no end in the log")
    assert unreadable.startswith("CA1.wav cannot be read")


def line(told: LogEvent) -> LogLine:
    return LogLine("", "CA1", 0.0, "", {}, told)


@pytest.mark.parametrize(("named", "well"), [(["book"], True), (None, False), (["move"], False)])
def test_a_lost_call_names_what_was_begun_and_not_over(named: list[str] | None, well: bool) -> None:
    lines = [
        line(DeedLogged(name="move", key="k1", state="begun")),
        line(DeedLogged(name="move", key="k1", state="over", outcome="done")),
        line(DeedLogged(name="book", key="k2", state="begun")),
        line(
            CallEndedLogged(
                reason=REASON, ended_by="failure", seconds=1.0, turns=0, open_deeds=named
            )
        ),
    ]
    assert (undone(lines) == []) == well
