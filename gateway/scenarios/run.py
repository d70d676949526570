"""Holds the calls of scenarios in text, and judges them."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from gateway.agents.loading import Agent
from gateway.backends.cascade.ports import LanguageModel
from gateway.scenarios.judge import (
    Answer,
    Failure,
    end_failures,
    never_right,
    state_failures,
    turn_failures,
)
from gateway.scenarios.persona import Judge, Persona, Said
from gateway.scenarios.scenario import Scenario, ScenarioFile
from gateway.scenarios.text_call import TUESDAY, TextCall, Used


@dataclass(frozen=True, slots=True)
class Result:
    """How a scenario went."""

    file: str
    name: str
    line: int
    failures: tuple[Failure, ...]
    transcript: tuple[Said, ...]
    "of the run that failed first, or of the last"
    seconds: float
    runs: int

    @property
    def passed(self) -> bool:
        """Whether every run was as expected."""
        return not self.failures


@runtime_checkable
class Connected(Protocol):
    """A model with connections of its own, which belong to one loop."""

    async def close(self) -> None:
        """Close them."""


@dataclass(frozen=True, slots=True)
class Models:
    """Makes for each call who thinks for the agent, for a caller that is played, for the judge."""

    agent: Callable[[], LanguageModel]
    caller: Callable[[], LanguageModel] | None = None
    judge: Callable[[], LanguageModel] | None = None


@asynccontextmanager
async def opened(make: Callable[[], LanguageModel]) -> AsyncIterator[LanguageModel]:
    """Make a model, and close what it has open in the end."""
    model = make()
    try:
        yield model
    finally:
        if isinstance(model, Connected):
            await model.close()


def run_file(
    file: ScenarioFile,
    agent: Agent,
    models: Models,
    wanted: Callable[[Scenario], bool] = lambda scenario: True,
) -> list[Result]:
    """Hold the calls of a file, each with a store of its own."""
    return [
        asyncio.run(run_scenario(file, scenario, agent, models))
        for scenario in file.scenarios
        if wanted(scenario)
    ]


async def run_scenario(
    file: ScenarioFile, scenario: Scenario, agent: Agent, models: Models
) -> Result:
    """Hold the calls of one scenario until one is not as expected."""
    begun = time.monotonic()
    failures: list[Failure] = []
    transcript: list[Said] = []
    runs = 0
    while runs < scenario.runs and not failures:
        runs += 1
        with tempfile.TemporaryDirectory(prefix="parley-test-") as folder:
            async with opened(models.agent) as model:
                call = TextCall(
                    agent,
                    Path(folder),
                    caller=scenario.caller,
                    variables=scenario.variables,
                    began=began_of(scenario, agent),
                    model=model,
                )
                if models.caller is not None and models.judge is not None and scenario.persona:
                    async with opened(models.caller) as caller, opened(models.judge) as judge:
                        persona, judging = Persona(scenario, caller), Judge(file, judge)
                        failures, transcript = await _played(scenario, call, persona, judging)
                else:
                    failures, transcript = await _hold(scenario, call)
    return Result(
        str(file.path),
        scenario.name,
        scenario.line,
        tuple(failures),
        tuple(transcript),
        time.monotonic() - begun,
        runs,
    )


async def _played(
    scenario: Scenario, call: TextCall, persona: Persona, judge: Judge
) -> tuple[list[Failure], list[Said]]:
    """Hold a call with a persona and let it be judged."""
    answer = call.agent.file.lines.greeting
    transcript = [Said("agent", answer)] if answer else []
    over = False
    try:
        while not over and not call.ended:
            if sum(each.who == "caller" for each in transcript) >= scenario.max_turns:
                break
            text, over = await persona.says(answer)
            if not text:
                break
            transcript.append(Said("caller", text))
            mark = len(call.used)
            answer = await call.answer(text)
            transcript += [tool_line(each) for each in call.used[mark:]]
            transcript.append(Said("agent", answer))
        if not any(each.who == "caller" for each in transcript):
            return [Failure("invalid", "the caller said nothing")], transcript
        failures = await judge.failures(scenario, transcript, len(call.used))
    except Exception as error:  # fence: a model or a tool may do anything
        return [Failure("error", f"{type(error).__name__}: {error}")], transcript
    if any(each.kind == "invalid" for each in failures):
        return failures, transcript
    failures += end_failures(scenario.ended, call.ended)
    failures += never_right([], call.used, call.agent.specs)
    failures += state_failures(call.store, scenario.store)
    return failures, transcript


async def _hold(scenario: Scenario, call: TextCall) -> tuple[list[Failure], list[Said]]:
    agent = call.agent
    failures: list[Failure] = []
    greeting = agent.file.lines.greeting
    transcript = [Said("agent", greeting)] if greeting else []
    answers: list[Answer] = []
    for turn in scenario.turns:
        if call.ended:
            failures.append(Failure("bot_ended", "the agent had hung up", turn.line))
            break
        call.broken.update(turn.broken)
        mark = len(call.used)
        transcript.append(Said("caller", turn.words))
        try:
            answer = await call.answer(turn.words, turn.heard)
        except Exception as error:  # fence: a model or a tool may do anything
            said = f"{type(error).__name__}: {error}"
            return [*failures, Failure("error", said, turn.line)], transcript
        used = call.used[mark:]
        transcript += [tool_line(each) for each in used]
        transcript.append(Said("agent", answer))
        answers.append(Answer(answer, len(used), turn.heard is None and not turn.again))
        failures += turn_failures(turn, answer, used)
    failures += end_failures(scenario.ended, call.ended)
    failures += never_right(answers, call.used, agent.specs)
    failures += state_failures(call.store, scenario.store)
    return failures, transcript


def tool_line(used: Used) -> Said:
    """Return how a tool that was used is told."""
    return Said("tool", f"{used.name} {dict(used.arguments)}: {used.outcome}")


def began_of(scenario: Scenario, agent: Agent) -> datetime:
    """Return when a call of the scenario begins."""
    zone = ZoneInfo(agent.file.hours.timezone)
    if scenario.began is None:
        return TUESDAY.replace(tzinfo=zone)
    began = scenario.began
    return began if began.tzinfo is not None else began.replace(tzinfo=zone)
