"""How the process's threads share a core: models yield, and the loop runs when it wakes.

Both are wishes that Linux takes from any user; elsewhere, and where they are refused, threads
share the processor as they always do.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading

LOOP_SLICE = 100_000
"""Nanoseconds, the least that Linux takes. With longer ones one wake-up of the loop in twenty waits
for the scheduler's next tick, 4 ms, behind a model that runs, niced or not."""

MODEL_SLICE = 500_000
"""Nanoseconds. When the loop waits for the interpreter's lock, the model thread that holds it must
not wait in turn behind another model, at least not for long."""

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Number of the system call, which few C libraries wrap."""


_RESET_ON_FORK = 1
"""The threads that are begun from here have slices as long as any."""


class _Attributes(ctypes.Structure):
    """`struct sched_attr`, sched_setattr(2), in its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def yield_to_others(niceness: int) -> None:
    """Lower the calling thread's claim to the processor, below that of its process.

    Linux keeps a niceness for each thread and takes the thread's id where POSIX says process.
    Elsewhere the call would touch the whole process, so that nothing is done.
    """
    if niceness and sys.platform == "linux":
        thread = threading.get_native_id()
        own = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, min(own + niceness, 19))


def ask_for_slices(nanoseconds: int) -> bool:
    """Ask for slices of that length for the calling thread; say whether the system took the wish.

    A thread that asks for shorter slices than the one that is running comes before it when it
    wakes, and one that is kept from running comes to its turn sooner (Linux 6.12 and newer; older
    ones take the wish and do nothing about it).
    """
    number = _SCHED_SETATTR.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return False
    wish = _Attributes(
        size=ctypes.sizeof(_Attributes),
        policy=0,  # SCHED_OTHER, as before
        flags=_RESET_ON_FORK,
        nice=os.getpriority(os.PRIO_PROCESS, threading.get_native_id()),
        runtime=nanoseconds,
    )
    return bool(ctypes.CDLL(None).syscall(number, 0, ctypes.byref(wish), 0) == 0)
