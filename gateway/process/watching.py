"""What is served to those who watch the process: supervisors, load balancers, Prometheus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from starlette.routing import BaseRoute

from gateway.call.pacer import Pacer
from gateway.call.switchboard import Switchboard
from gateway.config import Settings
from gateway.doors.judgement import Doors
from gateway.lines.table import LINES
from gateway.metrics import page
from gateway.metrics.series import Registry
from gateway.observe.journal import Journal
from gateway.process import health
from gateway.process.figures import Figures, Places
from gateway.process.judging import Judge, Watched
from gateway.process.lines import Lines
from gateway.process.watchdog import Watchdog
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
