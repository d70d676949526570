"""Journaled calls over a real Twilio socket, in virtual time.

Hearing, turn-taking, conversation and playout are the real ones; recogniser, model and voice are
stood in for. What a test plants is planted where the call is put together, for both runs of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gateway.backends.cascade.cascade import Cascade
from gateway.call.assembly import OpenDetector, OpenVoice, Parts, assemble
from gateway.call.hearing import Taking
from gateway.call.pacer import Pacer
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.caller.place import CallOptions, parse_target, place_call
from gateway.caller.plan import CallPlan
from gateway.caller.sound import Recording, load
from gateway.config import RecordingSettings, Settings
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.ports import Free, Leg, Refusal, no_place
from gateway.replay.diary import Diary
from gateway.scenarios.sound_parts import ToneVoice
from tests.gateway.lines.twilio.harness import serving
from tests.support.whole_call import OneAnswer, SameWords, ScaleLines, Scales
from turn.profile import profile
from turn.taking import TurnSettings, TurnTaking

SPEECH = Path("tests/data/speech")


def said(name: str) -> Recording:
    """Load a recording of somebody who speaks."""
    return load(SPEECH / name, 8000)


class NoTools:
    """There is nothing that this agent can do."""

    async def run(self, effect: object) -> object:
        """Never asked."""
        raise AssertionError


@dataclass
class Desk:
    """Answers calls and keeps their journals in a folder."""

    folder: Path
    group: asyncio.TaskGroup
    mask: str = "none"
    patience: str = "default"
    words: str = "When are you open?"
    make_taking: Callable[[int, TurnSettings], Taking] = TurnTaking
    voice: OpenVoice | None = None
    detector: OpenDetector | None = None
    pacer: Pacer = field(default_factory=Pacer)
    over: list[asyncio.Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = Settings()
        log = LogSettings(str(self.folder / "calls.jsonl"), mask=self.mask)  # type: ignore[arg-type]
        kept = RecordingSettings(enabled=True, folder=self.folder, journal=True)
        self.settings = replace(settings, log=log, recording=kept)
        self.diary = Diary(self.settings)
        self.journal = Journal(log, clock=asyncio.get_running_loop().time)

    def admit(self, agent: str) -> Refusal | None:
        """Let everybody in."""
        return None

    def take(self) -> Free:
        """Keep no place."""
        return no_place

    def knows(self, agent: str) -> bool:
        """Know every agent."""
        return True

    def missed(self, call: object) -> None:
        """Miss nobody."""

    def begin(self, leg: Leg) -> None:
        """Hold a call."""
        log = self.journal.bind(leg.info.call_id, asyncio.get_running_loop().time())
        turns = TurnSettings(profile(self.patience))
        parts = Parts(
            leg,
            ConversationSettings(lines=FixedLines(greeting="Hello there."), profile=self.patience),
            turns,
            self.make_taking(leg.info.rate, turns),
            self.voice or (lambda hear: ToneVoice(leg.info.rate, hear)),
            self.detector,
            lambda name: Cascade(SameWords(self.words), OneAnswer(), Scales()),
            ScaleLines(),
            NoTools(),  # type: ignore[arg-type]
            log,
        )
        self.over.append(asyncio.Event())
        self.group.create_task(self._run(parts, log, self.over[-1]))

    async def _run(self, parts: Parts, log: object, over: asyncio.Event) -> None:
        call = assemble(self.diary.keep(parts, log))  # type: ignore[arg-type]
        self.pacer.add(call)
        try:
            await call.run()
        finally:
            self.pacer.remove(call)
            over.set()


async def hold(plans: Sequence[CallPlan], folder: Path, **changes: object) -> list[Path]:
    """Hold a call for each plan, all at once; give their journals, in the order of the plans."""
    async with asyncio.TaskGroup() as group:
        desk = Desk(folder, group, **changes)  # type: ignore[arg-type]
        desk.pacer.start()
        async with serving(None, desk) as served:  # type: ignore[arg-type]
            target = parse_target(f"twilio:{served.url}")
            options = CallOptions(webhook=False)
            async with asyncio.TaskGroup() as callers:
                placed = [callers.create_task(place_call(plan, target, options)) for plan in plans]
            for over in desk.over:
                await over.wait()
        desk.pacer.stop()
        desk.diary.close()
        desk.journal.close()
    reports = [each.result() for each in placed]
    assert all(report.answered for report in reports), reports
    return [folder / f"{report.call_id}.journal" for report in reports]
