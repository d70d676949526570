"""Holds scenarios with sound and judges them; looks around them for timings that fail."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway.agents.loading import Agent
from gateway.backends.cascade.ports import LanguageModel
from gateway.scenarios.held import Held
from gateway.scenarios.judge import (
    Failure,
    state_failures,
)
from gateway.scenarios.judgement import Judgement
from gateway.scenarios.manners import Manners, manners
from gateway.scenarios.moves import Move, drawn, smaller
from gateway.scenarios.persona import Said
from gateway.scenarios.run import Result, began_of
from gateway.scenarios.scenario import Scenario, ScenarioFile
from gateway.scenarios.sound_call import hold
from gateway.scenarios.sound_files import keep
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
        judged = Judgement(scenario, self.agent, held)
        failures = judged.failures() + wrong
        if moves:  # another timing is another conversation: its words are not the scenario's
            failures = [each for each in failures if each.kind in TIMELESS]
        return held, failures, judged.transcript()
