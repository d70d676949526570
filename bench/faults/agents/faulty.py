"""Tools that do what no tool should, and one that answers."""

from __future__ import annotations

import asyncio
import sys
import time


def raises() -> str:
    """Look something up, in vain."""
    raise RuntimeError("broken")


def exits() -> str:
    """Look something up, and end the process."""
    sys.exit(3)


def interrupts() -> str:
    """Look something up, as if somebody had pressed Control-C."""
    raise KeyboardInterrupt


async def sleeps() -> str:
    """Look something up, for too long."""
    await asyncio.sleep(30)
    return "late"


def blocks() -> str:
    """Look something up, and keep a thread for it."""
    time.sleep(5)
    return "late"


def floods() -> str:
    """Look everything up at once."""
    return "x" * 20_000_000


def answers() -> str:
    """Look something up."""
    return "It is there."
