"""How this process stands, as `/healthz`, `/readyz`, the page and other processes are told."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass

import msgspec

from gateway.call.pacer import Pacer
from gateway.call.switchboard import Switchboard
from gateway.observe.journal import Journal
from gateway.process.fleet.messages import Standing
from gateway.process.fleet.port import Fleet
from gateway.process.judging import Judge
from gateway.process.lines import Lines
from gateway.process.threads import processor_seconds
from gateway.process.watchdog import Watchdog

SECONDS = 0.25
"""How often others are told."""

ALONE_SECONDS = 1.0
"""How often it is judged how this process stands, where no others are told."""

LOOK_SECONDS = 0.05
"""How soon others are told of a call that has come or gone: the next ones are given out by that."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Whom this process asks about itself, and whom it tells."""

    switchboard: Switchboard
    pacer: Pacer
    judge: Judge
    journal: Journal
    watchdog: Watchdog
    lines: Lines
    fleet: Fleet

    def stand(self) -> None:
        """Tell how this process stands now, by what was last judged."""
        switchboard = self.switchboard
        refusal = switchboard.would_refuse()
        standing = Standing(
            os.getpid(),
            True,
            switchboard.draining,
            switchboard.load,
            None if refusal is None else (refusal.kind, refusal.cause, refusal.retry_after),
            dict(Counter(call.leg.info.line for call in switchboard.calls)),
            {name: (one.state, one.said) for name, one in self.lines.standings().items()},
            {name: (one.well, one.said) for name, one in self.judge.latest.items()},
            msgspec.json.encode(self._figures()),
        )
        self.fleet.stand(standing)

    async def judged(self) -> None:
        """Judge what the process stands on, and tell how it stands."""
        await self.judge.judge()
        self.stand()

    async def run(self, up: asyncio.Event) -> None:
        """Tell the other processes again and again once calls can come, until cancelled."""
        await up.wait()
        loop = asyncio.get_running_loop()
        every = ALONE_SECONDS if self.fleet.seat.of == 1 else SECONDS
        load, told = -1, 0.0
        while True:
            if loop.time() - told >= every:
                await self.judged()
                told = loop.time()
            elif load != self.switchboard.load:
                self.stand()
            load = self.switchboard.load
            await asyncio.sleep(LOOK_SECONDS)

    def _figures(self) -> dict[str, object]:
        late = self.pacer.lateness
        switchboard = self.switchboard
        return {
            "calls": len(switchboard.calls),
            "begun": switchboard.begun,
            "refused": sum(switchboard.refused.values()),
            "refused_by_cause": dict(switchboard.refused),
            "ended": dict(self.journal.tally.ended),
            "faults": dict(self.journal.tally.faults),
            "ticks": late.ticks,
            "late_ticks": late.over_5_ms,
            "latest_tick": round(late.worst, 4),
            "loop": self.watchdog.figures(),
            "tasks": len(asyncio.all_tasks()),
            "threads": processor_seconds(),
        }
