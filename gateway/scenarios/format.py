"""Scenario files: YAML in Pipecat's vocabulary, read strictly; every mistake has its line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from gateway.scenarios.scenario import Expect, Scenario, ScenarioFile, Turn

T = TypeVar("T")

TOP = ("agent", "scenarios", "caller_model", "judge_model", "judge_prompt")

BOOLS = ("true", "false")


class ScenarioError(ValueError):
    """A file that is no scenario file: each line is a place and what is wrong there."""


def read(path: Path) -> ScenarioFile:
    """Read a file; raises ScenarioError with everything that is wrong, and OSError."""
    try:
        node = yaml.compose(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8: {error.reason}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ScenarioError(f"{path}{line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ScenarioError(f"{path}: {error}") from None
    return _Reader(path).file(node)


class _Reader:
    """Reads the nodes of a file, and gathers what is wrong with them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wrong: list[str] = []

    def file(self, node: yaml.Node | None) -> ScenarioFile:
        top = self._table(node, TOP, "the file")
        agent = self._plain(top.get("agent"), str, "agent") if "agent" in top else None
        scenarios = [
            made
            for each in self._list(top.get("scenarios"), "scenarios", node)
            if (made := self._scenario(each)) is not None
        ]
        names = [each.name for each in scenarios]
        for each in scenarios:
            if names.count(each.name) > 1:
                self._wrong.append(
                    f"{self._path}:{each.line}: there are two scenarios named {each.name!r}"
                )
        if agent is None and not self._wrong:
            self._say(node, "agent is missing")
        models = self._models(top)
        for each in scenarios:
            if each.persona and not models[0]:
                self._wrong.append(
                    f"{self._path}:{each.line}: a persona needs a caller_model in the file"
                )
        if self._wrong:
            raise ScenarioError("\n".join(dict.fromkeys(self._wrong)))
        prompt = self._value(top.get("judge_prompt")) or ""
        return ScenarioFile(self._path, agent or "", tuple(scenarios), *models, prompt)

    def _models(self, top: Mapping[str, yaml.Node]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read who plays callers, and who judges."""
        found: list[dict[str, Any]] = []
        for name in ("caller_model", "judge_model"):
            value = self._value(top.get(name)) or {}
            if not isinstance(value, dict) or (value and "kind" not in value):
                said = "a table as backend.model in an agent's file: kind, model, urls"
                self._say(top.get(name), f"{name} is {said}")
            found.append(value if isinstance(value, dict) else {})
        prompt = self._value(top.get("judge_prompt"))
        if prompt is not None and not (
            isinstance(prompt, str) and "{question}" in prompt and "{call}" in prompt
        ):
            self._say(
                top.get("judge_prompt"), "judge_prompt is text with {question} and {call} in it"
            )
        return found[0], found[1] or found[0]

    def _scenario(self, node: yaml.Node) -> Scenario | None:
        allowed = tuple(name for name in Scenario.__slots__ if name != "line")
        table = self._table(node, allowed, "a scenario")
        before = len(self._wrong)
        given = {name: self._value(each) for name, each in table.items() if name != "turns"}
        if "turns" in table or "persona" not in table:
            turns = self._list(table.get("turns"), "turns", node)
            given["turns"] = [self._turn(each) for each in turns]
        if "began" in given and isinstance(given["began"], str):
            given["began"] = given["began"].replace(" ", "T")
        if len(self._wrong) > before:
            return None
        return self._made(Scenario, {**given, "line": _line(node)}, node, table)

    def _turn(self, node: yaml.Node) -> Turn | None:
        allowed = tuple(name for name in Turn.__slots__ if name != "line")
        table = self._table(node, allowed, "a turn")
        given = {name: self._value(each) for name, each in table.items() if name != "expect"}
        listed = self._list(table["expect"], "expect", node) if "expect" in table else []
        expects = [self._expect(each) for each in listed]
        whole = {**given, "expect": expects, "line": _line(node)}
        return self._made(Turn, whole, node, table)

    def _expect(self, node: yaml.Node) -> Expect | None:
        table = self._table(node, Expect.__slots__, "expect")
        return self._made(Expect, self._value(node), node, table)

    # --- nodes ---------------------------------------------------------------------------------

    def _made(
        self, kind: type[T], given: Any, node: yaml.Node, table: Mapping[str, yaml.Node]
    ) -> T | None:
        """Make one of a kind; else say what is wrong, at the line of what is to blame."""
        try:
            return msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            said = str(error)
            blamed = next((name for name in table if f"$.{name}" in said), "")
            self._say(table.get(blamed, node), said.replace("$.", ""))
            return None

    def _table(
        self, node: yaml.Node | None, allowed: tuple[str, ...], what: str
    ) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            self._say(node, f"{what} is a table of {', '.join(allowed)}")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in allowed:
                self._say(key, f"{what} has no {name!r}; there are: {', '.join(allowed)}")
            elif name in found:
                self._say(key, f"{name!r} stands there twice")
            else:
                found[name] = value
        return found

    def _list(self, node: yaml.Node | None, what: str, within: yaml.Node | None) -> list[yaml.Node]:
        if isinstance(node, yaml.SequenceNode) and node.value:
            return list(node.value)
        self._say(node or within, f"{what} is a list of at least one")
        return []

    def _plain(self, node: yaml.Node | None, kind: type[T], what: str) -> T | None:
        value = self._value(node)
        if isinstance(value, kind):
            return value
        self._say(node, f"{what} is a {kind.__name__}, found {value!r}")
        return None

    def _value(self, node: yaml.Node | None) -> Any:
        """Build what a node holds; YAML's own dates stay text, as JSON has it."""
        match node:
            case yaml.MappingNode():
                return {str(self._value(key)): self._value(value) for key, value in node.value}
            case yaml.SequenceNode():
                return [self._value(each) for each in node.value]
            case yaml.ScalarNode(tag="tag:yaml.org,2002:timestamp"):
                return node.value
            case yaml.ScalarNode(tag="tag:yaml.org,2002:bool") if node.value.lower() not in BOOLS:
                return node.value  # callers say `yes` and `no`
            case yaml.ScalarNode():
                try:
                    return yaml.CSafeLoader.yaml_constructors[node.tag](_CONSTRUCTOR, node)
                except (KeyError, yaml.YAMLError, ValueError):
                    self._say(node, f"{node.value!r} is nothing that YAML knows")
                    return None
            case _:
                return None

    def _say(self, node: yaml.Node | None, said: str) -> None:
        line = f":{_line(node)}" if node is not None else ""
        self._wrong.append(f"{self._path}{line}: {said}")


_CONSTRUCTOR = yaml.CSafeLoader("")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
