"""What a gateway's call log says of calls that callers measured too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.goodput.turns import Claim
from gateway.log_events import CallRefusedLogged, InterruptedLogged
from gateway.observe.lines import parse


@dataclass(frozen=True, slots=True)
class Told:
    """What is in the log, by call."""

    claims: Mapping[str, Sequence[Claim]]
    causes: Mapping[str, str]
    "why calls were refused"


class LogTail:
    """A call log from where it ended when this was made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._from = path.stat().st_size if path.exists() else 0

    def read(self) -> Told:
        """Read what has come since; raise OSError."""
        claims: dict[str, list[Claim]] = {}
        causes: dict[str, str] = {}
        with self._path.open("rb") as log:
            log.seek(self._from)
            whole = log.read().rpartition(b"\n")[0]
        for raw in whole.splitlines():
            try:
                line = parse(raw)
            except ValueError:
                continue
            match line.told:
                case InterruptedLogged(utterance=utterance, heard=heard):
                    claims.setdefault(line.call, []).append(Claim(line.at, utterance, heard))
                case CallRefusedLogged(known_as=str(known_as), cause=cause):
                    causes[known_as] = cause
                case _:
                    pass
        return Told(claims, causes)
