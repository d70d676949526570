"""Callers that a model plays, and the judge of such calls.

The model is given a person and a goal, and what the agent says as what others say to it; it speaks
until it says that it is done. Whether it was true to its part is asked first: a call in which the
caller did not do what they should says nothing of the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.backends.cascade.choices.race import close
from gateway.backends.cascade.ports import LanguageModel, ModelRequest, TextDelta
from gateway.events import Entry
from gateway.scenarios.judge import Failure
from gateway.scenarios.scenario import Metric, Scenario, ScenarioFile

DONE = "[done]"

PERSONA = """You are on the telephone and have called somebody. You are the caller, never the one \
who answers. This is who you are: {persona}

This is what you want: {goal}

Say what this person would say next, in one or two short spoken sentences and nothing else: no \
stage directions, no names before it. Do not make up what you were not told. When you have what \
you want, or see that you will not get it, say goodbye and end with {done}"""

JUDGE = """You judge a telephone call. Answer with yes or no as the first word, then give the \
reason in one sentence.

Question: {question}

The call:
{call}"""

TRUE_TO_PART = (
    "Did the CALLER play this person and go for this goal, and never speak as the agent would?"
    " The person: {persona} The goal: {goal}"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says."""

    yes: bool | None
    "None: neither yes nor no"
    said: str


@dataclass(frozen=True, slots=True)
class Said:
    """A line of the call."""

    who: str
    "`caller`, `agent` or `tool`"
    text: str


class Persona:
    """Speaks for a caller."""

    def __init__(self, scenario: Scenario, model: LanguageModel) -> None:
        self._model = model
        self._instructions = PERSONA.format(persona=scenario.persona, goal=scenario.goal, done=DONE)
        self._history: list[Entry] = []

    async def says(self, answer: str) -> tuple[str, bool]:
        """Return what the caller says to the agent's words, and whether it is their last word."""
        self._history.append(Entry("caller", answer or "(silence)"))
        text = await _written(self._model, self._instructions, self._history)
        over = DONE in text
        said = text.replace(DONE, "").strip()
        self._history.append(Entry("agent", said or DONE))
        return said, over


class Judge:
    """Answers questions about a call."""

    def __init__(self, file: ScenarioFile, model: LanguageModel) -> None:
        self._prompt = file.judge_prompt or JUDGE
        self._model = model

    async def failures(
        self, scenario: Scenario, call: Sequence[Said], function_calls: int
    ) -> list[Failure]:
        """Say what is wrong with a call; first, whether anything can be said."""
        question = TRUE_TO_PART.format(persona=scenario.persona, goal=scenario.goal)
        verdict = await self._asked(question, call)
        if verdict.yes is not True:
            return [Failure("invalid", f"the caller was not true to their part: {verdict.said}")]
        failures = []
        verdict = await self._asked(scenario.success, call)
        if verdict.yes is not True:
            failures.append(Failure("judge_no", f"{scenario.success}: {verdict.said}"))
        for metric in scenario.metrics:
            failure = await self._measured(metric, call, function_calls)
            if failure is not None:
                failures.append(failure)
        return failures

    async def _measured(
        self, metric: Metric, call: Sequence[Said], function_calls: int
    ) -> Failure | None:
        if not metric.criterion:
            value = _counted(metric.name, call, function_calls)
            low = metric.min is not None and value < metric.min
            high = metric.max is not None and value > metric.max
            wanted = f"min {metric.min}, max {metric.max}"
            return Failure("judge_no", f"{metric.name}: {value}, {wanted}") if low or high else None
        answers = [at for at, each in enumerate(call) if each.who == "agent"]
        yes = 0
        reason = ""
        for at in answers:
            question = f"Of the last answer of the AGENT: {metric.criterion}"
            verdict = await self._asked(question, call[: at + 1])
            yes += verdict.yes is True
            reason = reason or ("" if verdict.yes else verdict.said)
        share = yes / len(answers) if answers else 0.0
        if metric.min_score is None or share >= metric.min_score:
            return None
        told = f"{metric.name}: {share:.2f} of the answers, at least {metric.min_score}: {reason}"
        return Failure("judge_no", told)

    async def _asked(self, question: str, call: Sequence[Said]) -> Verdict:
        lines = "\n".join(f"{each.who.upper()}: {each.text}" for each in call)
        told = self._prompt.replace("{question}", question).replace("{call}", lines)
        text = await _written(self._model, "", [Entry("caller", told)])
        first = text.strip().lower().lstrip("*\"'")
        yes = True if first.startswith("yes") else False if first.startswith("no") else None
        return Verdict(yes, text.strip() or "the judge said nothing")


def _counted(name: str, call: Sequence[Said], function_calls: int) -> int:
    match name:
        case "turns":
            return sum(each.who == "caller" for each in call)
        case "words":
            return sum(len(each.text.split()) for each in call if each.who == "agent")
        case _:
            return function_calls


async def _written(model: LanguageModel, instructions: str, history: Sequence[Entry]) -> str:
    events = model.stream(ModelRequest("caller", instructions, tuple(history)))
    try:
        return "".join([each.text async for each in events if isinstance(each, TextDelta)])
    finally:
        await close(events)
