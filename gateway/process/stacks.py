"""What every thread of the process is doing right now, in words for whoever is on call."""

from __future__ import annotations

import threading
import traceback
from sys import _current_frames as current_frames  # documented, for all its name
from types import FrameType

DEEP = 12
"""Calls of a stack that are told, the innermost: where it stands and who asked for that."""

IDLE = frozenset({"wait", "_worker", "get", "select", "accept"})
"""Innermost functions of threads that wait for work."""


def stack(frame: FrameType) -> list[str]:
    """Return a stack as `file:line function`, the innermost last."""
    found = traceback.extract_stack(frame)[-DEEP:]
    return [f"{each.filename}:{each.lineno} {each.name}" for each in found]


def stacks(busy: bool = False) -> dict[str, list[str]]:
    """Return the stacks of all threads by name, or of those that do not seem to wait for work."""
    frames = current_frames()
    found: dict[str, list[str]] = {}
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is None or thread is threading.current_thread():
            continue
        if busy and frame.f_code.co_name in IDLE:
            continue
        name = thread.name if thread.name not in found else f"{thread.name} {thread.native_id}"
        found[name] = stack(frame)
    return found
