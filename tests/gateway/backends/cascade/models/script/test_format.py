"""The script's file: what its mistakes are called."""

from __future__ import annotations

import pytest

from gateway.backends.cascade.models.script.format import load
from gateway.plumbing.toml_file import TomlError, parse

GOOD = """
start = "a"
after = "a"
lost = "a"
[slots.car]
kind = "choice"
values = "cars"
ask = ["Which car?"]
[values]
cars = ["Tesla", "Ford = forth"]
[tasks.a]
[[tasks.a.steps]]
fill = ["car"]
"""


def test_a_script_is_read_with_its_lists() -> None:
    script = load(parse(GOOD, "s.toml"))
    assert script.lists["cars"].exact(("a", "forth")) == "Ford"
    assert script.tasks["a"].steps[0].fill == ("car",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('lost = "a"', 'lost = "b"', 's.toml:4: lost: there is no task "b"'),
        ('values = "cars"', 'values = "boats"', "s.toml:5: slots.car: values must name a list"),
        ('ask = ["Which car?"]', "", "s.toml:5: slots.car: ask is missing"),
        ('fill = ["car"]', 'fill = ["bike"]', 'tasks.a.steps[0]: there is no slot "bike"'),
        ('fill = ["car"]', 'fill = ["car"]\nsay = "x"', "a step has exactly one of"),
        ('fill = ["car"]', 'fil = ["car"]', "did you mean tasks.a.steps[0].fill?"),
        ('kind = "choice"', 'kind = "choise"', 'did you mean "choice"?'),
        ("[tasks.a]", '[[intents]]\nname = "x"\nphrases = []\ntask = "c"\n[tasks.a]', "intents[0]"),
    ],
)
def test_mistakes(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(TomlError) as error:
        load(parse(GOOD.replace(old, new), "s.toml"))
    assert said in str(error.value)
