"""Where tools outside this process are found, as an agent's file says it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SECRET_HEADERS = re.compile(r"auth|token|secret|key|cookie|password", re.IGNORECASE)
"""Names of headers that prove something."""


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise ValueError for a header that holds a secret itself."""
    for name, value in headers.items():
        if SECRET_HEADERS.search(name) and value and "$" not in value:
            raise ValueError(
                f"headers.{name}: a secret has no place in a file; write the $NAME of a variable"
            )


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A tool that is a request to a server."""

    url: str
    "may hold `{argument}`"
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    "a word that is `$NAME` stands for the environment variable NAME"
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    "JSON schema of the arguments"

    def __post_init__(self) -> None:
        check_headers(self.headers)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server of tools, run as a program or reached by its address."""

    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    "names of variables that the program is given, besides the few every program needs"
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    "a word that is `$NAME` stands for the environment variable NAME"

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")
        check_headers(self.headers)


def with_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """Put the environment's values in; raise ValueError that names a variable that is missing."""
    return {
        name: " ".join(_secret(word) for word in value.split(" "))
        for name, value in headers.items()
    }


def _secret(word: str) -> str:
    if not word.startswith("$"):
        return word
    if word[1:] not in os.environ:
        raise ValueError(f"the environment variable {word[1:]} is not set")
    return os.environ[word[1:]]


def taken_from_environment(names: tuple[str, ...]) -> dict[str, str]:
    """Return the values of variables; raise ValueError that names one that is missing."""
    return {name: _secret(f"${name}") for name in names}
