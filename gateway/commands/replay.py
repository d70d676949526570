"""`parley replay`: runs recorded calls again, as they were or with other settings."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

if TYPE_CHECKING:
    from gateway.config import Settings
    from gateway.ports import Backend
    from gateway.replay.compare import Verdict
    from gateway.replay.file import CallJournal
    from gateway.replay.whatif.asked import Resources
    from gateway.replay.whatif.changes import Change

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
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="changes",
        help="say what would have differed with this setting, as in turn.profile=patient;"
        " several together are one change",
    )
    parser.add_argument(
        "--sweep",
        metavar="NAME=A,B,C",
        help="the same for each of several values, as in turn.silence=0.4,0.7,1.0",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the sweep: delay against turns cut short"
    )
    parser.add_argument(
        "--words", type=Path, metavar="FILE", help="hear with these word times: JSON, a line a word"
    )
    parser.add_argument(
        "--delay",
        metavar="MEDIAN[,95TH]",
        help="answers take so long, in seconds, instead of as long as was measured",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="ask the agent's own models instead of the recording, in real time",
    )
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Replay; give 1 where a call could not be read or came out differently."""
    from gateway.replay.file import JournalError, find, read

    asks = bool(args.changes or args.sweep or args.words or args.delay or args.live)
    if args.plot and not args.sweep:
        complain("--plot draws a --sweep, and there is none")
        return 2
    journals: list[CallJournal] = []
    failed = False
    chosen = settings(args)
    for named in args.calls:
        try:
            journals += [read(path) for path in find(named, chosen.recording.folder)]
        except JournalError as error:
            complain(str(error))
            failed = True
    if not asks:
        return max(int(failed), _check(journals, as_json=args.json))
    return max(int(failed), _ask(args, chosen, journals) if journals else 0)


# --- with other settings -----------------------------------------------------------------------


def _ask(args: argparse.Namespace, chosen: Settings, journals: list[CallJournal]) -> int:
    """Run calls as they would have been."""
    from gateway.replay.whatif import changes
    from gateway.replay.whatif.asked import Delays
    from gateway.replay.whatif.words_file import WordsError, read

    try:
        made = [changes.parse(each) for each in args.changes]
        swept = _swept(args.sweep)
    except changes.ChangeError as error:
        complain(str(error))
        return 2
    try:
        delays = None if args.delay is None else Delays.parse(args.delay)
    except ValueError as error:
        complain(f"--delay: {error}")
        return 2
    try:
        words = None if args.words is None else read(args.words)
    except WordsError as error:
        complain(str(error))
        return 1
    from dataclasses import replace

    with ExitStack() as stack:
        resources = _resources(chosen, stack, live=args.live)
        resources = replace(resources, delays=delays, words=words)
        try:
            if swept:
                return _sweep(args, journals, made, swept, resources)
            return _once(args, journals, made, resources)
        except changes.ChangeError as error:
            complain(str(error))
            return 2


def _swept(text: str | None) -> list[Change]:
    from gateway.replay.whatif import changes

    if text is None:
        return []
    name, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise changes.ChangeError(f"--sweep: found {text!r}, it must be NAME=A,B,C")
    return [changes.change(name.strip(), each.strip()) for each in values.split(",")]


def _once(
    args: argparse.Namespace,
    journals: list[CallJournal],
    made: list[Change],
    resources: Resources,
) -> int:
    from gateway.replay.whatif import asked, tables, verdict

    refusals = _Refusals()
    found = []
    for outcome in asked.outcomes(journals, made, resources, refusals):
        found.append(outcome)
        if args.json:
            print_json(tables.document(outcome))
        else:
            print("\n".join(tables.call_lines(outcome)), flush=True)
    together = verdict.total(found)
    if args.json:
        print_json({"sum": tables.sum_document(together)})
    elif found:
        print("\n".join(("", *tables.sum_lines(together))))
    return int(refusals.count > 0)


def _sweep(
    args: argparse.Namespace,
    journals: list[CallJournal],
    made: list[Change],
    swept: list[Change],
    resources: Resources,
) -> int:
    from gateway.replay.whatif import asked, plot, tables, verdict

    name = swept[0].name
    today = asked.today(journals, name)
    rows = []
    recorded = verdict.Figures()
    refusals = _Refusals()
    for each in swept:
        refusals.count = 0
        found = list(asked.outcomes(journals, [*made, each], resources, refusals))
        rows.append((str(each).partition("=")[2], verdict.total(found)))
        recorded = verdict.recorded(found)
        if args.json:
            value = {"setting": name, "value": each.value, "as_recorded": rows[-1][0] == today}
            print_json({**value, **tables.sum_document(rows[-1][1])})
    if not args.json:
        print("\n".join(tables.sweep_lines(name, rows, today)))
    if args.plot:
        try:
            plot.draw(args.plot, name, rows, today, recorded)
        except plot.PlotError as error:
            complain(str(error))
            return 1
    return int(refusals.count > 0)


class _Refusals:
    """Says once of each call why it cannot be judged."""

    def __init__(self) -> None:
        self.count = 0
        self._told: set[Path] = set()

    def __call__(self, journal: CallJournal, why: str) -> None:
        self.count += 1
        if journal.path not in self._told:
            self._told.add(journal.path)
            complain(f"{journal.path}: {why}")


def _resources(chosen: Settings, stack: ExitStack, *, live: bool) -> Resources:
    """Load the model that judges turns, and where it is wanted, the agents."""
    import asyncio
    from functools import partial

    from gateway.agents.library import AgentLibrary, shipped
    from gateway.process.agents import AgentRoster
    from gateway.replay.whatif.asked import Resources
    from inference.runtime import Runtime
    from turn.semantic import TurnAssessor

    runtime = Runtime(chosen.runtime)
    stack.callback(runtime.close)
    assessor = TurnAssessor(runtime)
    backend = None
    if live:
        library = AgentLibrary(chosen.agents.folder, shipped())
        roster = AgentRoster(chosen, runtime)
        asyncio.run(roster.prepare())  # a first use is seconds slower, and no caller waits for it

        def backend(agent: str, name: str) -> Backend:
            return roster.make(library.get(agent or chosen.agents.default)).backend(name)

    return Resources(
        lambda rate: partial(assessor.open, rate),
        lambda: runtime.workers.busy,
        live=backend,
    )


# --- as they were --------------------------------------------------------------------------------


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
