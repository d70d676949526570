"""What the operator decides: one TOML file, and environment variables for secrets.

Every setting has a default, so that no file is needed at all.
Relative paths are meant from the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from msgspec import Meta

from gateway.lines.sip.settings import SipSettings
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.webrtc.settings import WebrtcSettings
from gateway.plumbing.toml_file import EMPTY, decode, read
from gateway.web.settings import WebSettings
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


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the gateway listens, and how it leaves."""

    host: str = "127.0.0.1"
    "`0.0.0.0` to be reached from other machines without a proxy or a tunnel on this one"
    port: Port = 8080
    "0: any free one, which is then said"
    owner_token: str = field(default="", repr=False, metadata={"env": "PARLEY_OWNER_TOKEN"})
    "where there is no home to keep it in; else drawn once and kept in a file of this user's"
    drain: Seconds = 600.0
    "seconds that calls in progress may go on after SIGTERM; a second signal ends them, a third all"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The call log, and what of it may be read."""

    path: str = "logs/calls.jsonl"
    "`-` is standard output"
    mask: Literal["none", "partial", "full"] = "none"
    "personal data: written; digits and addresses hidden; hidden altogether"
    level: Literal["debug", "info", "warning", "error"] = "info"
    "of the messages on standard error; the call log is always whole"
    rotate_mb: Annotated[float, Meta(gt=0)] = 64.0
    "the file is renamed when it is larger; about 100,000 turns"
    keep: Annotated[int, Meta(ge=0, le=1000)] = 8
    "how many renamed files stay"
    group_reads: bool = False
    "new files may be read by their group as well as by their owner, as a log shipper needs"


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """Stereo recordings: caller left, agent right."""

    enabled: bool = False
    "off unless wanted: in many places callers must be told first"
    folder: Path = Path("recordings")
    group_reads: bool = False
    "new files may be read by their group as well as by their owner"


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
    "at once; one core carries about as many with the embedded models"
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


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the operator decides."""

    server: ServerSettings = field(default_factory=ServerSettings)
    agents: AgentsSettings = field(default_factory=AgentsSettings)
    twilio: TwilioSettings = field(default_factory=TwilioSettings)
    sip: SipSettings = field(default_factory=SipSettings)
    webrtc: WebrtcSettings = field(default_factory=WebrtcSettings)
    web: WebSettings = field(default_factory=WebSettings)
    turn: DefaultTurnSettings = field(default_factory=DefaultTurnSettings)
    runtime: RuntimeSettings = field(default_factory=RuntimeSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    recording: RecordingSettings = field(default_factory=RecordingSettings)
    log: LogSettings = field(default_factory=LogSettings)


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from a file, else from `parley.toml` where there is one, else defaults.

    Raise `TomlError` with every mistake of the file, in words for the operator.
    """
    if path is None and DEFAULT_FILE.exists():
        path = DEFAULT_FILE
    file = EMPTY if path is None else read(path)
    settings = decode(Settings, file)
    if path is not None:
        settings = rooted(settings, path.parent)
    return with_secrets(settings, os.environ if environment is None else environment)


def rooted(settings: Settings, folder: Path) -> Settings:
    """Take relative paths of all sections from a folder."""
    sections: dict[str, Any] = {}
    for section in fields(settings):
        values = getattr(settings, section.name)
        paths = {
            each.name: folder / value
            for each in fields(values)
            if isinstance(value := getattr(values, each.name), Path)
        }
        sections[section.name] = replace(values, **paths)
    log: LogSettings = sections["log"]
    if log.path != "-":
        sections["log"] = replace(log, path=str(folder / log.path))
    return Settings(**sections)


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
    """Give the environment variables that hold secrets, and what is in them now."""
    found: dict[str, str] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(value) and not isinstance(value, type):
            found |= secrets(value)
        elif variable := each.metadata.get("env"):
            found[variable] = str(value)
    return found
