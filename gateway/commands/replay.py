"""`parley replay`: runs recorded calls again, as they were or with other settings."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

if TYPE_CHECKING:
    from gateway.replay.compare import Verdict
    from gateway.replay.file import CallJournal

NAME = "replay"
HELP = "run journaled calls again: as they were, or as they would have been with other settings"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "calls",
        nargs="+",
        metavar="CALL",
        help="a journal, a folder of them, or a call's name in recording.folder",
    )
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Replay; give 1 where a call could not be read or came out differently."""
    from gateway.replay.file import JournalError, find, read

    journals: list[CallJournal] = []
    failed = False
    folder = settings(args).recording.folder
    for named in args.calls:
        try:
            journals += [read(path) for path in find(named, folder)]
        except JournalError as error:
            complain(str(error))
            failed = True
    return max(int(failed), _check(journals, as_json=args.json))


def _check(journals: list[CallJournal], *, as_json: bool) -> int:
    """Run each call as it was and say where it differs."""
    from gateway.replay.compare import check

    differ = False
    for journal in journals:
        begun = time.perf_counter()
        try:
            verdict = check(journal)
        except ValueError as error:
            complain(f"{journal.path}: {error}")
            differ = True
            continue
        speed = verdict.seconds / max(1e-6, time.perf_counter() - begun)
        differ = differ or verdict.difference is not None
        if as_json:
            print_json(_document(journal.path, verdict, speed))
        else:
            _say(journal, verdict, speed)
    return int(differ)


def _document(path: Path, verdict: Verdict, speed: float) -> dict[str, object]:
    return {
        "file": str(path),
        "lines": verdict.lines,
        "seconds": round(verdict.seconds, 3),
        "speed": round(speed, 1),
        "cut": verdict.cut or None,
        "difference": verdict.difference,
    }


def _say(journal: CallJournal, verdict: Verdict, speed: float) -> None:
    from gateway.replay.diary import own_version

    cut = f", cut: {verdict.cut}" if verdict.cut else ""
    told = f"{journal.header.call}  {verdict.seconds:.1f} s, {verdict.lines} lines{cut}"
    found = verdict.difference
    if found is None:
        print(f"{told}: no difference ({speed:.0f} times as fast as it was)")
        return
    print(f"{told}: differs at {found.at:.3f} s, line {found.line} ({found.what})")
    print(f"  then  {found.then or 'nothing more'}")
    print(f"  now   {found.now or 'nothing more'}")
    if journal.header.version != own_version():
        print(f"  then was parley {journal.header.version}, now is {own_version()}")
