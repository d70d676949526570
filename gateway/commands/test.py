"""`parley test`: holds the calls of scenario files with an agent, and says what went otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

NAME = "test"
HELP = "hold the calls of scenario files with an agent, in text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE.yaml", help="scenarios, or folders of them"
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="those with this in their name")
    parser.add_argument("--junit", type=Path, metavar="OUT.xml", help="write a JUnit report")
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Hold the calls; give 0 where all went as expected, 1 where not, 2 for a file that is none."""
    from rich.console import Console

    from gateway.agents.library import AgentLibrary, shipped
    from gateway.agents.places import AgentError
    from gateway.commands.shared.text_model import model_of
    from gateway.scenarios.format import ScenarioError, read
    from gateway.scenarios.report import as_json, show, write_junit
    from gateway.scenarios.run import run_file

    chosen = settings(args)
    try:
        files = [read(path) for path in _files(args.files)]
    except ScenarioError as error:
        complain(str(error))
        return 2
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}")
        return 2
    results = []
    library = AgentLibrary(chosen.agents.folder, shipped())
    for file in files:
        try:
            agent = library.get(file.agent)
            model = model_of(agent)
        except (AgentError, KeyError, ValueError) as error:
            complain(f"{file.path}: {error}")
            return 2
        results += run_file(file, agent, model, lambda each: args.only in each.name)
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
        show(results, Console(highlight=False, soft_wrap=True))
    return 0 if all(each.passed for each in results) else 1


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
