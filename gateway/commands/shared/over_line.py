"""Scenarios of several files over a real line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gateway.agents.loading import Agent
from gateway.commands.shared.options import complain
from gateway.scenarios.line_call import Caller, NotOverLineError
from gateway.scenarios.line_run import LineRun
from gateway.scenarios.manners import Manners
from gateway.scenarios.run import Result
from gateway.scenarios.scenario import Scenario, ScenarioFile


async def called(
    pairs: Sequence[tuple[ScenarioFile, Agent]],
    caller: Caller,
    wanted: Callable[[Scenario], bool],
) -> tuple[list[Result], Mapping[str, float | None]]:
    """Hold them one after the other; say which are left out, and why."""
    results: list[Result] = []
    total = Manners()
    for file, agent in pairs:
        asked = replace(caller.options, agent=file.agent)
        runs = LineRun(file, agent, replace(caller, options=asked))
        for scenario in filter(wanted, file.scenarios):
            try:
                result, manners = await runs.result(scenario)
            except NotOverLineError as error:
                complain(f"{file.path}:{scenario.line}: left out: {scenario.name}: {error}")
                continue
            results.append(result)
            total += manners
    return results, total.figures()
