"""Judges a call with sound by what was heard and done after each turn."""

from __future__ import annotations

from dataclasses import replace

from gateway.agents.loading import Agent
from gateway.scenarios.held import Held, call_tools, pieces
from gateway.scenarios.judge import Answer, Failure, end_failures, never_right, turn_failures
from gateway.scenarios.manners import manner_failures
from gateway.scenarios.persona import Said
from gateway.scenarios.run import tool_line
from gateway.scenarios.scenario import Scenario
from gateway.scenarios.text_call import Used


class Judgement:
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
