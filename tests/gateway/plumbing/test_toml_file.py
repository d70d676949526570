"""TOML into dataclasses: shapes, and where a mistake stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from gateway.plumbing.toml_file import TomlError, decode, names, parse


@dataclass(frozen=True, slots=True)
class Slot:
    name: str
    size: Annotated[int, Meta(ge=1)] = 1
    kind: Literal["a", "b"] = "a"

    def __post_init__(self) -> None:
        if self.name == "taken":
            raise ValueError("the name is taken")


@dataclass(frozen=True, slots=True)
class Sheet:
    title: str = ""
    place: Path = Path()
    slots: tuple[Slot, ...] = ()
    by_name: Mapping[str, Slot] = field(default_factory=dict)
    numbers: tuple[float, ...] = ()
    secret: str = field(default="", metadata={"env": "SHEET_SECRET"})


def mistakes(text: str) -> list[tuple[int, str, str]]:
    with pytest.raises(TomlError) as caught:
        decode(Sheet, parse(text, "sheet.toml"))
    return [(each.line, each.path, each.said) for each in caught.value.mistakes]


def test_tables_lists_and_maps_of_tables_become_dataclasses() -> None:
    text = """
    title = "t"
    numbers = [1, 2.5]
    [[slots]]
    name = "one"
    [[slots]]
    name = "two"
    size = 2
    [by_name.x]
    name = "three"
    """
    assert decode(Sheet, parse(text, "")) == Sheet(
        title="t",
        numbers=(1.0, 2.5),
        slots=(Slot("one"), Slot("two", 2)),
        by_name={"x": Slot("three")},
    )


def test_lines_are_found_in_lists_of_tables_and_after_long_values() -> None:
    text = '''title = """
[slots]
size = 3
"""
numbers = [
  1,
  "x", # ]
]
[[slots]]
name = "one"
[[slots]]
name = "two"
size = 0
'''
    assert [(line, path) for line, path, _ in mistakes(text)] == [
        (5, "numbers"),
        (13, "slots[1].size"),
    ]


def test_a_missing_key_is_told_at_its_table() -> None:
    assert mistakes("\n[[slots]]\nsize = 2\n") == [
        (2, "slots[0]", "name is missing; it must be text")
    ]


def test_a_dataclass_refuses_at_its_table() -> None:
    assert mistakes("[by_name.y]\nname = 'taken'\n") == [(1, "by_name.y", "the name is taken")]


def test_a_secret_in_a_file_is_refused() -> None:
    assert mistakes("secret = 'x'\n") == [
        (1, "secret", "a secret has no place in a file; set SHEET_SECRET instead")
    ]


def test_an_inline_table_is_told_at_its_line() -> None:
    ((line, path, _),) = mistakes("title = 't'\nby_name = { z = { name = 3 } }\n")
    assert (line, path) == (2, "by_name.z.name")


@given(st.sampled_from([name for name in names(Sheet) if name != "secret"]), st.data())
def test_a_slip_of_the_finger_is_set_right(name: str, data: st.DataObject) -> None:
    """One letter left out of any long enough name leads back to it."""
    leaf = name.rpartition(".")[2]
    at = data.draw(st.integers(0, len(leaf) - 1))
    slip = leaf[:at] + leaf[at + 1 :]
    ((_, _, said),) = mistakes(f"{slip} = 1\n")
    assert f"did you mean {leaf}?" in said


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_refused_with_a_line(text: str) -> None:
    last = len(text.splitlines()) + 1
    try:
        lines = list(parse(text, "x").lines.values())
    except TomlError as error:
        lines = [each.line for each in error.mistakes]
    assert all(1 <= line <= last for line in lines)
