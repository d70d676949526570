"""Holds many calls over a real Twilio socket, with the real models and recorded speech, in
virtual time: an hour of calls takes some minutes of a core.

Work of the models takes no virtual time; `slow` gives each answer of the recogniser and of the
turn detector a delay of its own, drawn anew for each question from a seed.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gateway.agents.library import AgentLibrary, shipped
from gateway.call.assembly import Parts
from gateway.call.pacer import Pacer
from gateway.call.senses import TurnStream
from gateway.call.switchboard import AdmissionSettings, Switchboard
from gateway.caller.place import CallOptions, parse_target, place_call
from gateway.caller.plan import CallPlan
from gateway.caller.report import CallReport
from gateway.config import RecordingSettings, Settings
from gateway.doors.judgement import Doors, Keys
from gateway.doors.owner import VARIABLE
from gateway.lines.twilio.line import TwilioLine
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.websocket.upgrade import Upgrades
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.plumbing import virtual_time
from gateway.ports import Backend
from gateway.process.agents import AgentRoster
from gateway.process.call_factory import CallFactory
from gateway.process.ready_agent import ReadyAgent
from gateway.replay.diary import Diary
from gateway.replay.whatif.changes import Change, changed
from inference.runtime import Runtime
from media.frame import AudioFrame, Samples
from media.recording import Recorder
from turn.events import TurnAssessed
from turn.semantic import TurnAssessor
from turn.taking import TurnTaking
from turn.vad import VoiceActivity

TOKEN = "the owner of the machine that measures"

AGENT = "workshop"

AT_ONCE = 10
"""Calls at a time: they share the models' batches, as calls do."""


@dataclass(frozen=True, slots=True)
class Delays:
    """How long answers take, in seconds: the median, and by how much in either direction."""

    detector: tuple[float, float] = (0.08, 0.04)
    recogniser: tuple[float, float] = (0.15, 0.06)
    seed: int = 0


def settings_in(folder: Path, **turn: Any) -> Settings:
    """Return the settings of a gateway that journals into a folder."""
    chosen = Settings()
    return replace(
        chosen,
        agents=replace(chosen.agents, data=folder / "data"),
        turn=replace(chosen.turn, **turn),
        recording=RecordingSettings(enabled=True, folder=folder, journal=True),
        log=LogSettings(str(folder / "calls.jsonl")),
    )


def hold(
    plans: Sequence[CallPlan],
    settings: Settings,
    delays: Delays,
    changes: Sequence[Change] = (),
) -> list[CallReport]:
    """Hold a call for each plan; give what the callers measured, in the order of the plans.

    `changes` are settings of turn-taking and of the call that differ from the agent's.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = TOKEN
    runtime = Runtime(settings.runtime)
    try:
        return virtual_time.run(
            _hold(plans, settings, delays, changes, runtime), [lambda: runtime.workers.busy]
        )
    finally:
        runtime.close()
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


async def _hold(
    plans: Sequence[CallPlan],
    settings: Settings,
    delays: Delays,
    changes: Sequence[Change],
    runtime: Runtime,
) -> list[CallReport]:
    voices = VoiceActivity(runtime)
    voices.attend()
    ready = AgentRoster(settings, runtime).make(AgentLibrary(shipped()).get(AGENT))
    diary, recorder, pacer = Diary(settings), Recorder(), Pacer()
    reports: dict[int, CallReport] = {}
    with Journal(settings.log, clock=asyncio.get_running_loop().time) as journal:
        factory = CallFactory(
            _Staff(ready),
            voices,
            TurnAssessor(runtime),
            journal,
            settings.recording,
            recorder,
            Doors(Keys(TOKEN)).allowance,
            _SlowDiary(diary, delays, changes),  # type: ignore[arg-type]
        )
        board = Switchboard(pacer, factory.make, lambda agent: True, AdmissionSettings(0, 1.1))
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(board.run(stop))
            pacer.start()
            async with _served(TwilioLine(TwilioSettings(), board, "", Doors(Keys(TOKEN)))) as url:
                places = asyncio.Semaphore(AT_ONCE)
                async with asyncio.TaskGroup() as callers:
                    for number, plan in enumerate(plans):
                        callers.create_task(_one(number, plan, url, places, reports))
                await asyncio.sleep(60)
            stop.set()
            await serving
            pacer.stop()
    diary.close()
    recorder.close()
    return [reports[number] for number in range(len(plans))]


@dataclass(frozen=True, slots=True)
class _Staff:
    """The one agent that answers all calls."""

    ready: ReadyAgent

    def knows(self, agent: str) -> bool:
        """Know everybody as this one."""
        return True

    def engage(self, agent: str) -> ReadyAgent:
        """Return it."""
        return self.ready


async def _one(
    number: int,
    plan: CallPlan,
    url: str,
    places: asyncio.Semaphore,
    reports: dict[int, CallReport],
) -> None:
    async with places:
        await asyncio.sleep(0.0137 * number % 0.5)
        reports[number] = await place_call(
            plan, parse_target(f"twilio:{url}"), CallOptions(webhook=False)
        )


@asynccontextmanager
async def _served(line: TwilioLine) -> AsyncIterator[str]:
    config = uvicorn.Config(
        Starlette(routes=line.routes()),
        ws=Upgrades(line.sockets()),  # type: ignore[arg-type]
        lifespan="off",
        log_config=None,
        proxy_headers=False,
    )
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: HttpToolsProtocol(config, state, {}), "127.0.0.1", 0
    )
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/twilio/stream"
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        await server.wait_closed()


# --- models that take their time ---------------------------------------------------------------


class _SlowDiary:
    """A diary of calls whose models take their time."""

    def __init__(self, diary: Diary, delays: Delays, changes: Sequence[Change]) -> None:
        self._diary = diary
        self._changes = changes
        self._delays = delays
        self._random = random.Random(delays.seed)

    def keep(self, parts: Parts, call_log: Any) -> Parts:
        """Change the settings, slow the parts down, then watch them."""
        chance = random.Random(self._random.random())
        detector, backend = parts.detector, parts.backend
        turns, conversation = changed(parts.turns, parts.conversation, self._changes)
        slow = replace(
            parts,
            turns=turns,
            conversation=conversation,
            taking=TurnTaking(parts.leg.info.rate, turns),
            detector=None
            if detector is None or turns.profile.means == "silence"
            else lambda recent: _SlowDetector(detector(recent), self._delays.detector, chance),
            backend=lambda name: _SlowWords(backend(name), self._delays.recogniser, chance),
        )
        return self._diary.keep(slow, call_log)


def _drawn(delay: tuple[float, float], chance: random.Random) -> float:
    return max(0.001, chance.uniform(delay[0] - delay[1], delay[0] + delay[1]))


class _SlowDetector:
    def __init__(
        self, stream: TurnStream, delay: tuple[float, float], chance: random.Random
    ) -> None:
        self._stream, self._delay, self._chance = stream, delay, chance

    def feed(self, samples: Samples) -> None:
        self._stream.feed(samples)

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        answer = await self._stream.assess(start, at, due_seconds)
        await asyncio.sleep(_drawn(self._delay, self._chance))
        return answer

    def close(self) -> None:
        self._stream.close()


class _SlowWords:
    """A backend whose recogniser takes its time."""

    def __init__(self, backend: Backend, delay: tuple[float, float], chance: random.Random) -> None:
        self.traits = backend.traits
        self._backend, self._delay, self._chance = backend, delay, chance
        self.run, self.perform, self.done = backend.run, backend.perform, backend.done

    def hear(self, frame: AudioFrame) -> None:
        self._backend.hear(frame)

    async def words(self, start: int, end: int) -> str | None:
        text = await self._backend.words(start, end)
        await asyncio.sleep(_drawn(self._delay, self._chance))
        return text
