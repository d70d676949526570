"""What is served to those who watch the process: supervisors, load balancers, Prometheus."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from gateway.call.pacer import Pacer
from gateway.call.switchboard import Switchboard
from gateway.config import Settings, secrets
from gateway.doors.judgement import Doors
from gateway.doors.owner import Owner
from gateway.lines.sip.settings import SipSettings
from gateway.lines.table import LINES
from gateway.metrics import families as f
from gateway.metrics import page
from gateway.metrics.counting import Counting
from gateway.metrics.series import Registry
from gateway.observe.journal import Journal, Reader
from gateway.observe.vocabulary import EVENTS, event_name
from gateway.plumbing.seat import Seat
from gateway.plumbing.starting import StartFailed, cannot_use
from gateway.ports import LiveCalls
from gateway.process import health
from gateway.process.figures import Figures, Places
from gateway.process.fleet.port import Fleet
from gateway.process.judging import Judge, Watched
from gateway.process.lines import Lines
from gateway.process.standing import Watch
from gateway.process.watchdog import Watchdog
from gateway.spool.intake import Counts
from gateway.webhooks.outbox import Outbox
from inference.pool import Workers
from media.recording import Recorder

if TYPE_CHECKING:
    from gateway.bus.bus import Bus


@dataclass(frozen=True, slots=True)
class Own:
    """What the process is made of, as far as it is watched."""

    switchboard: Switchboard
    pacer: Pacer
    journal: Journal
    watchdog: Watchdog
    recorder: Recorder | None
    lines: Lines
    workers: Workers
    fleet: Fleet


@dataclass(frozen=True, slots=True)
class Readers:
    """Who is told every line of the log."""

    all: tuple[Reader, ...]
    bus: Bus | None
    "the one of them that takes commands, too"

    def act_on(self, live: LiveCalls, loop: asyncio.AbstractEventLoop) -> None:
        """Let commands that come over the bus act on the calls of this process."""
        if self.bus is not None:
            self.bus.acts.act_on(live, loop)


def readers(settings: Settings, owner: Owner, registry: Registry, seat: Seat) -> Readers:
    """Make whoever is told every line of the log; raises StartFailed."""
    counting, known = Counting(registry), tuple(map(event_name, EVENTS))
    if problem := settings.webhooks.problem(known) or settings.bus.problem(known):
        raise StartFailed(problem)
    hidden = (*secrets(settings).values(), owner.token)
    folder = settings.agents.data
    if seat.of > 1:  # who comes after a process that was lost sends what that one left
        folder /= f"process-{seat.number}"
    found: list[Reader] = [counting]
    bus: Bus | None = None
    try:
        if settings.webhooks.url:
            tell = partial(_count, registry)
            found.append(Outbox(settings.webhooks, folder, hidden, tell=tell))
        if settings.bus.url:
            bus = _bus(settings, folder, hidden, registry)
            found.append(bus)
    except OSError as error:
        raise cannot_use("agents.data", folder, error) from None
    except sqlite3.Error as error:
        raise StartFailed(f"agents.data: {folder}: {error}") from None
    return Readers(tuple(found), bus)


def _bus(settings: Settings, folder: Path, hidden: tuple[str, ...], registry: Registry) -> Bus:
    try:
        from gateway.bus.bus import Bus
    except ImportError:
        raise StartFailed("bus.url needs NATS' client: install parley[bus]") from None
    own = (settings.server.address, settings.line(SipSettings).api_key)
    return Bus(settings.bus, folder, hidden, own, partial(_count_bus, registry))


def _count_bus(registry: Registry, counts: Counts, there: bool) -> None:
    with registry.lock:
        registry.series(f.BUS_WAITING).set((), counts.waiting)
        registry.series(f.BUS_UP).set((), int(there))
        outcomes = registry.series(f.BUS)
        outcomes.set(("taken",), counts.taken)
        outcomes.set(("dropped",), counts.dropped)
        outcomes.set(("failed",), counts.failures)


def _count(registry: Registry, counts: Counts) -> None:
    with registry.lock:
        registry.series(f.WEBHOOKS_WAITING).set((), counts.waiting)
        outcomes = registry.series(f.WEBHOOKS)
        outcomes.set(("taken",), counts.taken)
        outcomes.set(("dropped",), counts.dropped)
        outcomes.set(("failed",), counts.failures)


def watch(settings: Settings, own: Own) -> Watch:
    """Make what tells how the process stands."""
    watched = Watched(
        own.journal, own.recorder, own.lines.standings, _folders(settings, own.recorder)
    )
    return Watch(
        own.switchboard,
        own.pacer,
        Judge(watched),
        own.journal,
        own.watchdog,
        own.lines,
        own.fleet,
    )


def routes(
    settings: Settings, own: Own, watch: Watch, registry: Registry, doors: Doors
) -> list[BaseRoute]:
    """Return the routes for whoever watches."""
    folders, standings = _folders(settings, own.recorder), own.lines.standings
    found = health.routes(watch, doors)
    if settings.metrics.enabled:
        board, pacer = own.switchboard, own.pacer
        shown = _certificates(settings)
        places = Places(board, pacer, watch.judge, standings, own.workers, folders, shown)
        own_page = page.text(registry, Figures(places).look)
        found += page.routes(partial(own.fleet.page, own_page), doors)
        own.fleet.show(own_page)
    return found


def _folders(settings: Settings, recorder: Recorder | None) -> dict[str, Path]:
    """Return where something is written, by its setting."""
    folders = {"agents.data": settings.agents.data}
    if settings.log.path != "-":
        folders["log.path"] = Path(settings.log.path).parent
    if recorder is not None:
        folders["recording.folder"] = settings.recording.folder
    return folders


def _certificates(settings: Settings) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name, kind in LINES.items():
        if not kind.off(settings.lines[name]):
            found |= kind.certificates(settings.lines[name])
    return found
