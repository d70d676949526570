"""Holds the calls of scenarios in text, and judges them."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
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
from gateway.scenarios.scenario import Scenario, ScenarioFile
from gateway.scenarios.text_call import TUESDAY, TextCall, Used


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said or done, for whoever reads what went wrong."""

    who: str
    "`caller`, `agent` or `tool`"
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """How a scenario went."""

    file: str
    name: str
    line: int
    failures: tuple[Failure, ...]
    transcript: tuple[Line, ...]
    "of the run that failed first, or of the last"
    seconds: float
    runs: int

    @property
    def passed(self) -> bool:
        """Whether every run was as expected."""
        return not self.failures


def run_file(
    file: ScenarioFile,
    agent: Agent,
    model: Callable[[], LanguageModel],
    wanted: Callable[[Scenario], bool] = lambda scenario: True,
) -> list[Result]:
    """Hold the calls of a file, each with a store of its own; `model` is made for each call."""
    return [
        asyncio.run(run_scenario(file, scenario, agent, model))
        for scenario in file.scenarios
        if wanted(scenario)
    ]


async def run_scenario(
    file: ScenarioFile, scenario: Scenario, agent: Agent, model: Callable[[], LanguageModel]
) -> Result:
    """Hold the calls of one scenario until one is not as expected."""
    begun = time.monotonic()
    failures: list[Failure] = []
    transcript: list[Line] = []
    runs = 0
    while runs < scenario.runs and not failures:
        runs += 1
        with tempfile.TemporaryDirectory(prefix="parley-test-") as folder:
            failures, transcript = await _hold(scenario, agent, model(), Path(folder))
    return Result(
        str(file.path),
        scenario.name,
        scenario.line,
        tuple(failures),
        tuple(transcript),
        time.monotonic() - begun,
        runs,
    )


async def _hold(
    scenario: Scenario, agent: Agent, model: LanguageModel, folder: Path
) -> tuple[list[Failure], list[Line]]:
    call = TextCall(
        agent,
        folder,
        caller=scenario.caller,
        variables=scenario.variables,
        began=began_of(scenario, agent),
        model=model,
    )
    failures: list[Failure] = []
    greeting = agent.file.lines.greeting
    transcript = [Line("agent", greeting)] if greeting else []
    answers: list[Answer] = []
    for turn in scenario.turns:
        if call.ended:
            failures.append(Failure("bot_ended", "the agent had hung up", turn.line))
            break
        call.broken.update(turn.broken)
        mark = len(call.used)
        transcript.append(Line("caller", turn.words))
        try:
            answer = await call.answer(turn.words, turn.heard)
        except Exception as error:  # fence: a model or a tool may do anything
            said = f"{type(error).__name__}: {error}"
            return [*failures, Failure("error", said, turn.line)], transcript
        used = call.used[mark:]
        transcript += [tool_line(each) for each in used]
        transcript.append(Line("agent", answer))
        answers.append(Answer(answer, len(used), turn.heard is None and not turn.again))
        failures += turn_failures(turn, answer, used)
    failures += end_failures(scenario.ended, call.ended)
    failures += never_right(answers, call.used, agent.specs)
    failures += state_failures(call.store, scenario.store)
    return failures, transcript


def tool_line(used: Used) -> Line:
    """Return how a tool that was used is told."""
    return Line("tool", f"{used.name} {dict(used.arguments)}: {used.outcome}")


def began_of(scenario: Scenario, agent: Agent) -> datetime:
    """Return when a call of the scenario begins."""
    zone = ZoneInfo(agent.file.hours.timezone)
    if scenario.began is None:
        return TUESDAY.replace(tzinfo=zone)
    began = scenario.began
    return began if began.tzinfo is not None else began.replace(tzinfo=zone)
