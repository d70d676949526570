"""The composition root: what one process is made of, in the order in which it is set up."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import structlog
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gateway.call.pacer import Pacer
from gateway.call.switchboard import AdmissionSettings, Switchboard
from gateway.config import Settings, secrets
from gateway.doors.judgement import Doors, Keys
from gateway.doors.owner import Owner
from gateway.doors.table import Who
from gateway.lines.port import LineNeeds
from gateway.lines.table import LINES
from gateway.lines.websocket.upgrade import Upgrades
from gateway.metrics.families import FAMILIES
from gateway.metrics.series import Registry
from gateway.observe.journal import Journal, Reader
from gateway.observe.lost import REASON, finish
from gateway.observe.running import Running
from gateway.plumbing import file_limit
from gateway.plumbing.fence import fenced_task
from gateway.plumbing.starting import StartFailed, bind, cannot_use
from gateway.process import watching
from gateway.process.agents import AgentRoster
from gateway.process.call_factory import CallFactory
from gateway.process.lines import Lines
from gateway.process.signals import Stopping
from gateway.process.site import site
from gateway.process.watchdog import Watchdog
from gateway.web.door import Door
from inference.runtime import Runtime
from inference.scheduling import LOOP_SLICE, ask_for_slices
from media.recording import Recorder
from turn.semantic import TurnAssessor
from turn.vad import VoiceActivity, Voices
from turn.vad_webrtc import WebrtcVoice

SWITCH_INTERVAL = 0.0005
"""Seconds a thread may keep the interpreter while the loop waits for it: model threads hold it
only between runs, and at Python's own 5 ms a frame would be late whenever one did."""

log = structlog.get_logger("gateway")


def serve(settings: Settings, owner: Owner, ready: Callable[[str], None] | None = None) -> int:
    """Answer calls until SIGTERM or SIGINT, then drain; give the exit status."""
    file_limit.ensure(settings.limits.calls)
    sys.setswitchinterval(SWITCH_INTERVAL)
    ask_for_slices(LOOP_SLICE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().set_task_factory(fenced_task)
        try:
            runner.run(_serve(settings, owner, ready or _say_ready))
        except* OSError as failures:
            raise _first(failures) from None  # a port that is taken, said in one line
    return 0


def _first(failures: BaseExceptionGroup[OSError]) -> OSError:
    """Give the first failure of a group; what followed it is its consequence."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure


async def _serve(settings: Settings, owner: Owner, ready: Callable[[str], None]) -> None:
    stopping = Stopping.by_signals()
    sockets = bind("server.host and server.port", settings.server.host, settings.server.port)
    runtime = Runtime(settings.runtime)
    recorder = Recorder() if settings.recording.enabled else None
    registry = Registry(FAMILIES)
    journal = await _journal(settings, owner, watching.readers(settings, owner, registry))
    try:
        voices, assessor = _ears(settings, runtime)
        crew = AgentRoster(settings, runtime, stopping.reload)
        await crew.prepare()
        _say_loaded(runtime)
        doors = _doors(settings, owner)
        exchange = CallFactory(
            crew, voices, assessor, journal, settings.recording, recorder, doors.allowance
        )
        pacer, watchdog = Pacer(time.sleep), Watchdog(journal.process)
        switchboard = Switchboard(
            pacer, exchange.make, crew.knows, _admission(settings), journal.process.write
        )
        needs = LineNeeds(switchboard, settings.agents.default, doors, partial(_speak, crew))
        lines = Lines(settings, needs)
        pages = site(settings, switchboard, crew.names, lines.standings, doors)
        # Each line and page brings its own.
        own = watching.Own(switchboard, pacer, journal, watchdog, recorder, lines, runtime.workers)
        watched = watching.routes(settings, own, registry, doors)
        server = _server([*lines.routes(), *pages.routes(), *watched], lines.upgrades())
        async with asyncio.TaskGroup() as group:
            completed, up = asyncio.Event(), asyncio.Event()
            keeping = group.create_task(crew.run(completed))
            await completed.wait()
            group.create_task(lines.run(up.set))
            serving = group.create_task(server.serve(sockets))
            group.create_task(_announce(server, up, ready, stopping.asked, serving))
            group.create_task(_drain(stopping.asked, lines))
            pacer.start()
            watchdog.start()
            await switchboard.run(stopping.asked, stopping.hurried)
            server.should_exit = True
            for part in (watchdog, pages, lines, pacer):
                part.stop()
            keeping.cancel()
    finally:
        if recorder is not None:
            recorder.close()  # first: what it could not write is told in the log
        journal.close()


async def _journal(settings: Settings, owner: Owner, readers: Sequence[Reader]) -> Journal:
    """Open the log, and finish what a process left that was killed."""
    hidden = (*secrets(settings).values(), owner.token)
    folder = settings.agents.data / "running"
    try:
        running = Running(folder)
    except OSError as error:
        raise cannot_use("agents.data", folder, error) from None
    clock = asyncio.get_running_loop().time
    journal = Journal(settings.log, hidden, clock=clock, running=running, readers=readers)
    path = None if settings.log.path == "-" else Path(settings.log.path)
    lost = await asyncio.to_thread(finish, running, journal, path, settings.recording.folder)
    if lost:
        log.warning("calls_finished", calls=lost, reason=REASON)
    return journal


def _doors(settings: Settings, owner: Owner) -> Doors:
    if problem := settings.metrics.problem():
        raise StartFailed(problem)
    keys: dict[Who, str] = {"scraper": settings.metrics.token}
    for name, kind in LINES.items():
        keys |= kind.keys(settings.lines[name])
    return Doors(Keys(owner.token, keys), settings.limits.placed_per_hour)


def _admission(settings: Settings) -> AdmissionSettings:
    return AdmissionSettings(
        settings.limits.calls,
        retry_after=math.ceil(settings.limits.retry_after),
        drain_seconds=settings.server.drain,
    )


def _settle_memory() -> None:
    """Keep the collector off what was made for good: looking through it stops the loop for 100 ms.

    Calls leave few cycles behind, so that the young generation may be looked at seldom too.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _ears(settings: Settings, runtime: Runtime) -> tuple[Voices, TurnAssessor]:
    """Make what all calls are listened to with, ready to be used."""
    voices: Voices = WebrtcVoice() if settings.turn.vad == "webrtc" else VoiceActivity(runtime)
    voices.attend()
    assessor = TurnAssessor(runtime)
    assessor.warm()
    return voices, assessor


def _say_loaded(runtime: Runtime) -> None:
    for loaded in runtime.loaded:
        log.info("model_loaded", model=loaded.model, on=loaded.got, seconds=loaded.seconds)


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: the gateway drains first."""

    def install_signal_handlers(self) -> None:
        """Leave signals to the gateway."""

    def capture_signals(self) -> Any:
        """Leave signals to the gateway."""
        from contextlib import nullcontext

        return nullcontext()


async def _speak(crew: AgentRoster, agent: str, text: str, rate: int) -> bytes:
    return (await crew.engage(agent).lines.render(text, rate)).pcm


async def _drain(asked: asyncio.Event, lines: Lines) -> None:
    """Tell the lines when no more calls are answered."""
    await asked.wait()
    lines.drain()


def _server(routes: list[BaseRoute], upgrades: Upgrades) -> _Server:
    config = uvicorn.Config(
        # Who goes away within a request is no failure of ours.
        Starlette(routes=routes, exception_handlers={ClientDisconnect: _gone}),
        loop="none",
        http=Door(),  # type: ignore[arg-type]
        ws=upgrades,  # type: ignore[arg-type]
        lifespan="off",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=5,
    )
    return _Server(config)


def _gone(_request: Request, _error: Exception) -> Response:
    """Answer somebody who is not there any more."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _announce(
    server: _Server,
    up: asyncio.Event,
    ready: Callable[[str], None],
    stop: asyncio.Event,
    serving: asyncio.Task[None],
) -> None:
    """Say where the gateway listens, once it does and every line is `up`."""
    while not server.started:
        if serving.done():
            stop.set()
            return
        await asyncio.sleep(0.01)
    await up.wait()
    _settle_memory()
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    ready(f"http://{host}:{port}")


def _say_ready(address: str) -> None:
    log.info("listening", address=address)
