"""`parley models`: shows, fetches and verifies model files, and builds them for the hardware."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

if TYPE_CHECKING:
    from inference.manifest import ModelState

NAME = "models"
HELP = "show, fetch and verify the model files; build them for the hardware"

SPEECH = Path("tests/data/speech")
"""Recordings that come with the project's source."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "fetch", "build"),
        default="list",
        help="list: what there is, every file checked by its hash; fetch: get what is missing; "
        "build: prepare the turn detector for runtime.providers and compare it with the processor",
    )
    parser.add_argument("names", nargs="*", metavar="MODEL", help="only these (fetch)")
    parser.add_argument(
        "--speech",
        type=Path,
        default=SPEECH,
        metavar="FOLDER",
        help=f"recordings to compare on (build; default {SPEECH})",
    )
    add_config(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """List the files, or fetch those that are missing or wrong."""
    from inference import FetchFailed, fetch_models, list_models
    from inference.manifest import models

    if unknown := [name for name in args.names if name not in models()]:
        complain(f"no model is called {unknown[0]}; there are: {', '.join(sorted(models()))}")
        return 2
    if args.action == "build":
        return _build(args)
    if args.action == "fetch":
        try:
            fetch_models(args.names or None, _tell)
        except FetchFailed as error:
            complain(str(error))
            return 1
    states = [each for each in list_models() if not args.names or each.name in args.names]
    if args.json:
        print_json([_document(each) for each in states])
    elif args.action == "list":
        _print(states)
    lacking = [each for each in states if each.state != "present" and not each.optional]
    return 1 if lacking and args.action == "fetch" else 0


def _build(args: argparse.Namespace) -> int:
    """Build the detector; 1 when its answers differ too much from the processor's."""
    from gateway.commands.shared.build_engines import build
    from inference import ModelMissing, ModelWrong, ProviderMissing, RuntimeMissing

    if not args.speech.is_dir():
        complain(f"--speech: there is no folder {args.speech}")
        return 2
    try:
        built = build(settings(args).runtime, args.speech)
    except (ModelMissing, ModelWrong, ProviderMissing, RuntimeMissing) as error:
        complain(str(error))
        return 2
    except ValueError as error:
        complain(f"--speech: {error}")
        return 2
    found = built.agreement
    if args.json:
        document = {"providers": built.providers, "seconds": round(built.seconds, 2)}
        compared = {"questions": found.questions, "mean": found.mean, "worst": found.worst}
        print_json({**document, **compared, "flips": found.flips, "good": found.good})
    else:
        print(f"built for {', '.join(built.providers)} in {built.seconds:.1f} s")
        print(
            f"{found.questions} questions: probabilities differ by {found.mean:.3f} in the mean "
            f"and {found.worst:.3f} at most; {found.flips} decided differently"
        )
    if not found.good:
        complain("the answers differ too much from the processor's; do not use this build")
    return 0 if found.good else 1


def _tell(name: str, step: str) -> None:
    if step != "present":
        complain(f"{name}: {step}")


def _document(state: ModelState) -> dict[str, object]:
    return {
        "model": state.name,
        "role": state.role,
        "file": state.file,
        "state": state.state,
        "bytes": state.bytes,
        "sha256": state.sha256,
        "package": state.package,
        "version": state.version,
        "licence": state.licence,
        "home": state.home,
        "path": str(state.path),
        "optional": state.optional,
    }


def _print(states: list[ModelState]) -> None:
    """Print one row a model: its worst file decides its state."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gateway.observe.live import Paper

    table = Table(box=None, padding=(0, 2), header_style="bright_black")
    for name in ("model", "role", "from", "licence"):
        table.add_column(name, no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("state")
    for name in dict.fromkeys(each.name for each in states):
        files = [each for each in states if each.name == name]
        first = files[0]
        wrong = [each for each in files if each.state != "present"]
        said = Text(f"{wrong[0].file} is {wrong[0].state}", "red") if wrong else Text("verified")
        if wrong and first.optional:
            said = Text("optional, not fetched", "bright_black")
        table.add_row(
            Text(name, "bold"),
            first.role,
            f"{first.package} {first.version}",
            first.licence,
            f"{sum(each.bytes for each in files) / 1e6:.1f} MB",
            said,
        )
    Paper(Console(highlight=False)).print(table)
    if any(each.state != "present" and not each.optional for each in states):
        complain("get what is missing with: parley models fetch")
