"""Scenario files: what is read, and how every mistake is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.scenarios.format import ScenarioError, read

GOOD = """
agent: workshop
scenarios:
  - name: a day
    caller: "+4930123"
    began: 2025-12-02T10:00:00
    turns:
      - user: Yes
        expect:
          - {event: response, text_contains: [when]}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "a.yaml"
    path.write_text(text)
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    file = read(write(tmp_path, GOOD))
    (scenario,) = file.scenarios
    assert (file.agent, scenario.name, scenario.line) == ("workshop", "a day", 4)
    assert scenario.began is not None
    assert scenario.began.isoformat() == "2025-12-02T10:00:00"
    assert (scenario.turns[0].user, scenario.turns[0].line) == ("Yes", 8)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("text_contains", "text_contain", ":10: expect has no 'text_contain'; there are: event,"),
        ("user: Yes", "usr: Yes", ":8: a turn has no 'usr'; there are: user, dtmf,"),
        ("user: Yes", "user: [1]", ":8: Expected `str`, got `array` - at `user`"),
        ("event: response", "event: answer", ":10: Invalid enum value 'answer' - at `event`"),
        ("event: response", "event: function_call", ":10: text is expected of a response"),
        ("turns:", "heard: 3\n    turns:", ":7: a scenario has no 'heard'; there are: name,"),
        ("agent: workshop", "", ":3: agent is missing"),
        ("agent: workshop", "agent: 3", ":2: agent is a str, found 3"),
        ("began: 2025-12-02T10:00:00", "began: soon", ":6: Invalid RFC3339 encoded datetime"),
        ("scenarios:", "scenario:", ":3: the file has no 'scenario'; there are: agent, scenarios"),
        ("[when]", "[when", ":10: did not find expected"),
        ("    caller", "    name: again\n    caller", ":5: 'name' stands there twice"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ScenarioError) as error:
        read(path)
    assert f"{path}{said}" in str(error.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("user: Yes", "usr: Yes").replace("text_contains", "text_contain")
    with pytest.raises(ScenarioError) as error:
        read(write(tmp_path, text))
    assert len(str(error.value).splitlines()) >= 2


@pytest.mark.parametrize("text", ["", "- 1\n", "agent: a\n", "\x00", "a: &a [*a]\n", "!!x y"])
def test_what_is_no_scenario_file_is_said(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScenarioError, match=r"a\.yaml"):
        read(write(tmp_path, text))


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    text = GOOD + GOOD[GOOD.index("  - name") :]
    with pytest.raises(ScenarioError, match="two scenarios named 'a day'"):
        read(write(tmp_path, text))
