"""What the operator decides: one TOML file, and environment variables for secrets.

Every setting has a default, so that no file is needed at all.
Relative paths are meant from the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

from msgspec import Meta

from gateway.bus.settings import BusSettings
from gateway.lines.table import LINES
from gateway.metrics.settings import MetricsSettings
from gateway.observe.settings import LogSettings
from gateway.plumbing.toml_file import EMPTY, decode, read
from gateway.web.settings import WebSettings
from gateway.webhooks.settings import WebhookSettings
from inference.runtime import RuntimeSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

DEFAULT_FILE = Path("parley.toml")
"""Used when it is there and no other file is named."""

Port = Annotated[int, Meta(ge=0, le=65535)]
Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]


EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Hosts that a gateway listens on, by one where it answers."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the gateway listens, and how it leaves."""

    host: str = "127.0.0.1"
    "`0.0.0.0` to be reached from other machines without a proxy or a tunnel on this one"
    port: Port = 8080
    "0: any free one, which is then said"
    owner_token: str = field(default="", repr=False, metadata={"env": "PARLEY_OWNER_TOKEN"})
    "where there is no home to keep it in; else drawn once and kept in a file of this user's"
    processes: Count | Literal["auto"] = 1
    "each has its own loop, models and calls; `auto`: one a core, less one for the system"
    drain: Seconds = 600.0
    "seconds that calls in progress may go on after SIGTERM; a second signal ends them, a third all"

    @property
    def address(self) -> str:
        """Where the HTTP port is reached from this machine, without a path."""
        host = EVERYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """Stereo recordings: caller left, agent right."""

    enabled: bool = False
    "off unless wanted: in many places callers must be told first"
    folder: Path = Path("recordings")
    group_reads: bool = False
    "new files may be read by their group as well as by their owner"
    journal: bool = False
    """with `enabled`: beside each recording, what `parley replay` needs to run the call again; some
    30 MB an hour of talking"""
    journal_hidden: bool = False
    """write into it also what `log.mask` hides; without that a call whose words are hidden can be
    replayed with `--words` alone"""

    def __post_init__(self) -> None:
        """Refuse a journal of a call that may not be recorded: it holds the sound too."""
        if self.journal and not self.enabled:
            raise ValueError("journal = true needs enabled = true: a journal holds the sound too")


@dataclass(frozen=True, slots=True)
class DefaultTurnSettings:
    """How the end of a caller's turn is found, unless the agent says otherwise."""

    profile: Literal["quick", "default", "patient", "digits"] = "default"
    silence: Annotated[float, Meta(ge=0.1, le=10)] | None = None
    "seconds of a plain silence timer in place of everything else, for comparison"
    vad: Literal["silero", "webrtc"] = "silero"


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What the gateway takes on; past it, calls are refused and not served badly."""

    calls: Count = 50
    "at once in each process; one core carries about as many with the embedded models"
    placed_per_hour: Count = 100
    "calls placed and handed on in an hour, in all: what a fooled model or a lost key may cost"
    retry_after: Seconds = 10.0
    "seconds a refused caller is asked to wait"


@dataclass(frozen=True, slots=True)
class AgentsSettings:
    """Who answers."""

    folder: Path = Path("agents")
    "one TOML file an agent"
    default: str = "workshop"
    "answers where a line names no other"
    data: Path = Path("data")
    "where the agents' tools keep what they write"


def _lines() -> Mapping[str, Any]:
    return {name: kind.settings() for name, kind in LINES.items()}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the operator decides."""

    server: ServerSettings = field(default_factory=ServerSettings)
    agents: AgentsSettings = field(default_factory=AgentsSettings)
    lines: Mapping[str, Any] = field(default_factory=_lines)
    "by their names in the table of lines, each of which is a section of the file"
    web: WebSettings = field(default_factory=WebSettings)
    turn: DefaultTurnSettings = field(default_factory=DefaultTurnSettings)
    runtime: RuntimeSettings = field(default_factory=RuntimeSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    recording: RecordingSettings = field(default_factory=RecordingSettings)
    log: LogSettings = field(default_factory=LogSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    bus: BusSettings = field(default_factory=BusSettings)

    def line(self, kind: type[T]) -> T:
        """Return what was decided about the line that has settings of this kind."""
        return next(each for each in self.lines.values() if isinstance(each, kind))


def sections() -> type[Any]:
    """Make the schema of a settings file: a section for each field, and one for each line."""
    hints = get_type_hints(Settings)
    kinds: list[tuple[str, type[Any]]] = []
    for each in fields(Settings):
        if each.name == "lines":
            kinds += [(name, kind.settings) for name, kind in LINES.items()]
        else:
            kinds.append((each.name, hints[each.name]))
    return make_dataclass(
        "Sections",
        [(name, kind, field(default_factory=kind)) for name, kind in kinds],
        frozen=True,
        slots=True,
    )


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from a file, else from `parley.toml` where there is one, else defaults.

    Raise `TomlError` with every mistake of the file, in words for the operator.
    """
    if path is None and DEFAULT_FILE.exists():
        path = DEFAULT_FILE
    file = EMPTY if path is None else read(path)
    found = decode(sections(), file)
    found = with_secrets(found, os.environ if environment is None else environment)
    table = {each.name: getattr(found, each.name) for each in fields(found)}
    if path is not None:
        table = rooted(table, path.parent)
    lines = {name: table.pop(name) for name in LINES}
    return Settings(**table, lines=lines)


def rooted(sections: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Take relative paths of all sections from a folder."""
    found: dict[str, Any] = {}
    for name, values in sections.items():
        paths = {
            each.name: folder / value
            for each in fields(values)
            if isinstance(value := getattr(values, each.name), Path)
        }
        found[name] = replace(values, **paths)
    log: LogSettings = found["log"]
    if log.path != "-":
        found["log"] = replace(log, path=str(folder / log.path))
    return found


def with_secrets(settings: T, environment: Mapping[str, str]) -> T:
    """Fill every field that names an environment variable, in all sections."""
    values: dict[str, Any] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(value) and not isinstance(value, type):
            values[each.name] = with_secrets(value, environment)
        elif (variable := each.metadata.get("env")) and variable in environment:
            values[each.name] = environment[variable]
    return replace(settings, **values) if values else settings


def secrets(settings: DataclassInstance) -> dict[str, str]:
    """Return the environment variables that hold secrets, and what is in them now."""
    found: dict[str, str] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        for inner in value.values() if isinstance(value, Mapping) else (value,):
            if is_dataclass(inner) and not isinstance(inner, type):
                found |= secrets(inner)
        if variable := each.metadata.get("env"):
            found[variable] = str(value)
    return found
