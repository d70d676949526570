"""A process as its supervisor sees it: started, spoken to, and noticed when it is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

from gateway.process.fleet.channel import Channel, pair

OPTION = "--member"
"""Of `parley serve`: names the process's end of the channel."""


class Worker:
    """One process, from before it knows what it is to be until it has ended."""

    def __init__(self, received: Callable[[Worker, bytes, list[int]], None]) -> None:
        ours, theirs = pair()
        command = [sys.executable, "-m", "gateway", "serve", OPTION, str(theirs.fileno())]
        with theirs:
            # Its own group: what a terminal sends to all is for the supervisor to tell.
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, process_group=0
            )
        self.gone = asyncio.Event()
        "its end of the channel is closed: it has ended, or is about to"
        self.ready = False
        self._channel = Channel(ours, partial(received, self), self.gone.set)

    @property
    def pid(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    def tell(self, message: bytes, files: Sequence[int] = ()) -> bool:
        """Say something, without waiting."""
        return self._channel.send(message, files)

    def signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end, and give the exit status; below 0: of a signal."""
        await self.gone.wait()
        self._channel.close()
        return await asyncio.to_thread(self._process.wait)

    def let_go(self) -> None:
        """Let a process end that has not been told what to be."""
        self._channel.close()
        self.gone.set()


def how(status: int) -> dict[str, object]:
    """Tell how a process ended, as fields of a message."""
    if status >= 0:
        return {"status": status}
    name = next((one.name for one in signal.Signals if one == -status), str(-status))
    return {"signal": name}


def closed(files: Sequence[int]) -> None:
    """Close files that nobody takes."""
    for file in files:
        os.close(file)
