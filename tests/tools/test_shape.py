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
    Finding,
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


def places(text: str) -> list[tuple[str, str]]:
    return [(each.rule, each.where) for each in look("a.py", text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class CallManager: ...\n", [("hollow-name", "a.py:CallManager")]),
        ("asyncio.create_task(x)\n", [("loose-task", "a.py")]),
        ("def f():\n    self._loop.create_task(x)\n", [("loose-task", "a.py:f")]),
        ("asyncio.get_running_loop().create_task(x)\n", [("loose-task", "a.py")]),
        (
            "await asyncio.gather(a, b)\nawait asyncio.wait_for(a, 1)\n",
            [("loose-task", "a.py")] * 2,
        ),
        ("group.create_task(x)\nself.gather(1)\n", []),
        ("try: x\nexcept Exception: y\n", [("broad-except", "a.py")]),
        ("try: x\nexcept: y\n", [("broad-except", "a.py")]),
        ("try: x\nexcept (OSError, Exception): y\n", [("broad-except", "a.py")]),
        ("try: x\nexcept Exception:  # fence: around one call\n    y\n", []),
        ("try: x\nexcept BaseException:\n    y\n    raise\n", []),
        ("try: x\nexcept OSError: y\n", []),
    ],
)
def test_the_shape_check_finds_what_breaks_a_rule(text: str, found: list[tuple[str, str]]) -> None:
    assert places(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('getattr(leg, "witness", None)\n', ["looked-for"]),
        ('def f():\n    return hasattr(leg, "witness")\n', ["looked-for"]),
        ("getattr(settings, name)\ngetattr(settings, name, None)\n", []),
        ("class A:\n    def f(self, other):\n        self._x = other._x\n", []),
        ("def f(dtls):\n    return dtls._set_role\n", ["private-name"]),
        ("class A(B):\n    def _f(self):\n        super()._f()\n", ["private-name"]),
        ("class A(B):\n    def f(self):\n        return self._of_b\n", ["private-name"]),
    ],
)
def test_the_product_looks_for_no_names_and_uses_nobody_elses(text: str, found: list[str]) -> None:
    assert rules(text) == found
    assert places(text) == [], "the tests may"


def test_an_exception_needs_a_reason_and_a_cause() -> None:
    finding = Finding("class-methods", "a.py:A", 3, "too many")
    allow = {"rule": "class-methods", "where": "a.py:A", "reason": "a table"}
    other = {"rule": "file-lines", "where": "b.py", "reason": "it was long once"}
    assert excused([finding], [allow]) == []
    assert "a.py:3: class-methods: too many" in excused([finding], [{**allow, "reason": ""}])
    assert excused([finding], [allow, other]) == [
        "tools/shape.toml: file-lines at b.py is excused and does not occur"
    ]
