"""Counts what the interpreter does: the same in every run, however busy the machine is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any


class Steps:
    """Counts steps by function, and objects that outlive the line that made them.

    What runs in C takes one step, however long.
    """

    def __init__(self, *, objects: bool = False) -> None:
        """`objects`: count these too, which takes five times as long."""
        self.by_function: Counter[str] = Counter()
        self.objects = 0
        self._counts = objects
        self._last = 0

    @property
    def total(self) -> int:
        """Steps of all functions."""
        return self.by_function.total()

    def around(self, work: Callable[[], None]) -> None:
        """Do some work and count."""
        before = sys.gettrace()
        self._last = sys.getallocatedblocks()
        sys.settrace(self._enter)
        try:
            work()
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, self._counts
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self.by_function[frame.f_code.co_qualname] += 1
        elif self._counts:
            now = sys.getallocatedblocks()
            self.objects += max(0, now - self._last)
            self._last = now
        return self._step
