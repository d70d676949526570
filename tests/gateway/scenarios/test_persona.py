"""Callers that a model plays, judged by a model, over the chat API that any server has."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from gateway.agents.library import AgentLibrary, shipped
from gateway.backends.cascade.parts import language_model
from gateway.scenarios.format import ScenarioError, read
from gateway.scenarios.run import Models, Result, run_scenario
from gateway.scenarios.text_call import scripted
from tests.support.chat_server import FakeChat, Say

AGENT = AgentLibrary(shipped()).get("workshop")

FILE = """\
agent: workshop
caller_model: {kind: openai, model: player, urls: ["CALLER"]}
judge_model: {kind: openai, model: judge, urls: ["JUDGE"]}
judge_prompt: "yes or no: {question} {call}"
scenarios:
  - name: asks for the hours
    persona: Somebody in a hurry.
    goal: To know when the workshop is open.
    success: Did the agent tell the opening hours?
    metrics:
      - {name: kind, criterion: Is it kind?, min_score: 0.5}
      - {name: turns, max: 3}
"""


async def held(tmp_path: Path, said: list[str], verdicts: list[str], text: str = FILE) -> Result:
    caller = FakeChat([Say(each) for each in said])
    judge = FakeChat([Say(each) for each in verdicts])
    async with caller.serving(), judge.serving():
        path = tmp_path / "a.yaml"
        path.write_text(text.replace("CALLER", caller.url).replace("JUDGE", judge.url))
        file = read(path)
        models = Models(
            lambda: scripted(AGENT),
            partial(language_model, AGENT, {}, file.caller_model, "caller_model"),
            partial(language_model, AGENT, {}, file.judge_model, "judge_model"),
        )
        result = await run_scenario(file, file.scenarios[0], AGENT, models)
    asked = judge.asked[0].body["messages"][-1]["content"]
    assert asked.startswith("yes or no: Did the CALLER play this person")
    return result


SAID = ["What are your opening hours?", "Thank you, goodbye. [done]"]


async def test_a_played_caller_speaks_until_they_are_done(tmp_path: Path) -> None:
    result = await held(tmp_path, SAID, ["Yes, it is so."])
    assert result.failures == ()
    callers = [line.text for line in result.transcript if line.who == "caller"]
    assert callers == ["What are your opening hours?", "Thank you, goodbye."]
    assert any("from 8 a.m. to 1 p.m." in line.text for line in result.transcript)


async def test_a_caller_who_is_not_true_to_their_part_makes_the_run_invalid(tmp_path: Path) -> None:
    result = await held(tmp_path, SAID, ["No, they spoke as the agent.", "Yes."])
    assert [each.kind for each in result.failures] == ["invalid"]


async def test_what_the_judge_denies_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    result = await held(tmp_path, SAID, ["Yes.", "no: it told the address", "No, it is curt."])
    assert [each.kind for each in result.failures] == ["judge_no", "judge_no"]
    assert "it told the address" in result.failures[0].said
    assert "kind: 0.00 of the answers, at least 0.5" in result.failures[1].said


async def test_what_needs_no_judge_is_counted(tmp_path: Path) -> None:
    said = ["Hello?", "Are you there?", "Hm.", "What are your opening hours?", "Bye [done]"]
    result = await held(tmp_path, said, ["Yes."])
    assert [each.said for each in result.failures] == ["turns: 5, min None, max 3.0"]


async def test_a_caller_who_says_nothing_makes_the_run_invalid(tmp_path: Path) -> None:
    caller = FakeChat([Say("[done]")])
    async with caller.serving():
        path = tmp_path / "a.yaml"
        path.write_text(FILE.replace("CALLER", caller.url).replace("JUDGE", caller.url))
        file = read(path)
        model = partial(language_model, AGENT, {}, file.caller_model, "caller_model")
        models = Models(lambda: scripted(AGENT), model, model)
        result = await run_scenario(file, file.scenarios[0], AGENT, models)
        await asyncio.sleep(0.1)  # the client lets go of its connection
    assert [each.kind for each in result.failures] == ["invalid"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    goal: To know when the workshop is open.\n", "", ":6: persona, goal and success"),
        ("caller_model: {kind", "caller_model: {kinds", ":2: caller_model is a table as backend"),
        ("{question} {call}", "{question}", ":4: judge_prompt is text with {question} and {call}"),
        (", min_score: 0.5", "", ":11: a criterion has a min_score"),
        ("name: turns, max", "name: pace, max", ":11: a criterion is for what is not turns, words"),
        ('caller_model: {kind: openai, model: player, urls: ["CALLER"]}\n', "", "needs a caller"),
    ],
)
def test_a_mistake_of_a_persona_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = tmp_path / "a.yaml"
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ScenarioError) as error:
        read(path)
    assert said in str(error.value)
