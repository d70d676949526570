"""A folder of agents, kept up to date: a call takes each agent as its files are when it begins."""

from __future__ import annotations

import difflib
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway.agents.loading import Agent, load
from gateway.agents.places import AgentError, error_of

Stamp = tuple[tuple[str, int, int], ...]
"""What files looked like: name, time of change in nanoseconds, size."""


class UnknownAgentError(KeyError):
    """There is no agent of this name; the text is for the operator."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(slots=True)
class _Shelf:
    agent: Agent | None
    "the last good one"
    stamp: Stamp
    error: AgentError | None = None


class AgentLibrary:
    """Gives agents by name; one whose file is broken stays as it last was.

    A look at unchanged files takes some microseconds; reading changed ones runs the operator's own
    code, which may block for as long as it likes, and belongs in a thread. Several threads may ask,
    each for another agent.
    """

    def __init__(
        self,
        *folders: Path,
        check: Callable[[Agent], None] = lambda agent: None,
        report: Callable[[AgentError], None] = lambda error: None,
    ) -> None:
        """Look into `folders`, the first first.

        `check` may raise AgentError for what only the rest of the gateway can know of an agent;
        `report` is told once of each change that left an agent broken.
        """
        self._folders = folders
        self._check = check
        self._report = report
        self._shelves: dict[Path, _Shelf] = {}

    def names(self) -> tuple[str, ...]:
        """List the agents there are files for."""
        found = {path.stem for folder in self._folders for path in folder.glob("*.toml")}
        return tuple(sorted(found))

    def get(self, name: str) -> Agent:
        """Return an agent as its files are now, or as they last were in order.

        Raise UnknownAgentError, or AgentError when its file never was in order.
        """
        path = self._path(name)
        shelf = self._shelves.get(path)
        if shelf is None or shelf.stamp != _stamp([Path(name) for name, _, _ in shelf.stamp]):
            shelf = self._shelves[path] = self._load(path, shelf)
        if shelf.agent is not None:
            return shelf.agent
        assert shelf.error is not None
        raise shelf.error

    def fresh(self, name: str) -> bool:
        """Return whether `get` would find everything as it was, and so not block."""
        path = self._path(name)
        shelf = self._shelves.get(path)
        return shelf is not None and shelf.stamp == _stamp([Path(n) for n, _, _ in shelf.stamp])

    def changed(self) -> tuple[set[str], set[str]]:
        """Look at all files: give the names there are, and those whose files have changed."""
        names = set(self.names())
        return names, {name for name in names if not self.fresh(name)}

    def problem(self, name: str) -> Exception:
        """Return what is wrong with one agent that is not there."""
        try:
            self.get(name)
        except (AgentError, UnknownAgentError) as error:
            return error
        raise AssertionError(f"{name} is in order")

    def problems(self) -> dict[str, AgentError]:
        """Read every agent, and give what is wrong by name."""
        for name in self.names():
            try:
                self.get(name)
            except AgentError:
                pass  # it is on the shelf, too
        found = {path.stem: shelf.error for path, shelf in self._shelves.items()}
        return {name: error for name, error in sorted(found.items()) if error is not None}

    def _path(self, name: str) -> Path:
        # A name may come from an address on the network: it is looked up, never joined to a path.
        for folder in self._folders:
            for path in folder.glob("*.toml"):
                if path.stem == name:
                    return path
        known = self.names()
        close = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(known)}"
        raise UnknownAgentError(f'there is no agent "{name}"{hint if known else ""}')

    def _load(self, path: Path, before: _Shelf | None) -> _Shelf:
        try:
            agent = load(path)
            self._check(agent)
        except BaseException as raised:  # fence: an agent is made of an operator's own code
            error = error_of(path, raised)
            self._report(error)
            # Whatever it was made of before is watched too: the mistake may be in a part.
            old = before.agent if before is not None else None
            watched = {path, error.file, *(old.read if old is not None else ())}
            return _Shelf(old, _stamp(sorted(watched)), error)
        return _Shelf(agent, _stamp(agent.read))


def shipped() -> Path:
    """Return the folder of the agents that come with Parley: the checkout's, else the installed."""
    checkout = Path(__file__).resolve().parents[2] / "agents"
    if checkout.is_dir():
        return checkout
    return Path(sysconfig.get_path("data")) / "share" / "parley" / "agents"


def _stamp(paths: list[Path] | tuple[Path, ...]) -> Stamp:
    return tuple(_look(path) for path in paths)


def _look(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), status.st_mtime_ns, status.st_size
