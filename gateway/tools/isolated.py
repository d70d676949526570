"""Python tools in a process of their own: one that keeps the interpreter keeps only that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import assert_never

import msgspec
import structlog

from gateway.events import Json
from gateway.plumbing.wire_json import decode
from gateway.ports import ToolSpec
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.said import Said
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

DESCRIBE_SECONDS = 20.0
"""How long a module may take to be imported before its agent's file is refused."""

STUCK_SECONDS = 2.0
"""How long a process may take to let go of a read before it is taken for stuck and killed."""

IDLE_SECONDS = 300.0
"""How long a process stays that nobody uses: an agent's file that is gone, or a quiet night."""

ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "TZ", "PYTHONPATH")
"""Variables that every program needs; no secret is in one of these."""

log = structlog.get_logger("tools")

_DESCRIBED = msgspec.json.Decoder(dict[str, Described])
_ANSWER: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


class Home:
    """Where an agent's functions are found, and what they may know of this machine."""

    def __init__(self, module: str, folder: Path, environment: Mapping[str, str]) -> None:
        """Take a module's name or the path of its file, and the variables that it is given."""
        self.module = module
        self.folder = folder
        base = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        self.environment = {**base, **environment}

    def command(self, *arguments: str) -> list[str]:
        """Return what is run; the folder's own files hide none of Python's."""
        return [sys.executable, "-P", "-m", "gateway.tools.worker", *arguments]

    def describe(self, functions: Iterable[str]) -> dict[str, Described]:
        """Ask what functions are as tools, all in one run; blocks."""
        names = list(functions)
        try:
            ran = subprocess.run(
                self.command("describe", self.module, *names),
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                timeout=DESCRIBE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            said = f"could not be loaded within {DESCRIBE_SECONDS:.0f} s"
            return self._all_wrong(names, said)
        try:
            return decode(_DESCRIBED, ran.stdout)
        except ValueError:
            last = ran.stderr.decode(errors="replace").strip().splitlines()[-1:]
            said = last[0] if last else f"status {ran.returncode}"
            return self._all_wrong(names, f"cannot be loaded: {said}")

    def _all_wrong(self, names: list[str], said: str) -> dict[str, Described]:
        return dict.fromkeys(names, Described(wrong=f"{Path(self.module).name} {said}"))


class _Child:
    """One run of the process."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process = process
        self._name = name
        self._asked: dict[int, asyncio.Future[Answer | None]] = {}
        "answers that are waited for; None: the process ended without"
        self._stopping: dict[int, asyncio.TimerHandle] = {}
        self.over = False
        self._reading = asyncio.create_task(self._read())

    @property
    def busy(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._asked) and not self.over

    async def use(self, use: Use) -> Answer | None:
        """Have a function run; cancelling lets go of a read."""
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._asked[use.ask] = answer
        self._say(use)
        try:
            return await answer
        except asyncio.CancelledError:
            if use.spec.effect == "read" and not self.over:
                self._say(Stop(use.ask))
                late = asyncio.get_running_loop().call_later(STUCK_SECONDS, self._stuck)
                self._stopping[use.ask] = late
            self._asked.pop(use.ask, None)
            raise

    async def close(self) -> None:
        """Let it end by itself, once its writes are done, and wait for that."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait([self._reading])

    def _say(self, request: Request) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(request) + b"\n")

    def _stuck(self) -> None:
        log.warning("tools_stuck", file=self._name)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self._answered(decode(_ANSWER, line))
        except ValueError as garbage:
            log.warning("tools_garbled", file=self._name, error=type(garbage).__name__)
        finally:
            self._end()
        if status := await self._process.wait():
            log.warning("tools_ended", file=self._name, status=status)

    def _answered(self, answer: Answer) -> None:
        late = self._stopping.pop(answer.ask, None)
        if late is not None:
            late.cancel()
        waiting = self._asked.pop(answer.ask, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _end(self) -> None:
        self.over = True
        for late in self._stopping.values():
            late.cancel()
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result(None)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


class ToolProcess:
    """The process of one module, for any number of calls; started when it is wanted."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._name = Path(home.module).name
        self._numbers = count(1)
        self._starting = asyncio.Lock()
        self._child: _Child | None = None
        self._expecting: asyncio.Task[_Child] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None

    def expect(self) -> None:
        """Start it, if it does not run: a call begins."""
        if (self._child is None or self._child.over) and self._expecting is None:
            self._expecting = asyncio.create_task(self._running())
            self._expecting.add_done_callback(self._expected)

    async def use(
        self, function: str, spec: ToolSpec, arguments: Json, context: ToolContext, store: Store
    ) -> Json:
        """Run a function; raise ToolFailed, or OSError where the process cannot be started."""
        child = await self._running()
        ask = Use(
            next(self._numbers),
            function,
            spec,
            dict(arguments),
            context.call,
            context.began,
            context.hours,
            dict(context.variables),
            context.key,
            str(store.path.resolve()),
        )
        match await child.use(ask):
            case Done(result=result):
                return result
            case Failed(code=code, message=message, uncertain=uncertain):
                raise Uncertain(message) if uncertain else ToolFailed(code, message)
            case Broke(error=error):
                call = context.call.call_id
                log.warning("tool_broke", call_id=call, tool=spec.name, error=error)
                raise ToolFailed("broken", "This is not working right now.")
            case None | Stopped():
                if spec.effect == "write":
                    raise Uncertain
                raise ToolFailed("broken", "This is not working right now.")
            case other:
                assert_never(other)

    async def close(self) -> None:
        """Let it end, once its writes are done."""
        if self._idle is not None:
            self._idle.cancel()
        self._let_go()
        if self._resting is not None:
            await asyncio.wait([self._resting])

    def _expected(self, task: asyncio.Task[_Child]) -> None:
        self._expecting = None
        if not task.cancelled() and task.exception() is not None:
            log.warning("tools_not_started", file=self._name, error=str(task.exception()))

    def _rest(self) -> None:
        """Let it end where nobody has used it for long; it is started again when it is wanted."""
        if self._child is not None and self._child.busy:
            self._wait()
        else:
            self._let_go()

    def _let_go(self) -> None:
        """Let the present one end; whoever comes now is given another."""
        child, self._child = self._child, None
        if child is not None:
            self._resting = asyncio.create_task(child.close())

    def _wait(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._rest)

    async def _running(self) -> _Child:
        async with self._starting:
            if self._child is None or self._child.over:
                self._child = await self._start()
            self._wait()
            return self._child

    async def _start(self) -> _Child:
        said = Said(self._name)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._home.command("serve", self._home.module),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said.open(),
                cwd=self._home.folder,
                env=self._home.environment,
                start_new_session=True,  # an interrupt at the terminal is the gateway's
                limit=LINE_MOST,
            )
        finally:
            said.close()
        return _Child(process, self._name)


@dataclass(frozen=True, slots=True)
class IsolatedTool:
    """One function in a process of its own."""

    spec: ToolSpec
    function: str
    process: ToolProcess

    def expect(self) -> None:
        """Start the process: a call begins."""
        self.process.expect()

    async def run(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Run the function; raise ToolFailed for what it cannot do."""
        return await self.process.use(self.function, self.spec, arguments, context, store)

    async def close(self) -> None:
        """Let the process end, once its writes are done."""
        await self.process.close()
