"""What the C library's allocator gives back: memory of a busy hour is not held for good."""

from __future__ import annotations

import ctypes

ARENA_MAX, MMAP_THRESHOLD, TRIM_THRESHOLD = -8, -3, -1
"""Parameters of glibc's mallopt(3)."""

ARENAS = 4
"""At most so many heaps; by itself glibc makes eight for each core, and each keeps its peak."""

LARGE = 4 << 20
"""Bytes from which a block has pages of its own, which go back when it is freed.

By itself glibc raises this to the largest block that was ever freed (32 MB at most): one answer of
20 MB, and from then on such blocks lie in a thread's heap and hold it open.
"""

TOP = 32 << 20
"""Bytes at a heap's end that are kept for what comes next."""


def give_back() -> bool:
    """Have large blocks given back and heaps be few; return False where the C library cannot.

    Call it before threads are started: a thread keeps the heap that it was given.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc
        return False
    chosen = ((ARENA_MAX, ARENAS), (MMAP_THRESHOLD, LARGE), (TRIM_THRESHOLD, TOP))
    return all(mallopt(parameter, value) == 1 for parameter, value in chosen)
