"""Which calls may come, which are in progress, and how all of them end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.call.call import Call
from gateway.call.pacer import Pacer
from gateway.events import EndAsked
from gateway.ports import Leg, Refusal

log = structlog.get_logger("switchboard")

RETRY_AFTER = 5
"""Seconds a refused caller is told to wait: a turn or two, after which load looks different."""


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """When one more call is one too many."""

    calls: int = 200
    "calls at once; 0: no limit but what is felt"
    late_share: float = 0.05
    "share of the last seconds' ticks more than 5 ms late: callers hear it from about there"
    drain_seconds: float = 60.0
    "how long calls in progress may go on after the process was asked to stop"


class Switchboard:
    """Admits calls by what callers in progress feel, runs them, and drains."""

    def __init__(
        self,
        pacer: Pacer,
        make_call: Callable[[Leg], Call],
        knows: Callable[[str], bool],
        settings: AdmissionSettings,
    ) -> None:
        self._pacer = pacer
        self._make_call = make_call
        self._knows = knows
        self._settings = settings
        self._calls: dict[Call, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._draining = False
        self._empty = asyncio.Event()
        self._empty.set()
        self.refused = 0
        self.begun = 0

    # --- the lines' side -----------------------------------------------------------------------

    def admit(self, agent: str) -> Refusal | None:
        """Say whether one more call may come."""
        refusal = self._refusal(agent)
        if refusal is not None:
            self.refused += 1
            log.info("call_refused", agent=agent, kind=refusal.kind)
        return refusal

    def would_refuse(self) -> Refusal | None:
        """Say why a call for any agent would be refused now."""
        return self._refusal(None)

    def begin(self, leg: Leg) -> None:
        """Run a call on an answered leg until it ends."""
        if self._group is None:
            leg.hang_up("not serving")
            return
        call = self._make_call(leg)
        self.begun += 1
        self._empty.clear()
        self._pacer.add(call)
        task = self._group.create_task(call.run())
        self._calls[call] = task
        task.add_done_callback(lambda _: self._ended(call))

    def _refusal(self, agent: str | None) -> Refusal | None:
        if self._draining or self._group is None:
            return Refusal("draining", RETRY_AFTER, "The gateway is being restarted.")
        if agent is not None and not self._knows(agent):
            return Refusal("unknown_agent", text=f"There is no agent named {agent!r}.")
        limit = self._settings.calls
        if limit and len(self._calls) >= limit:
            return Refusal("busy", RETRY_AFTER, "All lines are busy.")
        recent = self._pacer.recent
        if self._calls and len(recent) == recent.maxlen:
            late = sum(1 for one in recent if one > 0.005) / len(recent)
            if late > self._settings.late_share:
                return Refusal("busy", RETRY_AFTER, "All lines are busy.")
        return None

    def _ended(self, call: Call) -> None:
        self._calls.pop(call, None)
        self._pacer.remove(call)
        if not self._calls:
            self._empty.set()
            gc.collect()  # nobody waits: what the parts of a call hold of each other goes now

    # --- the process's side ----------------------------------------------------------------------

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls in progress."""
        return tuple(self._calls)

    async def run(self, stop: asyncio.Event, hurry: asyncio.Event | None = None) -> None:
        """Serve until `stop`, then drain: let calls finish, then end them with a spoken line.

        `hurry` ends the first of these waits.
        """
        async with asyncio.TaskGroup() as group:
            self._group = group
            await stop.wait()
            self._draining = True
            log.info("draining", calls=len(self._calls), seconds=self._settings.drain_seconds)
            if not await self._emptied(self._settings.drain_seconds, hurry):
                for call in self.calls:
                    line = call.conversation.state.settings.lines.draining
                    call.end(EndAsked(line, "drained"))
                longest = max(
                    (c.conversation.state.settings.ending_seconds for c in self.calls), default=0.0
                )
                if not await self._emptied(longest + 10.0):
                    log.warning("calls_cut", calls=len(self._calls))
                    for task in self._calls.values():
                        task.cancel()
            self._group = None

    async def _emptied(self, seconds: float, hurry: asyncio.Event | None = None) -> bool:
        """Wait for the last call's end, for so long at most, or until somebody is in a hurry."""
        over = asyncio.Event()

        async def tell(event: asyncio.Event) -> None:
            await event.wait()
            over.set()

        async with asyncio.TaskGroup() as group:
            events = (self._empty,) if hurry is None else (self._empty, hurry)
            telling = [group.create_task(tell(event)) for event in events]
            try:
                async with asyncio.timeout(seconds):
                    await over.wait()
            except TimeoutError:
                pass
            for task in telling:
                task.cancel()
        return self._empty.is_set()
