"""What `parley test` prints and writes, and how it ends."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from gateway.__main__ import main

TWO = """
agent: workshop
scenarios:
  - name: answers
    turns:
      - user: What are your opening hours?
        expect:
          - {event: response, text_contains: [Monday to Friday]}
          - {event: function_call, calls: [{name: opening_hours}]}
  - name: sings
    turns:
      - user: What are your opening hours?
        expect:
          - {event: response, text_contains: [la la la]}
    ended: true
"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    return path


def test_what_failed_is_told_with_its_line_and_what_was_said(two: Path, capsys) -> None:
    assert main(["test", str(two)]) == 1
    out = capsys.readouterr().out
    assert "✓ answers" in out
    assert f"{two}:12: text_mismatch: 'la la la' is not in what the agent said" in out
    assert f"{two}:10: not_ended" in out
    assert "1 of 2 scenarios passed" in out


def test_one_can_be_chosen_and_the_reports_are_for_programs(two: Path, tmp_path: Path, capsys):
    assert main(["test", str(two), "--only", "answers"]) == 0
    capsys.readouterr()
    assert main(["test", str(two.parent), "--json", "--junit", str(tmp_path / "j.xml")]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [each["passed"] for each in told] == [True, False]
    (suite,) = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert {each.get("type") for each in suite.iter("failure")} == {"text_mismatch", "not_ended"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("workshop", "nobody"), "nobody"),
        (("user:", "usr:"), ":6: a turn has no 'usr'"),
    ],
)
def test_what_cannot_be_run_is_wrong_use(two: Path, change: tuple[str, str], said: str, capsys):
    two.write_text(TWO.replace(*change))
    assert main(["test", str(two)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_is_said(capsys) -> None:
    assert main(["test", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err
