"""SIGHUP: a terminal that was closed, or a wish to read the agents again."""

from __future__ import annotations

import os
import pty
import signal
import sys

import pytest

from gateway.process.signals import Stopping, Terminal


class Screen(Terminal):
    """A terminal that is there, or not any more."""

    def __init__(self, closed: bool) -> None:
        self._closed = closed

    @property
    def closed(self) -> bool:
        return self._closed


@pytest.mark.parametrize(("closed", "asked"), [(True, True), (False, False)])
async def test_a_closed_terminal_drains_and_a_hang_up_besides_reads_the_agents(
    closed: bool, asked: bool
) -> None:
    stopping = Stopping(Screen(closed))
    for _ in range(3):
        stopping.hung_up()
    assert stopping.asked.is_set() is asked
    assert stopping.reload.is_set() is not asked
    assert not stopping.hurried.is_set()


def test_a_terminal_is_seen_to_close() -> None:
    """In a child that has one of its own: whoever closes it closes ours for good."""
    program = (
        "import os, signal, sys\n"
        "from gateway.process.signals import Terminal\n"
        "terminal = Terminal()\n"
        "signal.signal(signal.SIGHUP, lambda *_: os.write(out, str(terminal.closed).encode()))\n"
        "out = int(sys.argv[1])\n"
        "os.write(out, str(terminal.closed).encode() + b' ')\n"
        "signal.pause()\n"
    )
    out, into = os.pipe()
    child, screen = pty.fork()
    if not child:
        os.set_inheritable(into, True)
        os.execv(sys.executable, [sys.executable, "-c", program, str(into)])
    os.close(into)
    assert os.read(out, 16) == b"False "
    os.close(screen)
    assert os.read(out, 16) == b"True"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(out)
