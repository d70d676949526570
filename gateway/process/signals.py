"""How the process is asked to stop: by a signal, more urgently by a second, at once by a third."""

from __future__ import annotations

import asyncio
import os
import signal

import structlog

log = structlog.get_logger("gateway")

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopping:
    """Counts the signals; what they mean is done by whoever waits for the events."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        "calls in progress may finish"
        self.hurried = asyncio.Event()
        "they are ended now, with a word"

    @classmethod
    def by_signals(cls) -> Stopping:
        """Take the signals of the process from now on."""
        stopping, loop = cls(), asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, stopping.came, number)
        return stopping

    def came(self, number: signal.Signals) -> None:
        """Take one signal."""
        if not self.asked.is_set():
            self.asked.set()
        elif not self.hurried.is_set():
            log.warning("drain_cut_short", signal=number.name)
            self.hurried.set()
        else:
            log.warning("killed", signal=number.name)
            # The log and the recordings are whole up to here: both are written as things happen.
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
