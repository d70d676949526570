"""Reads the settings again when SIGHUP asks for it, beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from gateway.config import Settings
from gateway.plumbing.toml_file import TomlError

log = structlog.get_logger("gateway")

Reread = Callable[[], Settings]
"""Gives the settings as their file is now; raises TomlError."""


class Rereading:
    """Reads, and hands on what was read."""

    def __init__(self, reread: Reread) -> None:
        self._reread = reread

    def ask(self, take: Callable[[Settings], None]) -> None:
        """Read, and give `take` the settings; a file that is wrong changes nothing."""
        reading = asyncio.get_running_loop().run_in_executor(None, self._read)
        reading.add_done_callback(lambda done: self._done(done, take))

    def _read(self) -> Settings | str:
        try:
            return self._reread()
        except (TomlError, OSError) as error:
            return str(error)

    def _done(self, done: asyncio.Future[Settings | str], take: Callable[[Settings], None]) -> None:
        found = done.result()
        if isinstance(found, str):
            log.error("settings_not_read", mistakes=found)
        else:
            take(found)
