"""The composition root: what one process is made of, in the order in which it is set up."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import structlog
import uvloop

from gateway.call.pacer import Pacer
from gateway.call.switchboard import AdmissionSettings, Switchboard
from gateway.config import Settings, secrets
from gateway.doors.judgement import Doors, Keys
from gateway.doors.owner import Owner
from gateway.doors.table import Who
from gateway.lines.port import LineNeeds
from gateway.lines.table import LINES
from gateway.metrics.families import FAMILIES
from gateway.metrics.series import Registry
from gateway.observe.diagnostics import listen_from
from gateway.observe.journal import Journal, Reader
from gateway.observe.lost import REASON, finish
from gateway.observe.running import Running
from gateway.plumbing import allocator, file_limit
from gateway.plumbing.fence import fenced_task
from gateway.plumbing.seat import Seat
from gateway.plumbing.starting import StartFailed, cannot_use
from gateway.process import watching
from gateway.process.agents import AgentRoster
from gateway.process.call_factory import CallFactory
from gateway.process.fleet.port import Fleet
from gateway.process.http_server import HttpServer, http_server
from gateway.process.lines import Lines
from gateway.process.operating import Operator
from gateway.process.reloading import adopted, differences, tell
from gateway.process.signals import Stopping
from gateway.process.site import site
from gateway.process.watchdog import Watchdog
from gateway.replay.diary import Diary
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


def serve(settings: Settings, owner: Owner, join: Callable[[], Fleet]) -> int:
    """Answer calls until SIGTERM or SIGINT, then drain; give the exit status.

    `join` makes, on the loop, what this process is to others that serve the same gateway.
    """
    file_limit.ensure(settings.limits.calls)
    allocator.give_back()
    sys.setswitchinterval(SWITCH_INTERVAL)
    ask_for_slices(LOOP_SLICE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().set_task_factory(fenced_task)
        try:
            runner.run(_serve(settings, owner, join))
        except* OSError as failures:
            raise _first(failures) from None  # a port that is taken, said in one line
    return 0


def _first(failures: BaseExceptionGroup[OSError]) -> OSError:
    """Return the first failure of a group; what followed it is its consequence."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure


async def _serve(settings: Settings, owner: Owner, join: Callable[[], Fleet]) -> None:
    stopping, fleet, runtime = Stopping.by_signals(), join(), Runtime(settings.runtime)
    (recorder, diary), registry = _recording(settings), Registry(FAMILIES)
    sockets, readers = (
        fleet.sockets(settings),
        watching.readers(settings, owner, registry, fleet.seat),
    )
    journal = await _journal(settings, owner, fleet, readers.all)
    try:
        (voices, assessor), crew = (
            _ears(settings, runtime),
            AgentRoster(settings, runtime, stopping.reload),
        )
        await _prepare(crew, runtime)
        doors = _doors(settings, owner, fleet.seat)
        pacer, watchdog = Pacer(time.sleep), Watchdog(journal.process)
        make = CallFactory(
            crew, voices, assessor, journal, settings.recording, recorder, doors.allowance, diary
        ).make
        switchboard = Switchboard(
            pacer, make, crew.knows, _admission(settings), journal.process.write
        )
        readers.act_on(Operator(switchboard), asyncio.get_running_loop())
        needs = LineNeeds(
            switchboard, settings.agents.default, doors, partial(_speak, crew), fleet.seat
        )
        lines = Lines(settings, needs, fleet.wire)
        own = watching.Own(
            switchboard, pacer, journal, watchdog, recorder, lines, runtime.workers, fleet
        )
        watch = watching.watch(settings, own)
        pages = site(settings, watch, crew.names, doors)
        # Each line and page brings its own.
        watched = watching.routes(settings, own, watch, registry, doors)
        server = http_server(
            [*lines.routes(), *pages.routes(), *watched], lines.upgrades(), fleet.sorting
        )
        async with asyncio.TaskGroup() as group:
            completed, up = asyncio.Event(), asyncio.Event()
            keeping = group.create_task(crew.run(completed))
            await completed.wait()
            group.create_task(lines.run(up.set))
            serving = group.create_task(server.serve(sockets))
            group.create_task(_announce(server, up, fleet.up, stopping.asked, serving))
            group.create_task(_drain(stopping.asked, lines))
            standing = group.create_task(watch.run(up))
            _join(fleet, group, server, stopping, Following(settings, switchboard, fleet.seat))
            pacer.start()
            watchdog.start()
            await switchboard.run(stopping.asked, stopping.hurried)
            server.should_exit = True
            for part in (watchdog, pages, lines, pacer):
                part.stop()
            _cancel(keeping, standing)
    finally:
        for kept in (recorder, diary):
            if kept is not None:
                kept.close()  # first: what could not be written is told in the log
        journal.close()


def _recording(settings: Settings) -> tuple[Recorder | None, Diary | None]:
    """Make what keeps the calls, as far as that is wanted."""
    chosen = settings.recording
    return (
        Recorder() if chosen.enabled else None,
        Diary(settings) if chosen.journal else None,
    )


async def _journal(
    settings: Settings, owner: Owner, fleet: Fleet, readers: Sequence[Reader]
) -> Journal:
    """Open the log, and finish what a process left that was killed."""
    hidden = (*secrets(settings).values(), owner.token)
    folder = settings.agents.data / "running"
    try:
        running = Running(folder)
    except OSError as error:
        raise cannot_use("agents.data", folder, error) from None
    clock = asyncio.get_running_loop().time
    journal = Journal(
        settings.log, hidden, clock=clock, running=running, readers=readers, named=fleet.named
    )
    fleet.listen(journal.know)
    path = None if settings.log.path == "-" else Path(settings.log.path)
    lost = await asyncio.to_thread(finish, running, journal, path, settings.recording.folder)
    if lost:
        log.warning("calls_finished", calls=lost, reason=REASON)
    return journal


def _doors(settings: Settings, owner: Owner, seat: Seat) -> Doors:
    if problem := settings.metrics.problem():
        raise StartFailed(problem)
    keys: dict[Who, str] = {"scraper": settings.metrics.token}
    for name, kind in LINES.items():
        keys |= kind.keys(settings.lines[name])
    return Doors(Keys(owner.token, keys), seat.share(settings.limits.placed_per_hour))


def _admission(settings: Settings) -> AdmissionSettings:
    return AdmissionSettings(
        settings.limits.calls,
        retry_after=math.ceil(settings.limits.retry_after),
        drain_seconds=settings.server.drain,
    )


def _join(
    fleet: Fleet,
    group: asyncio.TaskGroup,
    server: HttpServer,
    stopping: Stopping,
    following: Following,
) -> None:
    """Take what other processes, or whoever started this one, have for it."""
    fleet.follow(stopping, following.take)
    fleet.serve(group, server.take, stopping.asked)


class Following:
    """Goes by settings that were read again, as far as they may change."""

    def __init__(self, settings: Settings, switchboard: Switchboard, seat: Seat) -> None:
        self._settings = settings
        self._switchboard = switchboard
        self._tells = seat.of == 1  # else the supervisor does, once for all

    def take(self, settings: Settings) -> None:
        """Take settings as their file is now."""
        if self._tells:
            tell(differences(self._settings, settings))
        self._settings = adopted(self._settings, settings)
        self._switchboard.change(_admission(self._settings))
        listen_from(self._settings.log.level)


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


async def _prepare(crew: AgentRoster, runtime: Runtime) -> None:
    """Load what calls need, and say what it runs on."""
    await crew.prepare()
    for loaded in runtime.loaded:
        log.info("model_loaded", model=loaded.model, on=loaded.got, seconds=loaded.seconds)


def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()


async def _speak(crew: AgentRoster, agent: str, text: str, rate: int) -> bytes:
    return (await crew.engage(agent).lines.render(text, rate)).pcm


async def _drain(asked: asyncio.Event, lines: Lines) -> None:
    """Tell the lines when no more calls are answered."""
    await asked.wait()
    lines.drain()


async def _announce(
    server: HttpServer,
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
