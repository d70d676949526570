"""Holds the scenarios of a file over a real line, one call after the other, and judges them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from gateway.agents.loading import Agent
from gateway.scenarios.judge import Failure
from gateway.scenarios.judgement import Judgement
from gateway.scenarios.line_call import Caller, hold, judged_part
from gateway.scenarios.manners import Manners, manners
from gateway.scenarios.persona import Said
from gateway.scenarios.run import Result
from gateway.scenarios.scenario import Scenario, ScenarioFile


@dataclass(frozen=True, slots=True)
class LineRun:
    """Holds scenarios of one file with whoever answers on a line."""

    file: ScenarioFile
    agent: Agent
    caller: Caller

    async def result(self, scenario: Scenario) -> tuple[Result, Manners]:
        """Hold a scenario until a run is not as expected; raises NotOverLineError."""
        begun = time.monotonic()
        failures: list[Failure] = []
        lines: tuple[Said, ...] = ()
        runs, total = 0, Manners()
        judged = judged_part(scenario, self.caller.log is not None)
        while runs < scenario.runs and not failures:
            runs += 1
            drawn = replace(scenario, seed=scenario.seed + runs - 1)
            held, report = await hold(drawn, self.caller, self.agent.tools)
            if not report.answered:
                failures = [Failure("error", f"not answered: {report.reason}")]
                break
            judgement = Judgement(judged, self.agent, held)
            failures = judgement.failures()
            lines = judgement.transcript()
            total += manners(held)
        seconds = time.monotonic() - begun
        file, name = str(self.file.path), scenario.name
        return Result(file, name, scenario.line, tuple(failures), lines, seconds, runs), total
