"""What signals mean: none of them ends a call without a word.

SIGTERM and SIGINT ask the process to stop, more urgently when they come again, at once the third
time. SIGHUP means a terminal that was closed, which asks it to stop too, or, where there is none
or it is still there, that the agents' files are to be read. SIGQUIT tells what every thread does.
All others that would end a process by themselves are told and ignored.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
from collections.abc import Callable

import structlog

from gateway.process.stacks import stacks

log = structlog.get_logger("gateway")

STOP = (signal.SIGTERM, signal.SIGINT)

ENDING = ("SIGXCPU", "SIGPWR")
"""The processor time is used up, or the power fails: it is going to end, and still has a moment."""

IGNORED = ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGSTKFLT")
"""Nothing here sends these, and what they do by themselves is to end the process."""


MOST_TASKS = 200
"""Tasks that are listed; a call has about ten."""


class Terminal:
    """The terminal that the process was started from, if it was."""

    def __init__(self) -> None:
        try:
            self._file: int | None = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            self._file = None

    @property
    def closed(self) -> bool:
        """Whether there was one, and it is gone."""
        if self._file is None:
            return False
        try:
            termios.tcgetattr(self._file)
        except (OSError, termios.error):
            return True
        return False


class Stopping:
    """Counts the signals; what they mean is done by whoever waits for the events."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self.asked = asyncio.Event()
        "calls in progress may finish"
        self.hurried = asyncio.Event()
        "they are ended now, with a word"
        self.reload = asyncio.Event()
        "what may have changed is to be read"
        self.at_once: Callable[[], None] = lambda: None
        "what is done before the third signal ends the process"
        self.reread: Callable[[], None] = lambda: None
        "reads the settings again"
        self._terminal = terminal or Terminal()

    @classmethod
    def by_signals(cls) -> Stopping:
        """Take the signals of the process from now on."""
        stopping, loop = cls(), asyncio.get_running_loop()
        for number in STOP:
            loop.add_signal_handler(number, stopping.came, number)
        # `nohup` has it ignored, and means it.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, stopping.hung_up)
        loop.add_signal_handler(signal.SIGQUIT, stopping.tell)
        for ending in _known(ENDING):
            loop.add_signal_handler(ending, stopping.ends, ending)
        for ignored in (*_known(IGNORED), *_real_time()):
            loop.add_signal_handler(ignored, stopping.ignore, ignored)
        return stopping

    def came(self, number: int) -> None:
        """Take one signal."""
        if not self.asked.is_set():
            self.asked.set()
        elif not self.hurried.is_set():
            log.warning("drain_cut_short", signal=_name(number))
            self.hurried.set()
        else:
            log.warning("killed", signal=_name(number))
            self.at_once()
            # The log and the recordings are whole up to here: both are written as things happen.
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def hung_up(self) -> None:
        """Take SIGHUP; the shell sends one and the kernel another, so that it hurries nobody."""
        if self._terminal.closed:
            self.ends(signal.SIGHUP)
        else:
            log.info("reload", signal="SIGHUP")
            self.reload.set()
            self.reread()

    def ends(self, number: int) -> None:
        """Take that the process is about to lose what it lives by."""
        log.warning("asked_to_stop", signal=_name(number))
        self.asked.set()

    def tell(self) -> None:
        """Say what every thread is doing, and what the loop's tasks wait for."""
        tasks = [str(task.get_coro()) for task in asyncio.all_tasks()]
        log.warning("stacks", threads=stacks(), tasks=tasks[:MOST_TASKS], in_all=len(tasks))

    def ignore(self, number: int) -> None:
        """Take a signal that means nothing here."""
        log.warning("signal_ignored", signal=_name(number))


def _known(names: tuple[str, ...]) -> list[int]:
    """Return the signals of these names that the system has."""
    return [int(number) for name in names if (number := signal.Signals.__members__.get(name))]


def _real_time() -> range:
    """Return the signals that have numbers for names, where the system has them."""
    first, last = (signal.Signals.__members__.get(each) for each in ("SIGRTMIN", "SIGRTMAX"))
    return range(0) if first is None or last is None else range(first, last + 1)


def _name(number: int) -> str:
    return next((each.name for each in signal.Signals if each == number), f"signal {number}")
