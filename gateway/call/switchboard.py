"""Which calls may come, which are in progress, and how all of them end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from gateway.call.call import Call
from gateway.call.missed import MissedCalls
from gateway.call.pacer import Pacer
from gateway.call.refusals import Missed
from gateway.events import EndAsked
from gateway.ports import Free, Leg, Refusal

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
    retry_after: int = RETRY_AFTER
    "seconds a refused caller is told to wait"
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
        write: Callable[[Missed], None] = lambda missed: None,
    ) -> None:
        """`write` logs what concerns no call that is in progress."""
        self._pacer = pacer
        self._make_call = make_call
        self._knows = knows
        self._settings = settings
        self._calls: dict[Call, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._taken: set[object] = set()
        "places of calls that are not up yet"
        self._draining = False
        self._empty = asyncio.Event()
        self._empty.set()
        self.begun = 0
        self._missed = MissedCalls(write)

    # --- the lines' side -----------------------------------------------------------------------

    def admit(self, agent: str) -> Refusal | None:
        """Return whether one more call may come."""
        refusal = self._refusal(agent)
        if refusal is not None:
            self._tell(agent, refusal)
        return refusal

    def _tell(self, agent: str, refusal: Refusal) -> None:
        """Say why a call was refused, with the figures it was judged by."""
        fields: dict[str, object] = {"agent": agent, "kind": refusal.kind}
        match refusal.cause:
            case "calls":
                fields |= {"cause": "calls", "limit": self._settings.calls}
            case "late":
                late, limit = round(self._late(), 3), self._settings.late_share
                fields |= {"cause": "late", "late_share": late, "limit": limit}
            case _:
                pass
        log.info("call_refused", calls=len(self._calls), **fields)

    def missed(self, call: Missed) -> None:
        """Write down a call that never came to be; of a flood, some and a sum."""
        self._missed.take(call)

    @property
    def refused(self) -> Mapping[str, int]:
        """Count the calls that never came to be, by cause."""
        return self._missed.counted

    @property
    def limit(self) -> int:
        """How many calls may be in progress at once; 0: no limit but what is felt."""
        return self._settings.calls

    def would_refuse(self) -> Refusal | None:
        """Return why a call for any agent would be refused now."""
        return self._refusal(None)

    def take(self) -> Free:
        """Keep a place for a call that is not up yet: many that are answered at once would
        otherwise all come in."""
        place = object()
        self._taken.add(place)
        return lambda: self._taken.discard(place)

    def knows(self, agent: str) -> bool:
        """Return whether there is such an agent."""
        return self._knows(agent)

    def begin(self, leg: Leg) -> None:
        """Run a call on an answered leg until it ends."""
        if self._group is None:
            leg.hang_up("not serving")
            return
        try:
            call = self._make_call(leg)
        except BaseException:  # fence: a call that cannot be made must not touch the line
            log.exception("call_broke", call_id=leg.info.call_id)
            leg.hang_up("internal error")
            return
        self.begun += 1
        self._empty.clear()
        self._pacer.add(call)
        task = self._group.create_task(call.run())
        self._calls[call] = task
        task.add_done_callback(lambda _: self._ended(call))

    def _refusal(self, agent: str | None) -> Refusal | None:
        wait = self._settings.retry_after
        if self._draining or self._group is None:
            return Refusal("draining", wait, "The gateway is being restarted.")
        if agent is not None and not self._knows(agent):
            return Refusal("unknown_agent", text=f"There is no agent named {agent!r}.")
        limit = self._settings.calls
        if limit and self.load >= limit:
            return Refusal("busy", wait, "All lines are busy.", "calls")
        if self._calls and self._late() > self._settings.late_share:
            return Refusal("busy", wait, "All lines are busy.", "late")
        return None

    def _late(self) -> float:
        """Return the share of late ticks, once there are enough of them to say."""
        recent = self._pacer.recent
        if len(recent) < (recent.maxlen or 1):
            return 0.0
        return sum(1 for one in recent if one > 0.005) / len(recent)

    def _ended(self, call: Call) -> None:
        self._calls.pop(call, None)
        self._pacer.remove(call)
        if not self._calls:
            self._empty.set()
            gc.collect()  # nobody waits: what the parts of a call hold of each other goes now

    # --- the process's side ----------------------------------------------------------------------

    @property
    def draining(self) -> bool:
        """Whether no more calls come."""
        return self._draining

    def change(self, settings: AdmissionSettings) -> None:
        """Go by other settings from now on; calls in progress stay."""
        self._settings = settings

    @property
    def load(self) -> int:
        """How many calls are in progress or have a place."""
        return len(self._calls) + len(self._taken)

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
