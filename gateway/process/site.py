"""What the page says of this gateway: made of its settings and of the calls in progress."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from gateway.archive.asking import Archive
from gateway.archive.desk import Places
from gateway.call.switchboard import Switchboard
from gateway.config import Settings
from gateway.doors.judgement import Doors
from gateway.lines.port import Standing
from gateway.observe.journal import timestamp
from gateway.process.operating import Operator
from gateway.web.calls.login import Login
from gateway.web.calls.pages import CallPages
from gateway.web.feed import Feed
from gateway.web.pages import LineStatus, Pages, Status


def site(
    settings: Settings,
    switchboard: Switchboard,
    agents: Callable[[], tuple[str, ...]],
    lines: Callable[[], Mapping[str, Standing]],
    doors: Doors,
) -> Pages:
    """Make the pages of a gateway."""

    def status() -> Status:
        calls = Counter(call.leg.info.line for call in switchboard.calls)
        return Status(
            tuple(
                LineStatus(name, one.state, one.said, calls[name]) for name, one in lines().items()
            ),
            agents(),
            settings.agents.default,
            calls.total(),
            switchboard.begun,
            sum(switchboard.refused.values()),
        )

    path = settings.log.path
    feed = Feed(None if path == "-" else Path(path), timestamp(time.time()))
    recordings = str(settings.recording.folder)
    index = settings.agents.data / "calls/index.sqlite"
    archive = Archive(None if path == "-" else Places(path, str(index), recordings))
    browser = CallPages(archive, Operator(switchboard), Login(settings.web, doors))
    return Pages(settings.web, feed, status, doors, browser)
