"""`parley talk`: a conversation with an agent in text, tools included."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import add_config, complain, settings

if TYPE_CHECKING:
    from gateway.scenarios.text_call import TextCall

NAME = "talk"
HELP = "talk with an agent in text, one turn after the other"

CUT = re.compile(r"/(\d+) *(.*)")
"""A turn that cuts in, after so many words of what was said last."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("agent", nargs="?", default="", metavar="AGENT")
    parser.add_argument("--caller", default="", metavar="NUMBER", help="who calls")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print an object for each turn: what was said, the tools, whether it is over",
    )
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Talk until one side ends it; what the tools write is thrown away."""
    import asyncio
    import tempfile

    from gateway.agents.library import AgentLibrary, shipped
    from gateway.agents.places import AgentError
    from gateway.commands.shared.text_model import model_of
    from gateway.scenarios.text_call import TextCall

    chosen = settings(args)
    try:
        library = AgentLibrary(chosen.agents.folder, shipped())
        agent = library.get(args.agent or chosen.agents.default)
        model = model_of(agent)()
    except (AgentError, KeyError, ValueError) as error:
        complain(str(error))
        return 2
    with tempfile.TemporaryDirectory(prefix="parley-talk-") as folder:
        began = datetime.now(UTC)
        call = TextCall(agent, Path(folder), caller=args.caller, began=began, model=model)
        return asyncio.run(_talk(call, as_json=args.json))


async def _talk(call: TextCall, *, as_json: bool) -> int:
    _show(call, call.agent.file.lines.greeting, 0, as_json=as_json)
    for line in _lines(quiet=as_json or not sys.stdin.isatty()):
        shown = len(call.used)
        cut = CUT.fullmatch(line)
        try:
            said = await (call.answer(cut[2], int(cut[1])) if cut else call.answer(line))
        except Exception as error:  # fence: a model's server may do anything
            complain(f"{type(error).__name__}: {error}")
            return 1
        _show(call, said, shown, as_json=as_json)
        if call.ended:
            break
    return 0


def _lines(*, quiet: bool) -> Iterator[str]:
    while True:
        try:
            line = input("" if quiet else "caller  ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line:
            yield line


def _show(call: TextCall, said: str, shown: int, *, as_json: bool) -> None:
    used = call.used[shown:]
    if as_json:
        tools = [
            {"name": each.name, "arguments": dict(each.arguments), "outcome": each.outcome}
            for each in used
        ]
        turn = {"said": said, "tools": tools, "expects": call.expects, "ended": call.ended}
        print(json.dumps(turn, ensure_ascii=False, default=str), flush=True)
        return
    for each in used:
        print(f"tool    {each.name} {dict(each.arguments)}: {each.outcome}")
    print(f"agent   {said}" + (f"  [{call.expects}]" if call.expects else ""), flush=True)
