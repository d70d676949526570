"""Holds scenarios with sound and judges them; looks around them for timings that fail."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.agents.loading import Agent
from gateway.backends.cascade.ports import LanguageModel
from gateway.scenarios.held import Held, call_tools, pieces
from gateway.scenarios.judge import (
    Answer,
    Failure,
    end_failures,
    never_right,
    state_failures,
    turn_failures,
)
from gateway.scenarios.manners import Manners, manner_failures, manners
from gateway.scenarios.moves import Move, drawn, smaller
from gateway.scenarios.persona import Said
from gateway.scenarios.run import Result, began_of, tool_line
from gateway.scenarios.scenario import Scenario, ScenarioFile
from gateway.scenarios.sound_call import hold
from gateway.scenarios.sound_files import keep
from gateway.scenarios.text_call import Used
from gateway.tools.store import Store

Model = Callable[[], LanguageModel]

TIMELESS = ("unanswered", "not_stopped", "stopped_for_sound", "cut_off", "done_twice", "error")
"""Kinds that are wrong whatever the timing is; what is said may depend on it."""


@dataclass(frozen=True, slots=True)
class Found:
    """The smallest timing that was found to fail."""

    scenario: str
    moves: str
    "as `--moves` takes them"
    kind: str
    said: str


@dataclass(slots=True)
class SoundRun:
    """Holds scenarios of one file with one agent."""

    file: ScenarioFile
    agent: Agent
    model: Model
    keep: Path | None = None
    "where the recordings of what failed are written"

    def result(self, scenario: Scenario, moves: tuple[Move, ...]) -> tuple[Result, Manners]:
        """Hold a scenario until a run is not as expected."""
        begun = time.monotonic()
        failures: list[Failure] = []
        runs, total = 0, Manners()
        lines: tuple[Said, ...] = ()
        while runs < scenario.runs and not failures:
            runs += 1
            held, failures, lines = self._judged(scenario, moves)
            total += manners(held)
            if failures and self.keep is not None:
                keep(self.keep, scenario.name, held)
        seconds = time.monotonic() - begun
        file, name = str(self.file.path), scenario.name
        return Result(file, name, scenario.line, tuple(failures), lines, seconds, runs), total

    def search(self, scenario: Scenario, tries: int, seed: int) -> Found | None:
        """Try timings around a scenario, and make the first failing one as small as it gets."""
        chance = random.Random(f"{seed} {scenario.name}")
        for _ in range(tries):
            moves = drawn(scenario, chance)
            wrong = self._wrong(scenario, moves)
            if wrong is not None:
                return self._shrunk(scenario, moves, wrong)
        return None

    def _shrunk(self, scenario: Scenario, moves: tuple[Move, ...], wrong: Failure) -> Found:
        going_on = True
        while going_on:
            going_on = False
            for fewer in smaller(moves):
                found = self._wrong(scenario, fewer)
                if found is not None and found.kind == wrong.kind:
                    moves, wrong, going_on = fewer, found, True
                    break
        written = ",".join(str(each) for each in moves)
        return Found(scenario.name, written, wrong.kind, wrong.said)

    def _wrong(self, scenario: Scenario, moves: tuple[Move, ...]) -> Failure | None:
        _, failures, _ = self._judged(scenario, moves)
        return next((each for each in failures if each.kind in TIMELESS), None)

    def _judged(
        self, scenario: Scenario, moves: tuple[Move, ...]
    ) -> tuple[Held, list[Failure], tuple[Said, ...]]:
        with tempfile.TemporaryDirectory(prefix="parley-test-") as folder:
            began = began_of(scenario, self.agent)
            held = hold(scenario, self.agent, self.model(), Path(folder), began, moves)
            store = Store(Path(folder) / "tools.sqlite")
            wrong = list(state_failures(store, scenario.store))
        judged = _Judgement(scenario, self.agent, held)
        failures = judged.failures() + wrong
        if moves:  # another timing is another conversation: its words are not the scenario's
            failures = [each for each in failures if each.kind in TIMELESS]
        return held, failures, judged.transcript()


class _Judgement:
    """Sorts what was heard and done by the turns that it followed."""

    def __init__(self, scenario: Scenario, agent: Agent, held: Held) -> None:
        self._scenario = scenario
        self._agent = agent
        self._held = held
        self._spoken = [each for each in held.spoken if each.kind in ("turn", "cut_in")]
        self._pieces = pieces(held)
        used = [*held.used, *call_tools(held, agent.tools)]
        self._used = sorted(used, key=lambda each: each[0])

    def failures(self) -> list[Failure]:
        """Compare with what was expected."""
        failures: list[Failure] = []
        answers: list[Answer] = []
        held = self._held
        for at, turn in enumerate(self._scenario.turns[: len(self._spoken)]):
            said, used = self._answer(at), self._tools(at)
            cut = self._spoken[at + 1 : at + 2]
            if cut and cut[0].kind == "cut_in":  # its end was never said
                expects = [each for each in turn.expect if each.event != "response"]
                failures += turn_failures(replace(turn, expect=tuple(expects)), said, used)
            else:
                failures += turn_failures(turn, said, used)
            answers.append(Answer(said, len(used), turn.heard is None and not turn.again))
        if len(self._spoken) < len(self._scenario.turns):
            line = self._scenario.turns[len(self._spoken)].line
            failures.append(Failure("bot_ended", "the agent had hung up", line))
        failures += end_failures(self._scenario.ended, held.ended is not None)
        failures += never_right(answers, [each for _, each in self._used], self._agent.specs)
        return failures + list(manner_failures(held, self._scenario.turns))

    def transcript(self) -> tuple[Said, ...]:
        """Return the call as it was heard."""
        lines = [Said("agent", self._between(0.0, self._start(0)))]
        for at, turn in enumerate(self._scenario.turns[: len(self._spoken)]):
            lines.append(Said("caller", turn.words))
            lines += [tool_line(each) for each in self._tools(at)]
            lines.append(Said("agent", self._answer(at)))
        return tuple(lines)

    def _start(self, at: int) -> float:
        return self._spoken[at].start if at < len(self._spoken) else float("inf")

    def _answer(self, at: int) -> str:
        return self._between(self._start(at), self._start(at + 1))

    def _between(self, start: float, end: float) -> str:
        return " ".join(text for when, text in self._pieces if start <= when < end)

    def _tools(self, at: int) -> list[Used]:
        start, end = self._start(at), self._start(at + 1)
        return [each for when, each in self._used if start <= when < end]
