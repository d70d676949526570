"""What the documents show of agents' files and tools is so."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gateway.agents.format import AgentFile
from gateway.agents.loading import load
from gateway.backends.cascade.models.script.format import load as load_script
from gateway.plumbing.toml_file import decode, parse, read
from gateway.tools.builtins import BUILTINS
from gateway.tools.functions import function_tool

ROOT = Path(__file__).parents[3]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_agent_in_the_document_is_one(tmp_path: Path) -> None:
    (example,) = blocks("agents.md", "toml")
    (tmp_path / "porter").mkdir()
    script = (ROOT / "agents/workshop/script.toml").read_text("utf-8")
    (tmp_path / "porter" / "script.toml").write_text(script)
    (tmp_path / "porter.toml").write_text(example)
    agent = load(tmp_path / "porter.toml")
    assert [spec.name for spec in agent.specs] == ["transfer", "hang_up"]
    assert list(agent.scripts) == ["porter/script.toml"]


def test_the_tools_in_the_document_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "x")
    example, isolated = blocks("tools.md", "toml")
    (tmp_path / "workshop").symlink_to(ROOT / "agents/workshop")
    (tmp_path / "shop.py").write_text("def find(name: str):\n    'Find something.'\n")
    (tmp_path / "a.toml").write_text(isolated)
    assert [spec.name for spec in load(tmp_path / "a.toml").specs] == ["find"]
    (tmp_path / "a.toml").write_text(example)
    agent = load(tmp_path / "a.toml")
    assert [spec.name for spec in agent.specs] == ["book", "order_status"]
    assert agent.specs[0].timeout == 8.0


def test_the_function_in_the_document_is_a_tool() -> None:
    (example,) = blocks("tools.md", "python")
    module = ModuleType("document")
    exec(compile(example, "docs/tools.md", "exec", dont_inherit=True), module.__dict__)
    spec = function_tool(module.__dict__["reserve"]).spec
    assert (spec.effect, spec.confirm, spec.description) == ("write", True, "Reserve a table.")
    assert list(spec.parameters["properties"]) == ["day", "people"]
    assert "document" not in sys.modules


def test_every_built_in_is_named_in_the_document() -> None:
    text = (ROOT / "docs" / "tools.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in BUILTINS)


def test_every_agent_and_script_that_is_shipped_is_in_order() -> None:
    for path in (ROOT / "agents").glob("*.toml"):
        assert decode(AgentFile, read(path))
    for path in (ROOT / "agents").glob("*/script.toml"):
        assert load_script(parse(path.read_text("utf-8"), path.name))
