"""The schema that editors check agents' files by: as strict as what reads them, and no stricter."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gateway.__main__ import main
from gateway.agents.loading import load
from gateway.agents.part_kinds import OPTIONS, PARTS
from gateway.agents.places import AgentError
from gateway.agents.schema import schema
from gateway.backends.cascade.parts import MODELS, RECOGNISERS, VOICES

ROOT = Path(__file__).parents[3]
SHIPPED = [
    path for folder in ("agents", "bench/faults/agents") for path in (ROOT / folder).glob("*.toml")
]
DOCUMENTED = (
    (ROOT / "docs/agents.md").read_text("utf-8").partition("```toml\n")[2].partition("```")[0]
)

VALIDATOR = jsonschema.Draft7Validator(schema())


def told(text: str) -> list[str]:
    """Say where the schema finds something wrong."""
    document = json.loads(json.dumps(tomllib.loads(text), default=_as_editors_do))
    return [each.json_path for each in VALIDATOR.iter_errors(document)]


def _as_editors_do(value: object) -> Any:
    assert isinstance(value, date)
    return value.isoformat()


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(schema())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_agents_are_right(path: Path) -> None:
    assert told(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        DOCUMENTED,
        '[backend]\nkind = "realtime"\nlisten = "moonshine"\noptions = { sound = "pcm" }',
        '[backend]\nrecogniser = { kind = "deepgram", fallback = { kind = "moonshine" } }\n'
        'model = { kind = "openai", model = "m", hedge = true, extra = { top_k = 1 } }',
        '[[tools]]\nname = "t"\nhttp = { url = "https://x.example/{a}", headers = { a = "$B" } }',
        '[servers.s]\ncommand = ["x"]\n[[tools]]\nmcp = "s"',
    ],
)
def test_right_files_are_right(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "where", "line"),
    [
        ('instruction = "x"', "$", 1),
        ("\nhints = 3", "$.hints", 2),
        ('[lines]\ngreetin = "x"', "$.lines", 2),
        ('[call]\n\nidle_seconds = -1', "$.call.idle_seconds", 3),
        ('[call]\nyes_key = "yes"', "$.call.yes_key", 2),
        ('[turns]\nprofile = "slow"', "$.turns.profile", 2),
        ('[turns]\nexpecting = { nonsense = "quick" }', "$.turns.expecting", 2),
        ("\n[[tools]]", "$.tools[0]", 2),
        ('[[tools]]\nbuiltin = "hang_up"\nmcp = "x"', "$.tools[0]", 1),
        ('[[tools]]\nbuiltin = "hangup"', "$.tools[0].builtin", 2),
        ('[[tools]]\nname = "t"\n[tools.http]\nmethod = "GET"', "$.tools[0].http", 3),
        ('[[tools]]\nbuiltin = "hang_up"\ntimeout = 0', "$.tools[0].timeout", 3),
        ("[transfers.desk]\ndescription = 'x'", "$.transfers.desk", 1),
        ("[servers.s]\nenvironment = ['A']", "$.servers.s", 1),
        (
            '[[tools]]\nbuiltin = "hang_up"\n[[tools]]\nname = "t"\n'
            '[tools.http]\nurl = "/"\nverb = 1',
            "$.tools[1].http",
            7,
        ),
        ('[backend]\nkind = "telepathy"', "$.backend", 2),
        ('[backend]\nmodel = "gpt"', "$.backend", 2),
        ('\n[backend]\nmodel = { model = "m" }', "$.backend", 2),
        ('[backend]\n[backend.model]\nkind = "scripted"', "$.backend", 2),
        ('[backend]\nkind = "cascade"\nlisten = "moonshine"', "$.backend", 1),
    ],
)  # fmt: skip
def test_wrong_files_are_wrong_for_both(tmp_path: Path, text: str, where: str, line: int) -> None:
    assert told(text) == [where]
    path = tmp_path / "agent.toml"
    path.write_text(text)
    with pytest.raises(AgentError) as wrong:
        load(path)
    assert str(wrong.value).startswith(f"{path}:{line}:")


@pytest.mark.parametrize(
    "text",
    [
        '[backend]\nmodel = { kind = "openai" }',
        '[backend]\nmodel = { kind = "openai", model = "m", url = "x" }',
        '[backend]\nvoice = { kind = "hibari", speed = 2 }',
        '[backend]\nrecogniser = { kind = "deepgram", fallback = { kind = "ears" } }',
        '[backend]\nkind = "realtime"\noptions = { mode = "m" }',
        '[backends.spare]\nkind = "bridge"\noptions = {}',
    ],
)
def test_parts_are_looked_into(text: str) -> None:
    assert len(told(text)) == 1


def test_every_kind_that_can_be_made_is_in_it() -> None:
    assert {part: set(kinds) for part, kinds in PARTS.items()} == {
        "model": set(MODELS),
        "recogniser": set(RECOGNISERS),
        "voice": set(VOICES),
    }
    assert all(each["title"] in OPTIONS for each in schema()["definitions"]["backend"]["oneOf"])


def test_no_secret_of_the_environment_is_a_key() -> None:
    assert '"api_key":' not in json.dumps(schema())


def test_the_command_prints_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "--schema"]) == 0
    assert json.loads(capfd.readouterr().out) == schema()
