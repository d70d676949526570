"""The scripts that an agent's scripted models follow, read and checked with its file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gateway.agents.format import AgentFile
from gateway.agents.places import placed
from gateway.backends.cascade.choices.race import chain
from gateway.backends.cascade.models.script.format import Script
from gateway.backends.cascade.models.script.format import load as load_script
from gateway.plumbing.toml_file import Mistake, TomlError, TomlFile, decode, read


@dataclass(frozen=True, slots=True)
class ScriptedSettings:
    """The settings of `model = { kind = "scripted" }`."""

    kind: str
    script: str
    "the file, beside the agent's"
    first_token: float = 0.0
    "seconds to the first token, to stand in for a large model"
    tokens_per_second: float = 0.0
    "0: all at once"


def scripts_of(
    path: Path, file: AgentFile, source: TomlFile
) -> tuple[dict[str, Script], list[Path]]:
    """Read the scripts that the backends' models follow."""
    scripts: dict[str, Script] = {}
    files: list[Path] = []
    choices = {"backend": file.backend}
    choices |= {f"backends.{name}": each for name, each in file.backends.items()}
    tables = [
        (where, table, place)
        for where, choice in choices.items()
        for table, place in chain(choice.model, f"{where}.model")
        if choice.kind == "cascade" and table.get("kind") == "scripted"
    ]
    for where, table, place in tables:
        if "script" not in table and where not in source.lines:
            continue  # nothing was said of a model at all: whoever runs calls decides
        try:
            settings = decode(ScriptedSettings, source, table, place)
        except TomlError as error:
            raise placed(path, error) from None
        script = path.parent / settings.script
        if not script.is_file():
            said = f"{settings.script}: no such file or directory"
            at = f"{place}.script"
            wrong = TomlError(source.name, [Mistake(at, source.line(at), said)])
            raise placed(path, wrong)
        try:
            scripts[settings.script] = load_script(read(script))
        except TomlError as error:
            raise placed(script, error) from None
        files.append(script)
    return scripts, files
