"""Holds one call of a scenario with sound, in virtual time: the gateway's whole call, a caller.

Everything is the gateway's own but the models (`sound_parts`); no time passes while a tool runs in
its thread, so that a call is the same each time.
"""

from __future__ import annotations

import asyncio
import random
from datetime import datetime
from pathlib import Path

from gateway.agents.loading import Agent
from gateway.backends.cascade.cascade import Cascade
from gateway.backends.cascade.ports import LanguageModel
from gateway.call.assembly import Parts, assemble
from gateway.call.pacer import Pacer
from gateway.events import CallerGone, CallerKey, CallInfo, Json, RunTool, ToolAnswered
from gateway.plumbing.virtual_time import run
from gateway.scenarios.bursts import Bursts
from gateway.scenarios.held import Held, Spoken
from gateway.scenarios.moves import Move
from gateway.scenarios.scenario import Scenario, Turn
from gateway.scenarios.sound_leg import FRAME_SECONDS, SoundLeg, Stretch
from gateway.scenarios.sound_parts import (
    FRAME,
    RATE,
    WORD_SECONDS,
    NotedTurns,
    NotedWords,
    ToneLines,
    ToneSpeech,
    ToneVoice,
)
from gateway.scenarios.text_call import Used
from gateway.tools.store import Store
from gateway.tools.toolbox import CallTools, Toolbox
from media.frame import AudioFrame
from turn.profile import profile
from turn.taking import TurnSettings, TurnTaking

GAP_SECONDS = 0.8
"""Silence of the agent after which a caller answers."""

KEY_SECONDS = 0.25
"""Between two keys: a quick thumb."""

SOUNDS = {
    "backchannel": "mhm",
    "cough": "",
    "aside": "it is in the kitchen on the table",
    "talker": "and then they went all the way back again",
}
"""What is laid over an answer, and its words where the scenario has none."""

REPLY_SECONDS = 15.0
"""How long an answer is waited for; then the caller goes on as if there had been one."""

LINGER_SECONDS = 2.0
"""Silence at the end, in which the agent may hang up."""


class _Tools:
    """The agent's tools, of which it is noted what they did, and whether one is at work."""

    def __init__(self, tools: CallTools, held: Held) -> None:
        self._tools = tools
        self._held = held
        self.at_work = 0
        self.broken: dict[str, Json] = {}

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Run one."""
        broken = self.broken.get(effect.name)
        self.at_work += 1
        try:
            answered = (
                await self._tools.run(effect)
                if broken is None
                else ToolAnswered(effect.ask, broken, "failed")
            )
        finally:
            self.at_work -= 1
        used = Used(effect.name, effect.arguments, answered.outcome, answered.result)
        self._held.used.append((asyncio.get_running_loop().time(), used))
        return answered


def hold(
    scenario: Scenario,
    agent: Agent,
    model: LanguageModel,
    folder: Path,
    began: datetime,
    moves: tuple[Move, ...] = (),
) -> Held:
    """Hold a call; `moves` are timings other than the scenario's."""
    variables = dict(scenario.variables)
    info = CallInfo("call-1", "test", agent.name, scenario.caller, rate=RATE, variables=variables)
    held = Held()
    store = Store(folder / "tools.sqlite")
    opened = Toolbox(agent.tools, store).open(agent.context(info, began))
    tools = _Tools(opened, held)
    caller = _Caller(scenario, agent, model, info, tools, held, moves)
    run(caller.hold(), [lambda: tools.at_work > 0])
    return held


class _Caller:
    """Holds one call: speaks the scenario's turns and listens for the answers."""

    def __init__(
        self,
        scenario: Scenario,
        agent: Agent,
        model: LanguageModel,
        info: CallInfo,
        tools: _Tools,
        held: Held,
        moves: tuple[Move, ...],
    ) -> None:
        self._scenario = scenario
        self._moves = moves
        self._tools = tools
        self._held = held
        self._leg = SoundLeg(info)
        self._lost = Bursts(scenario.loss, random.Random(scenario.seed))
        self._position = 0
        held.stretches, held.sent = self._leg.stretches, self._leg.sent
        note = agent.note(info)
        turns = TurnSettings(profile(agent.file.turns.profile), agent.file.language)
        parts = Parts(
            self._leg,
            agent.conversation(),
            turns,
            TurnTaking(RATE, turns),
            lambda hear: ToneVoice(RATE, hear),
            lambda recent: NotedTurns(held.notes),
            lambda name: Cascade(NotedWords(held.notes), model, ToneSpeech()),
            ToneLines(),
            tools,
            held,
            () if note is None else (note,),
            agent.file.hints,
        )
        self._call = assemble(parts)

    async def hold(self) -> None:
        """Hold the call to its end."""
        self._held.began = self._now()
        pacer = Pacer()
        pacer.add(self._call)
        pacer.start()
        try:
            async with asyncio.TaskGroup() as group:
                living = group.create_task(self._call.run())
                mouth = group.create_task(self._mouth())
                told = group.create_task(self._tell())
                await asyncio.wait({living, told}, return_when=asyncio.FIRST_COMPLETED)
                told.cancel()
                if living.done():
                    self._held.ended = self._now()
                else:
                    self._call.notice(CallerGone("done"))
                    await living
                mouth.cancel()
        finally:
            pacer.stop()
        self._held.waiting = self._leg.waiting or 0

    async def _mouth(self) -> None:
        number = 0
        while True:
            number += 1
            await asyncio.sleep(max(0.0, self._held.began + number * FRAME_SECONDS - self._now()))
            sound = self._held.notes.sound(self._position)
            if not self._lost.next():
                self._call.hear(AudioFrame(sound, RATE, self._position))
            self._position += FRAME

    async def _tell(self) -> None:
        """Say what the scenario says, each when it is the caller's turn."""
        since = self._now()
        for at, turn in enumerate(self._scenario.turns):
            cut = self._cut(at, turn)
            answer = await self._answer(since)
            if cut is not None and answer is not None:
                await self._until(answer.start + cut)
            else:
                await self._lay_over(at - 1, answer)
                late = self._moved("late", at) + turn.late_ms / 1000
                await self._quiet(GAP_SECONDS + late)
            self._tools.broken.update({name: dict(said) for name, said in turn.broken.items()})
            over = cut is not None and answer is not None and self._sounds()
            if turn.heard is not None and not over and not self._moves:
                self._held.undone.append((turn.line, "there was no speech to cut into"))
            since = await self._do("cut_in" if over else "turn", turn)
        answer = await self._answer(since)
        await self._lay_over(len(self._scenario.turns) - 1, answer)
        leaves = self._scenario.turns[-1].hangs_up_ms
        if leaves is None:
            await self._quiet(LINGER_SECONDS)
        elif answer is not None:
            await self._until(answer.start + leaves / 1000)

    async def _do(self, kind: str, turn: Turn) -> float:
        """Say or press what a turn holds; give when that is done."""
        if not turn.dtmf:
            return await self._say(kind, turn.user)
        start = self._now()
        for key in turn.dtmf:
            self._call.notice(CallerKey(key))
            await asyncio.sleep(KEY_SECONDS)
        self._held.spoken.append(Spoken(kind, start, self._now() - KEY_SECONDS))
        return self._now() - KEY_SECONDS

    def _cut(self, at: int, turn: Turn) -> float | None:
        """Return how long after the answer's beginning the caller cuts in; None: not at all."""
        if moved := self._moved("cut", at):
            return moved
        return None if turn.heard is None else turn.heard * WORD_SECONDS

    def _moved(self, kind: str, at: int) -> float:
        return sum(each.ms / 1000 for each in self._moves if (each.kind, each.turn) == (kind, at))

    async def _lay_over(self, at: int, answer: Stretch | None) -> None:
        """Make the sounds that belong over the answer to a turn; -1: over the greeting."""
        if answer is None:
            return
        laid: list[tuple[int, str, str]] = [
            (each.ms, each.kind, "") for each in self._moves if each.turn == at
        ]
        if at >= 0:
            sounds = self._scenario.turns[at].sounds
            laid += [(each.at_ms, each.kind, each.text) for each in sounds]
        for ms, kind, text in sorted(laid):
            if kind not in SOUNDS:
                continue
            await self._until(answer.start + ms / 1000)
            if self._sounds():
                await self._say(kind, text or SOUNDS[kind])
            elif not self._moves:
                line = self._scenario.turns[at].line
                self._held.undone.append((line, f"the agent was silent before the {kind}"))

    async def _say(self, kind: str, text: str) -> float:
        start = self._position / RATE + self._held.began
        far = kind in ("aside", "talker")
        end = self._held.notes.add(text, self._position, far=far) / RATE + self._held.began
        self._held.spoken.append(Spoken(kind, start, end))
        await self._until(end)
        return end

    async def _answer(self, since: float) -> Stretch | None:
        """Wait for the agent to be heard after a moment; None: it was not."""
        until = since + REPLY_SECONDS
        while self._now() < until:
            for each in self._leg.stretches:
                if each.start >= since:
                    return each
            await asyncio.sleep(FRAME_SECONDS)
        return None

    async def _quiet(self, seconds: float) -> None:
        """Wait until the agent has not been heard for a time."""
        while self._now() < self._leg.quiet_since + seconds:  # noqa: ASYNC110 - as an ear does
            await asyncio.sleep(FRAME_SECONDS)

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - self._now()))

    def _sounds(self) -> bool:
        return self._now() <= self._leg.quiet_since + FRAME_SECONDS

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
