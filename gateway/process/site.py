"""What the page says of this gateway: made of its settings and of how its processes stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gateway.archive.asking import Archive
from gateway.archive.desk import Places
from gateway.config import Settings
from gateway.doors.judgement import Doors
from gateway.observe.journal import timestamp
from gateway.process.operating import Operator
from gateway.process.standing import Watch
from gateway.web.calls.login import Login
from gateway.web.calls.pages import CallPages
from gateway.web.feed import Feed
from gateway.web.pages import LineStatus, Pages, Status


def site(
    settings: Settings, watch: Watch, agents: Callable[[], tuple[str, ...]], doors: Doors
) -> Pages:
    """Make the pages of a gateway."""
    board = watch.fleet.board

    def status() -> Status:
        watch.stand()
        calls, figures = board.calls(), board.figures()
        return Status(
            tuple(
                LineStatus(name, state, said, calls[name])
                for name, (state, said) in board.lines().items()
            ),
            agents(),
            settings.agents.default,
            calls.total(),
            figures["begun"],
            figures["refused"],
        )

    path = settings.log.path
    feed = Feed(None if path == "-" else Path(path), timestamp(watch.fleet.started))
    recordings = str(settings.recording.folder)
    index = settings.agents.data / "calls/index.sqlite"
    archive = Archive(None if path == "-" else Places(path, str(index), recordings))
    browser = CallPages(archive, Operator(watch.switchboard), Login(settings.web, doors))
    return Pages(settings.web, feed, status, doors, browser)
