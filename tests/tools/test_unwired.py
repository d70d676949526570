"""What is planted and leads nowhere is found; what is used, in whatever way, is not."""

from __future__ import annotations

import pytest

from tools.shape import project
from tools.unwired.check import loose_ends

HEAD = "from __future__ import annotations\nfrom dataclasses import dataclass, replace, asdict\n"


def found(text: str, **more: str) -> list[tuple[str, str]]:
    """Look at one module of the product, and at others by their names."""
    sources = {"gateway/a.py": HEAD + text, **{f"gateway/{k}.py": v for k, v in more.items()}}
    return [(each.rule, each.where.partition(":")[2]) for each in loose_ends(sources)]


DATA = "@dataclass(frozen=True)\nclass A:\n    x: int\n    on: bool = False\n"


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        (DATA + "a = A(1, True)\na.x\na.on\n", []),
        (DATA + "a = A(1, True)\na.x\n", [("never-read", "A.on")]),
        (DATA + "a = A(1)\na.x\na.on\n", [("never-given", "A.on")]),
        (DATA + "def f(a: A) -> int:\n    return a.x\n", [("never-made", "A")]),
        (DATA + "a = replace(A(1), on=True)\nprint(a.x, a.on)\n", []),
        (DATA + "match A(1, True):\n    case A(x=n, on=True):\n        print(n)\n", []),
        (
            DATA + "match A(1, True):\n    case A(x=_, on=n):\n        print(n)\n",
            [("never-read", "A.x")],
        ),
        (DATA + "print(asdict(A(1, on=True)))\n", []),
        (
            "@dataclass\nclass B:\n    count: int = 0\n\ndef f(b: B) -> None:\n    b.count += 1\n\n"
            "f(B())\n",
            [],
        ),
        ("class E:\n    pass\n", []),
        ("@dataclass\nclass E:\n    '''It happened.'''\n\nprint(E())\n", [("never-met", "E")]),
        ("@dataclass\nclass E:\n    '''It happened.'''\n\nisinstance(E(), E)\n", []),
        ("import msgspec\nclass W(msgspec.Struct):\n    a: int\n    b: int = 0\n\n"
         "print(msgspec.json.decode(b'', type=W).a)\n", [("never-read", "W.b")]),
    ],
)  # fmt: skip
def test_what_leads_nowhere_is_found(text: str, loose: list[tuple[str, str]]) -> None:
    assert found(text) == loose


def test_a_field_is_told_from_one_of_the_same_name() -> None:
    """That another class has a field of the name, and it is read, changes nothing."""
    other = "@dataclass\nclass B:\n    on: bool\n\nprint(B(True).on)\n"
    assert found(DATA + other + "a = A(1, True)\na.x\n") == [("never-read", "A.on")]


def test_a_reading_is_found_through_what_holds_it_and_what_gives_it() -> None:
    text = DATA + (
        "class Holder:\n"
        "    def __init__(self, several: dict[str, A]) -> None:\n"
        "        self._several = several\n\n"
        "    def one(self) -> A | None:\n"
        "        return self._several.get('a')\n\n"
        "def f(holder: Holder) -> None:\n"
        "    for name, each in holder._several.items():\n"
        "        print(each.x)\n"
        "    if (one := holder.one()) is not None:\n"
        "        print(one.on)\n\n"
        "f(Holder({'a': A(1, True)}))\n"
    )
    assert found(text) == []


def test_a_setting_that_is_planted_in_the_project_and_read_by_nobody_is_found() -> None:
    """Under a name that is a field of many classes, and read of many."""
    sources = project()
    path = "gateway/config.py"
    assert "class ServerSettings:" in sources[path]
    head, _, rest = sources[path].partition("    host: str =")
    assert rest
    planted = {**sources, path: f"{head}    reason: bool = False\n    host: str ={rest}"}
    before = {(each.rule, each.where) for each in loose_ends(sources)}
    after = {(each.rule, each.where) for each in loose_ends(planted)}
    assert after - before == {("never-read", f"{path}:ServerSettings.reason")}
