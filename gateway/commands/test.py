"""`parley test`: holds the calls of scenario files with an agent, and says what went otherwise."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gateway.commands.shared.options import (
    add_config,
    add_json,
    complain,
    print_json,
    settings,
    whole,
)

if TYPE_CHECKING:
    from gateway.agents.loading import Agent
    from gateway.config import Settings
    from gateway.scenarios.moves import Move
    from gateway.scenarios.run import Models, Result
    from gateway.scenarios.scenario import Scenario, ScenarioFile

NAME = "test"
HELP = "hold the calls of scenario files with an agent, in text or with sound"


Pair: TypeAlias = "tuple[ScenarioFile, Agent, Models]"
"""A file, who answers its calls, and what thinks for them and for callers that are played."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE.yaml", help="scenarios, or folders of them"
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="those with this in their name")
    parser.add_argument("--junit", type=Path, metavar="OUT.xml", help="write a JUnit report")
    parser.add_argument(
        "--sound",
        action="store_true",
        help="whole calls with sound, in virtual time: when the agent answers, stops and goes on",
    )
    parser.add_argument(
        "--moves",
        type=_moves,
        default=(),
        metavar="MOVES",
        help="with sound: other timings, as --search prints them (cut:2:800,cough:1:400)",
    )
    parser.add_argument(
        "--search",
        type=whole(1, 10_000),
        metavar="N",
        help="with sound: try N other timings of each scenario, and shrink what fails",
    )
    parser.add_argument(
        "--seed", type=whole(0), default=1, metavar="N", help="what --search draws from (1)"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="with sound: recordings of what failed, with labels for Audacity",
    )
    line = parser.add_argument_group("over a real line, against a gateway that runs")
    line.add_argument(
        "--line",
        metavar="TARGET",
        help="call twilio:ws://..., sip:USER@HOST or webrtc:http://..., as `parley call` does",
    )
    line.add_argument("--token", default="", help="of the line, where it asks for one")
    line.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="the gateway's call log: without it words and tools are not judged, but manners are",
    )
    line.add_argument(
        "--conditions",
        choices=("control", "regular"),
        default="control",
        help="the callers' sound: clean, or with noise, loss and muffling as tau-voice has it",
    )
    add_json(parser)
    add_config(parser)


def _moves(text: str) -> tuple[Move, ...]:
    from gateway.scenarios.moves import parse

    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    """Hold the calls; give 0 where all went as expected, 1 where not, 2 for a file that is none."""
    from gateway.agents.library import AgentLibrary, shipped
    from gateway.agents.places import AgentError
    from gateway.scenarios.format import ScenarioError, read

    if not args.sound and (args.moves or args.search or args.keep):
        complain("--moves, --search and --keep are about calls with sound: add --sound")
        return 2

    if args.line and args.sound:
        complain("--sound is in virtual time, and --line is not: choose one")
        return 2
    if not args.line and (args.log or args.token or args.conditions != "control"):
        complain("--log, --token and --conditions are about a real line: add --line")
        return 2
    chosen = settings(args)
    try:
        files = [read(path) for path in _files(args.files)]
    except ScenarioError as error:
        complain(str(error))
        return 2
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}")
        return 2
    pairs = []
    library = AgentLibrary(chosen.agents.folder, shipped())
    for file in files:
        try:
            agent = library.get(file.agent)
            pairs.append((file, agent, _models(file, agent, sound=args.sound)))
        except (AgentError, KeyError, ValueError) as error:
            complain(f"{file.path}: {error}")
            return 2
    if args.line:
        return _over_line(args, chosen, pairs)
    if args.search:
        return _search(args, pairs)
    return _told(args, *_held(args, pairs))


def _models(file: ScenarioFile, agent: Agent, *, sound: bool) -> Models:
    """Make the models; raise ValueError or AgentError where one cannot be."""
    import os
    from functools import partial

    from gateway.backends.cascade.parts import language_model
    from gateway.commands.shared.text_model import model_of
    from gateway.scenarios.run import Models

    answers = model_of(agent, sound=sound)
    if not file.caller_model:
        return Models(answers)
    caller = partial(language_model, agent, os.environ, file.caller_model, "caller_model")
    judge = partial(language_model, agent, os.environ, file.judge_model, "judge_model")
    caller(), judge()  # what is wrong with them is said before a call
    return Models(answers, caller, judge)


def _wanted(args: argparse.Namespace, file: ScenarioFile) -> list[Scenario]:
    return [
        each
        for each in file.scenarios
        if args.only in each.name and (not args.sound or (each.sound and not each.persona))
    ]


def _held(
    args: argparse.Namespace, pairs: list[Pair]
) -> tuple[list[Result], Mapping[str, float | None]]:
    """Hold the calls; give how they went, and with sound the figures of all together."""
    from gateway.scenarios.manners import Manners
    from gateway.scenarios.run import run_file
    from gateway.scenarios.sound_run import SoundRun

    results: list[Result] = []
    total = Manners()
    for file, agent, models in pairs:
        if not args.sound:
            results += run_file(file, agent, models, lambda each: args.only in each.name)
            continue
        runs = SoundRun(file, agent, models.agent, args.keep)
        for scenario in _wanted(args, file):
            result, manners = runs.result(scenario, args.moves)
            results.append(result)
            total += manners
    return results, total.figures() if args.sound else {}


def _told(
    args: argparse.Namespace, results: list[Result], figures: Mapping[str, float | None]
) -> int:
    """Print how it went, and write what was asked for."""
    from rich.console import Console

    from gateway.scenarios.report import as_json, show, show_figures, write_junit

    if not results:
        complain(f"no scenario has {args.only!r} in its name")
        return 2
    if args.junit is not None:
        try:
            write_junit(results, args.junit)
        except OSError as error:
            complain(f"{args.junit}: {error.strerror}")
            return 1
    if args.json:
        print_json(as_json(results))
    else:
        console = Console(highlight=False, soft_wrap=True)
        show(results, console)
        show_figures(figures, console)
    return 0 if all(each.passed for each in results) else 1


def _over_line(args: argparse.Namespace, chosen: Settings, pairs: list[Pair]) -> int:
    """Call a running gateway for each scenario; what a line cannot give is left out, and said."""
    import asyncio
    import os

    from gateway.backends.cascade.voices.local import LocalVoice
    from gateway.caller.place import CallOptions, parse_target
    from gateway.commands.shared.over_line import called
    from gateway.doors.owner import known_owner
    from gateway.scenarios.line_call import Caller
    from inference.runtime import Runtime

    known_owner()
    try:
        target = parse_target(args.line)
    except ValueError as error:
        complain(f"--line: {error}")
        return 2
    if args.log is not None and not args.log.is_file():
        complain(f"--log: {args.log}: no such file")
        return 2
    secret = os.environ.get("TWILIO_AUTH_TOKEN", "")
    runtime = Runtime(chosen.runtime)
    try:
        options = CallOptions(token=args.token, webhook=not args.token, auth_token=secret)
        caller = Caller(target, options, LocalVoice(runtime), args.conditions, args.log)
        who = [(file, agent) for file, agent, _ in pairs]
        calling = called(who, caller, lambda each: args.only in each.name)
        results, figures = asyncio.run(calling)
    finally:
        runtime.close()
    return _told(args, results, figures)


def _search(args: argparse.Namespace, pairs: list[Pair]) -> int:
    """Look for timings that fail; print each as the command that shows it again."""
    from gateway.scenarios.sound_run import SoundRun

    found = []
    tried = 0
    for file, agent, models in pairs:
        runs = SoundRun(file, agent, models.agent)
        for scenario in _wanted(args, file):
            tried += 1
            one = runs.search(scenario, args.search, args.seed)
            if one is None:
                continue
            found.append(one)
            if not args.json:
                print(f"{file.path}: {one.scenario}: {one.kind}: {one.said}")
                shown = f"--only {one.scenario!r} --moves {one.moves}"
                print(f"    parley test {file.path} --sound {shown}")
    if args.json:
        print_json({"seed": args.seed, "tries": args.search, "found": found})
    else:
        few = f"{args.search} timings each, seed {args.seed}"
        print(f"{len(found)} of {tried} scenarios fail with other timings ({few})")
    return 1 if found else 0


def _files(given: list[Path]) -> list[Path]:
    """Find the files that are meant; raise OSError where there are none."""
    found: list[Path] = []
    for path in given:
        if not path.is_dir():
            found.append(path)
            continue
        within = sorted(path.rglob("*.yaml"))
        if not within:
            raise FileNotFoundError(2, "no *.yaml in it", str(path))
        found += within
    return found
