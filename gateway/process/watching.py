"""What is served to those who watch the process: supervisors, load balancers, Prometheus."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from starlette.routing import BaseRoute

from gateway.call.pacer import Pacer
from gateway.call.switchboard import Switchboard
from gateway.config import Settings, secrets
from gateway.doors.judgement import Doors
from gateway.doors.owner import Owner
from gateway.lines.table import LINES
from gateway.metrics import families as f
from gateway.metrics import page
from gateway.metrics.counting import Counting
from gateway.metrics.series import Registry
from gateway.observe.journal import Journal, Reader
from gateway.observe.vocabulary import EVENTS, event_name
from gateway.plumbing.starting import StartFailed, cannot_use
from gateway.process import health
from gateway.process.figures import Figures, Places
from gateway.process.judging import Judge, Watched
from gateway.process.lines import Lines
from gateway.process.watchdog import Watchdog
from gateway.webhooks.outbox import Counts, Outbox
from inference.pool import Workers
from media.recording import Recorder


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


def readers(settings: Settings, owner: Owner, registry: Registry) -> tuple[Reader, ...]:
    """Give who is told every line of the log; raises StartFailed."""
    counting = Counting(registry)
    chosen = settings.webhooks
    if problem := chosen.problem(tuple(map(event_name, EVENTS))):
        raise StartFailed(problem)
    if not chosen.url:
        return (counting,)
    hidden = (*secrets(settings).values(), owner.token)
    tell = partial(_count, registry)
    try:
        return counting, Outbox(chosen, settings.agents.data, hidden, tell=tell)
    except OSError as error:
        raise cannot_use("agents.data", settings.agents.data, error) from None
    except sqlite3.Error as error:
        raise StartFailed(f"agents.data: {settings.agents.data}: {error}") from None


def _count(registry: Registry, counts: Counts) -> None:
    with registry.lock:
        registry.series(f.WEBHOOKS_WAITING).set((), counts.waiting)
        outcomes = registry.series(f.WEBHOOKS)
        outcomes.set(("taken",), counts.taken)
        outcomes.set(("dropped",), counts.dropped)
        outcomes.set(("failed",), counts.failures)


def routes(settings: Settings, own: Own, registry: Registry, doors: Doors) -> list[BaseRoute]:
    """Give the routes for whoever watches."""
    folders = _folders(settings, own.recorder)
    standings = own.lines.standings
    judge = Judge(Watched(own.journal, own.recorder, standings, folders))
    watch = health.Watch(own.switchboard, own.pacer, judge, own.journal, own.watchdog)
    found = health.routes(watch, doors)
    if settings.metrics.enabled:
        board, pacer = own.switchboard, own.pacer
        shown = _certificates(settings)
        places = Places(board, pacer, judge, standings, own.workers, folders, shown)
        found += page.routes(registry, Figures(places).look, doors)
    return found


def _folders(settings: Settings, recorder: Recorder | None) -> dict[str, Path]:
    """Give where something is written, by its setting."""
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
