"""The limits find what is over them, and exceptions hold for what they name alone."""

from __future__ import annotations

import pytest

from tools.shape import (
    CLASS_ATTRIBUTES,
    CLASS_LINES,
    CLASS_METHODS,
    FILE_LINES,
    FUNCTION_STATEMENTS,
    TEST_LINES,
    excused,
    look,
)


def rules(text: str, path: str = "gateway/example.py") -> list[str]:
    return [finding.rule for finding in look(path, text)]


def function(statements: int) -> str:
    return "def example():\n" + "    x = 1\n" * statements


@pytest.mark.parametrize(
    ("path", "most"), [("gateway/example.py", FILE_LINES), ("tests/test_example.py", TEST_LINES)]
)
def test_a_file_that_is_too_long(path: str, most: int) -> None:
    assert rules("x = 1\n" * most, path) == []
    assert rules("x = 1\n" * (most + 1), path) == ["file-lines"]
    assert rules("# This file is long because\n" + "x = 1\n" * most, path) == []


def test_a_function_is_measured_by_what_it_does_and_not_by_its_lines() -> None:
    assert rules(function(FUNCTION_STATEMENTS)) == []
    assert rules(function(FUNCTION_STATEMENTS + 1)) == ["function-statements"]
    spread = "def example():\n    return (\n" + "        1 +\n" * 100 + "        1)\n"
    assert rules(spread) == []
    nested = "def outer():\n    if True:\n" + "        x = 1\n" * FUNCTION_STATEMENTS
    assert rules(nested) == ["function-statements"]


def test_a_function_inside_another_is_measured_by_itself() -> None:
    body = "        x = 1\n" * (FUNCTION_STATEMENTS - 5)
    assert rules(f"def outer():\n    def one():\n{body}    def two():\n{body}") == []


def test_a_class_that_is_too_long_or_knows_or_does_too_much() -> None:
    long = "class Example:\n" + "    # a line\n" * CLASS_LINES + "    x = 1\n"
    assert rules(long) == ["class-lines"]
    stored = "".join(f"        self.a{n} = {n}\n" for n in range(CLASS_ATTRIBUTES + 1))
    assert rules(f"class Example:\n    def __init__(self):\n{stored}") == ["class-attributes"]
    methods = "".join(f"    def m{n}(self): ...\n" for n in range(CLASS_METHODS + 1))
    assert rules(f"class Example:\n{methods}") == ["class-methods"]


def test_data_that_does_not_change_is_no_state() -> None:
    fields = "".join(f"    a{n}: int\n" for n in range(CLASS_ATTRIBUTES + 1))
    assert rules(f"@dataclass(frozen=True, slots=True)\nclass Example:\n{fields}") == []
    assert rules(f"@dataclass(slots=True)\nclass Example:\n{fields}") == ["class-attributes"]


def test_an_exception_has_a_reason_and_something_to_excuse() -> None:
    findings = list(look("gateway/example.py", "x = 1\n" * (FILE_LINES + 1)))
    allow = {"rule": "file-lines", "where": "gateway/example.py", "reason": "one table"}
    assert excused(findings, [allow]) == []
    assert len(excused(findings, [{**allow, "reason": ""}])) == 2
    (left,) = excused([], [allow])
    assert "does not occur" in left
