"""The lines of a process: those of the table that are switched on, served together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from starlette.routing import BaseRoute

from gateway.config import Settings
from gateway.lines.port import Line, LineNeeds, Standing, Wire
from gateway.lines.table import LINES
from gateway.lines.websocket.upgrade import SocketDoor, Upgrades


class Lines:
    """Makes the lines and runs them; knows none of them by name."""

    def __init__(
        self,
        settings: Settings,
        needs: LineNeeds,
        wire: Callable[[str], Wire | None] = lambda _name: None,
    ) -> None:
        """`wire` leads to the front of a line, where several processes share one."""
        self._lines: dict[str, Line] = {}
        self._off: dict[str, str] = {}
        for name, kind in LINES.items():
            chosen = settings.lines[name]
            if why := kind.off(chosen):
                self._off[name] = why
            else:
                self._lines[name] = kind.make(chosen, replace(needs, wire=wire(name)))

    def routes(self) -> list[BaseRoute]:
        """Return what all lines serve over HTTP."""
        return [route for line in self._lines.values() for route in line.routes()]

    def upgrades(self) -> Upgrades:
        """Return what uvicorn hands WebSockets to."""
        doors: dict[str, SocketDoor] = {}
        for line in self._lines.values():
            doors |= line.sockets()
        return Upgrades(doors)

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until `stop`; call `ready` once calls can come on every line."""
        waiting = set(self._lines)

        def up(name: str) -> None:
            waiting.discard(name)
            if not waiting:
                ready()

        async with asyncio.TaskGroup() as group:
            for name, line in self._lines.items():
                group.create_task(line.run(partial(up, name)))
        if not self._lines:
            ready()

    def drain(self) -> None:
        """Tell the lines that no more calls are answered."""
        for line in self._lines.values():
            line.drain()

    def stop(self) -> None:
        """Let the lines say goodbye to whoever is left."""
        for line in self._lines.values():
            line.stop()

    def standings(self) -> Mapping[str, Standing]:
        """Return how each line of the table stands."""
        return {
            name: self._lines[name].standing()
            if name in self._lines
            else Standing("off", self._off[name])
            for name in LINES
        }
