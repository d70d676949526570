from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.agents.loading import load
from gateway.agents.places import AgentError
from gateway.backends.gemini.settings import GeminiSettings
from gateway.backends.live.settings import LiveSettings
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.speech_models import KINDS, with_key
from gateway.ports import BackendTraits

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "speech-to-speech.md").read_text("utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.S)


def settings(kind: str, **changes: object) -> object:
    needed = {"url": "ws://127.0.0.1:1/x"} if kind == "bridge" else {}
    return KINDS[kind].settings(**needed, **changes)


def traits(kind: str) -> BackendTraits:
    return KINDS[kind].make(settings(kind)).traits


def rows() -> dict[str, list[str]]:
    table = PAGE.partition("## What each can do")[2].partition('\n\n"')[0]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines() if line]
    return {
        row[0].strip("`"): row for row in cells if row[0].startswith("`") and row[0] != "`kind`"
    }


def test_the_page_lists_every_model_and_what_it_can_do():
    assert set(rows()) == set(KINDS)
    for kind, row in rows().items():
        can = traits(kind)
        assert ("the gateway" in row[2]) is not can.owns_turns, kind
        assert (row[3] != "no") is can.truncates, kind
        assert (row[5] == "yes") is can.tools, kind
        seconds = getattr(settings(kind), "session_seconds", None)
        assert row[7] == ("never" if seconds is None else f"{seconds:.0f} s"), kind
        assert not can.drafts, kind


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_page_are_taken(example: str, tmp_path: Path):
    path = tmp_path / "agent.toml"
    script = (ROOT / "agents" / "workshop" / "script.toml").read_text("utf-8")
    for name in re.findall(r'script = "(.*?)"', example):
        (tmp_path / name).write_text(script)
    path.write_text(example)
    agent = load(path)
    kind = KINDS[agent.file.backend.kind]
    options = agent.settings(kind.settings, agent.file.backend.options, "backend.options")
    assert kind.make(with_key(options, {})).traits


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('options = { api_key = "sk-1" }', "OPENAI_API_KEY"),
        ('options = { modle = "x" }', "model"),
    ],
)
def test_a_key_in_a_file_is_refused_and_so_is_what_nobody_knows(
    line: str, said: str, tmp_path: Path
):
    path = tmp_path / "agent.toml"
    path.write_text(f'[backend]\nkind = "realtime"\n{line}\n')
    agent = load(path)
    with pytest.raises(AgentError, match=said):
        agent.settings(RealtimeSettings, agent.file.backend.options, "backend.options")


def test_keys_come_from_the_environment_and_are_never_shown():
    environment = {"OPENAI_API_KEY": "sk-1", "MINE": "sk-2", "GEMINI_ACCESS_TOKEN": "sk-3"}
    assert with_key(RealtimeSettings(), environment).api_key == "sk-1"
    assert with_key(LiveSettings(key_variable="MINE"), environment).api_key == "sk-2"
    assert with_key(GeminiSettings(), environment).bearer == "sk-3"
    for made in (RealtimeSettings, LiveSettings, GeminiSettings):
        assert "sk-" not in repr(with_key(made(), environment))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('fallbacks = ["transfer:desk"]', 'there is no "desk" under transfers'),
        ('fallbacks = ["message", "retry"]', 'nothing comes after "message"'),
        ('fallbacks = ["spare"]', 'there is no "spare" under backends'),
        ("[backends.retry]", "choose another name"),
        ('[backend]\nlisten = "moonshine"', "a cascade listens anyway"),
    ],
)
def test_mistakes_in_the_chain_are_told(text: str, said: str, tmp_path: Path):
    path = tmp_path / "agent.toml"
    path.write_text(text)
    with pytest.raises(AgentError, match=said):
        load(path)
