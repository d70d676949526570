"""Who answers in a call right now: the open backend, and what the next one is given by it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import structlog

from gateway.events import AgentAudio, BackendCommand, BackendLost, Listen
from gateway.plumbing.fence import is_stop
from gateway.ports import Backend, BackendEvent, BackendStart, BackendTraits
from inference.errors import as_error, in_words
from media.frame import AudioFrame

KEPT_FRAMES = 750
"""Frames of the caller's sound kept for a backend that takes over in the middle of a turn: 15 s,
longer than all but few turns on a telephone; about half a megabyte."""

PREFIX_SECONDS = 0.3
"""What such a backend is given from before the first voiced sample: soft onsets lie there."""

log = structlog.get_logger("call")


class Answering:
    """Opens one backend at a time; what a closed one still says goes nowhere."""

    def __init__(
        self,
        make: Callable[[str], Backend],
        start: Callable[[], BackendStart],
        post: Callable[[BackendEvent], None],
        *,
        keeps: bool,
    ) -> None:
        """`keeps`: another backend may take over, so the caller's last sound is kept for it."""
        self._make = make
        self._start = start
        self._post = post
        self._kept: deque[AudioFrame] | None = deque(maxlen=KEPT_FRAMES) if keeps else None
        self._group: asyncio.TaskGroup | None = None
        self._backend: Backend | None = None
        self._task: asyncio.Task[None] | None = None
        self._call_id = ""

    def begin(self, group: asyncio.TaskGroup) -> BackendTraits:
        """Open the agent's first backend in the call's group; give what it can do."""
        self._group = group
        return self.open("")

    def open(self, name: str, turn_start: int | None = None) -> BackendTraits:
        """Open a backend in place of the present one; give what it can do.

        With `turn_start` it is given the turn that is under way from there on.
        """
        self.close()
        backend = self._backend = self._make(name)
        assert self._group is not None
        self._task = self._group.create_task(self._serve(backend))
        if turn_start is not None:
            self.perform(Listen(turn_start))
            for frame in self._kept or ():
                wanted = frame.end > turn_start - int(PREFIX_SECONDS * frame.rate)
                if wanted and self._backend is backend:
                    self._pass_on(backend, frame)
        return backend.traits

    def close(self) -> None:
        """Close the present backend, if one is open."""
        if self._task is not None:
            self._task.cancel()
        self._backend = self._task = None

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's sound."""
        if self._kept is not None:
            self._kept.append(frame)
        if self._backend is not None:
            self._pass_on(self._backend, frame)

    def perform(self, command: BackendCommand) -> None:
        """Pass a command on."""
        try:
            if self._backend is not None:
                self._backend.perform(command)
        except BaseException as raised:  # fence: a backend that breaks is lost, and no call with it
            self._lose(raised)

    def _pass_on(self, backend: Backend, frame: AudioFrame) -> None:
        try:
            backend.hear(frame)
        except BaseException as raised:  # fence: a backend that breaks is lost, and no call with it
            self._lose(raised)

    def _lose(self, raised: BaseException) -> None:
        """Let a backend go that broke while it was told something."""
        log.error("backend_broke", call_id=self._call_id, exc_info=raised)
        self.close()
        self._post(BackendLost(in_words(as_error(raised))))

    async def words(self, start: int, end: int) -> str | None:
        """Return the words in [start, end) of the caller's stream, where somebody listens."""
        return None if self._backend is None else await self._backend.words(start, end)

    def done(self, at: int) -> float | None:
        """Return how likely the caller is done at `at`, where the backend judges that itself."""
        return None if self._backend is None else self._backend.done(at)

    async def _serve(self, backend: Backend) -> None:
        start = self._start()
        if not backend.traits.tools:
            start = replace(start, tools=())
        self._call_id = start.info.call_id

        def emit(event: BackendEvent) -> None:
            if self._backend is not backend:
                return  # what a replaced backend still says is void
            if isinstance(event, AgentAudio) and len(event.pcm) % 2:
                raise ValueError(f"{len(event.pcm)} bytes of sound: there is half a sample")
            self._post(event)

        try:
            await backend.run(start, emit)
        except BaseException as raised:  # fence: a backend that breaks is lost, and no call with it
            if is_stop(raised):
                raise
            log.exception("backend_broke", call_id=self._call_id)
            emit(BackendLost(in_words(as_error(raised))))
