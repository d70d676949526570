"""The process that runs an agent's Python tools for the gateway: `python -m gateway.tools.worker`.

It imports one module of the operator's and runs its functions as the gateway would, ledger and
all; whatever they do to the interpreter, they do here.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, assert_never
from zoneinfo import ZoneInfo

import msgspec

from gateway.plumbing.fence import fenced_task
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.functions import FunctionTool
from gateway.tools.modules import found, made, module
from gateway.tools.store import Store
from gateway.tools.wire import (
    LINE_MOST,
    Answer,
    Broke,
    Described,
    Done,
    Failed,
    Request,
    Stop,
    Stopped,
    Use,
)

LAST_SECONDS = 60.0
"""How long writes that run may still take once the gateway has closed the connection."""


class Worker:
    """Runs the functions of a module; belongs to one event loop."""

    def __init__(self, where: str, answers: BinaryIO) -> None:
        self._where = where
        self._module = module(where)
        self._answers = answers
        self._running: dict[int, tuple[asyncio.Task[None], bool]] = {}
        "by the number of the request: what runs, and whether it is a write"

    async def serve(self, requests: asyncio.StreamReader) -> None:
        """Do what is asked until the other side is gone, and let writes come to their end."""
        decoder = msgspec.json.Decoder(Request)
        async with asyncio.TaskGroup() as group:
            while line := await requests.readline():
                match decoder.decode(line):
                    case Use() as use:
                        task = group.create_task(self._run(use))
                        self._running[use.ask] = task, use.spec.effect == "write"
                    case Stop(ask=ask):
                        if ask in self._running:
                            self._running[ask][0].cancel()
                    case other:
                        assert_never(other)
            for task, write in self._running.values():
                if not write:
                    task.cancel()
            asyncio.get_running_loop().call_later(LAST_SECONDS, os._exit, 1)

    async def _run(self, use: Use) -> None:
        try:
            self._say(await self._answer(use))
        except asyncio.CancelledError:
            self._say(Stopped(use.ask))
        finally:
            del self._running[use.ask]

    async def _answer(self, use: Use) -> Answer:
        context = _context(use)
        try:
            function = found(self._where, self._module, use.function)
            tool = FunctionTool(function, use.spec)
            result = await tool.run(use.arguments, context, Store(Path(use.store)))
            return Done(use.ask, result)
        except ToolFailed as failed:
            uncertain = isinstance(failed, Uncertain)
            return Failed(use.ask, failed.code, failed.message, uncertain)
        except asyncio.CancelledError:
            raise
        except BaseException as raised:  # fence: a tool may raise anything
            return Broke(use.ask, type(raised).__name__)

    def _say(self, answer: Answer) -> None:
        self._answers.write(msgspec.json.encode(answer) + b"\n")
        self._answers.flush()


def _context(use: Use) -> ToolContext:
    """Put a call's beginning back into the agent's time zone: JSON keeps only the offset."""
    began = use.began.astimezone(ZoneInfo(use.hours.timezone))
    return ToolContext(use.call, began, use.hours, use.variables, key=use.key)


def describe(where: str, names: list[str]) -> dict[str, Described]:
    """Return what functions of a module are as tools."""
    try:
        loaded = module(where)
    except ValueError as error:
        return dict.fromkeys(names, Described(wrong=str(error)))
    return {name: _described(where, loaded, name) for name in names}


def _described(where: str, loaded: ModuleType, name: str) -> Described:
    try:
        return Described(made(where, found(where, loaded, name), "").spec)
    except ValueError as error:
        return Described(wrong=str(error))


async def _serve(where: str, answers: BinaryIO) -> None:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(fenced_task)
    requests = asyncio.StreamReader(LINE_MOST)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    await Worker(where, answers).serve(requests)


def main(arguments: list[str]) -> None:
    """Run `serve MODULE` or `describe MODULE FUNCTION…`."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a tool prints goes where it complains
    match arguments:
        case ["serve", where]:
            asyncio.run(_serve(where, answers))
        case ["describe", where, *names]:
            answers.write(msgspec.json.encode(describe(where, names)))
        case _:
            raise SystemExit("serve MODULE | describe MODULE FUNCTION…")
    answers.flush()
    os._exit(0)  # threads that a tool left hanging keep nobody


if __name__ == "__main__":
    main(sys.argv[1:])
