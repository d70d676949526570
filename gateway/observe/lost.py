"""Finishes the calls of a process that was lost: their ends in the log, and their recordings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gateway.log_events import CallEndedLogged
from gateway.observe.files import all_files
from gateway.observe.journal import Journal
from gateway.observe.lines import parse
from gateway.observe.running import LostCall, Running
from gateway.observe.summary import Summary
from media.wav_file import mend

REASON = "process lost"

WRITTEN_SECONDS = 10.0
"""How long the log may take to hold what is finished; else the next start does it again."""


def finish(running: Running, journal: Journal, log: Path | None, recordings: Path) -> int:
    """Finish every call that lost processes left; give how many there were.

    `log` is None where the log goes to no file. Reads it from its end: run this in a thread.
    """
    left = running.left()
    lost = [call for one in left for call in one.calls]
    known = _summaries(log, {call.call for call in lost}) if log is not None and lost else {}
    for call in lost:
        summary = known.get(call.call, Summary())
        if call.recording:
            _close(recordings / call.recording)
        if not summary.ended:
            _end(journal, call, summary)
    finished = journal.settle(WRITTEN_SECONDS)
    for one in left:
        one.close(finished)
    return len(lost)


def _end(journal: Journal, call: LostCall, summary: Summary) -> None:
    ended = CallEndedLogged(
        reason=REASON,
        ended_by="failure",
        seconds=summary.at,
        turns=summary.turns,
        open_deeds=sorted(call.deeds.values()) or None,
    )
    journal.lost(call.call, summary, ended)


def _close(recording: Path) -> None:
    try:
        mend(recording)
    except OSError:  # it was never made, or somebody took it away
        return


def _summaries(log: Path, calls: set[str]) -> dict[str, Summary]:
    """Sum up what the log tells of some calls."""
    found = {call: Summary() for call in calls}
    marks = [call.encode() for call in calls]
    for raw in _lines(all_files(log)):
        if any(mark in raw for mark in marks):
            try:
                line = parse(raw)
            except ValueError:
                continue
            if line.call in found and line.told is not None:
                found[line.call].take(line.ts, line.at, line.told)
    return found


def _lines(files: Iterable[Path]) -> Iterable[bytes]:
    for path in files:
        try:
            with path.open("rb") as file:
                yield from file
        except OSError:  # renamed past what is kept meanwhile
            continue
