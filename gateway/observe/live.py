"""Prints log lines as they come: the shell around the tail and the story."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console, RenderableType

from gateway.log_events import CallEndedLogged
from gateway.observe.lines import LogLine, parse
from gateway.observe.story import Story
from gateway.observe.tail import Tail, beginning
from gateway.observe.wanted import Choice, Wanted

LOOK_SECONDS = 0.1
"""How often a followed log is looked at: soon for a person, nothing for a machine."""

PIPE_COLUMNS = 120
"""Width where the output is no terminal and so has none."""


class Paper:
    """Prints what rich lays out, also where the output is a file or a pipe without a width."""

    def __init__(self, console: Console) -> None:
        self._console = console
        if not console.is_terminal:
            self._console = Console(width=PIPE_COLUMNS, file=console.file, highlight=False)

    def print(self, what: RenderableType) -> None:
        """Print at once; a pipe gets no padding at the ends of lines."""
        if self._console.is_terminal:
            self._console.print(what)
            return
        with self._console.capture() as caught:
            self._console.print(what)
        for line in caught.get().splitlines():
            print(line.rstrip(), file=self._console.file, flush=True)


def batches(
    path: Path, count: int | None, follow: bool, look: float = LOOK_SECONDS
) -> Iterator[list[bytes]]:
    """Return the last lines of a log, then (when following) what comes; an empty batch: a pause.

    `look` is how many seconds pass between two looks at a log in which nothing new was.
    """
    with Tail(path, beginning(path, count)) as tail:
        old: deque[bytes] = deque(maxlen=count)
        while lines := tail.read():
            old.extend(lines)
        yield list(old)
        while follow:
            lines = tail.read()
            yield lines
            if not lines:
                time.sleep(look)


class Teller:
    """Prints the lines that were asked for, for people or as they are; keeps nothing."""

    def __init__(
        self, console: Console, wanted: Wanted, raw: bool = False, tagged: bool = True
    ) -> None:
        self._paper = Paper(console)
        self._choice = Choice(wanted)
        self._raw = raw
        self._story = Story(tagged=tagged and not wanted.call)
        self._number = 0
        self.bad = 0
        "lines that could not be read"

    def tell(self, raw: bytes) -> LogLine | None:
        """Print one line; give it where it was one and belongs to the call."""
        self._number += 1
        try:
            line = parse(raw)
        except ValueError as error:
            self._complain(raw, str(error))
            return None
        if not self._choice.takes(line):
            return None
        if self._raw:
            sys.stdout.buffer.write(raw + b"\n")
            sys.stdout.buffer.flush()
        else:
            for row in self._story.tell(line):
                self._paper.print(row)
        return line

    def _complain(self, raw: bytes, why: str) -> None:
        if not raw.strip():
            return
        self.bad += 1
        where = f"line {self._number} of those read"
        if self._raw:
            print(f"parley: {where}: {why}; the line is skipped", file=sys.stderr)
        else:
            self._paper.print(self._story.bad(where, why))


def watch(
    path: Path, console: Console, call: str = "", gone: Callable[[], bool] = lambda: False
) -> list[LogLine]:
    """Print a call as it happens until it ended, or `gone` says that nothing more will come.

    Without `call`, the log is taken to hold one call alone.
    """
    teller = Teller(console, Wanted(call=call), tagged=False)
    heard: list[LogLine] = []
    over = False
    for lines in batches(path, None, follow=True):
        for raw in lines:
            line = teller.tell(raw)
            if line is not None:
                heard.append(line)
                if isinstance(line.told, CallEndedLogged):
                    return heard
        if over and not lines:
            return heard
        over = gone()  # asked before the next look, which then misses nothing
    return heard
