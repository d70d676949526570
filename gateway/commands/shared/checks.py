"""Looks at everything `parley serve` would need, and says what will happen.

Each look is a function from settings to findings; none changes anything that stays.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gateway.config import Settings, secrets
from gateway.lines.port import Place
from gateway.lines.table import LINES
from gateway.plumbing import file_limit
from gateway.plumbing.starting import StartFailed

if TYPE_CHECKING:
    from gateway.agents.loading import Agent
    from gateway.bus.settings import BusSettings

State = Literal["good", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    about: str
    state: State
    "`note`: it works, and somebody should know; `wrong`: calls cannot be answered like this"
    said: str


def look(settings: Settings) -> Iterator[Finding]:
    """Look at everything, in the order in which it would be needed."""
    looks: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
        _models,
        _runtime,
        _agents,
        _server,
        _lines,
        _secrets,
        _turn,
        _log,
        _recording,
        _elsewhere,
        _limits,
    )
    for each in looks:
        yield from each(settings)


def _models(settings: Settings) -> Iterator[Finding]:
    from inference import list_models

    for state in list_models():
        if state.state != "present" and not state.optional:
            said = f"{state.name}: {state.file} is {state.state}; run `parley models fetch`"
            yield Finding("models", "wrong", said)
    there = dict.fromkeys(
        f"{state.name} {state.version}" for state in list_models() if state.state == "present"
    )
    if there:
        yield Finding("models", "good", f"verified: {', '.join(there)}")


def _runtime(settings: Settings) -> Iterator[Finding]:
    """Load one model as serving would, and compare what it runs on with what was wanted."""
    from inference import ModelMissing, ModelWrong, ProviderMissing, RuntimeMissing
    from inference.runtime import Runtime

    wanted = ", ".join(settings.runtime.providers)
    try:
        runtime = Runtime(settings.runtime)
        try:
            runtime.load("silero-vad")
        finally:
            runtime.close()
    except (ModelMissing, ModelWrong):
        return  # told with the models
    except (ProviderMissing, RuntimeMissing, ValueError) as error:
        yield Finding("runtime", "wrong", str(error))
        return
    for loaded in runtime.loaded:
        state: State = "note" if loaded.fell_back else "good"
        yield Finding("runtime", state, f"wanted {wanted}; models run on {', '.join(loaded.got)}")


def _agents(settings: Settings) -> Iterator[Finding]:
    from gateway.agents.library import AgentLibrary, shipped
    from gateway.agents.places import AgentError
    from gateway.process.agents import AgentRoster
    from inference.runtime import Runtime

    folder, default = settings.agents.folder, settings.agents.default
    library = AgentLibrary(folder, shipped())
    try:
        runtime = Runtime(settings.runtime)
    except (OSError, RuntimeError, ValueError):
        return  # told with the runtime
    crew = AgentRoster(settings, runtime)
    broken = library.problems()
    for error in broken.values():
        for line in str(error).splitlines():
            yield Finding("agents", "wrong", line)
    names = library.names()
    for name in names:
        if name in broken:
            continue
        try:
            agent = library.get(name)
            crew.make(agent)  # everything a call needs, as `serve` would
        except AgentError as error:
            for line in str(error).splitlines():
                yield Finding("agents", "wrong", line)
        else:
            yield Finding("agents", "good", _agent(agent, name == default))
    runtime.close()
    if not names:
        yield Finding("agents", "wrong", f"{folder} holds no agent (agents.folder)")
    elif default not in names:
        yield Finding("agents", "wrong", f"{folder} has no {default}.toml (agents.default)")


def _agent(agent: Agent, default: bool) -> str:
    """Return who answers with what."""
    backend = agent.file.backend
    parts: list[str] = [backend.kind]
    if backend.kind == "cascade":
        parts += [str(part["kind"]) for part in (backend.recogniser, backend.model, backend.voice)]
    tools = len(agent.specs)
    said = f"{agent.name}: {', '.join(parts)}; {tools} tool{'' if tools == 1 else 's'}"
    return f"{said}; answers where no other is named" if default else said


def _server(settings: Settings) -> Iterator[Finding]:
    server = settings.server
    place = f"{server.host}:{server.port}"
    try:
        family = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((server.host, server.port))
    except OSError as error:
        said = f"cannot listen on {place} (server.host, server.port): {error.strerror or error}"
        yield Finding("server", "wrong", said)
        return
    said = f"will listen on {place}; after SIGTERM calls have {server.drain:g} s to finish"
    yield Finding("server", "good", said)


def _lines(settings: Settings) -> Iterator[Finding]:
    place = Place(settings.server.host, settings.server.port)
    for name, kind in LINES.items():
        chosen = settings.lines[name]
        if why := kind.off(chosen):
            yield Finding(name, "note", f"off ({why})")
            continue
        for state, said in kind.checks(chosen, place):
            yield Finding(name, state, said)


def _secrets(settings: Settings) -> Iterator[Finding]:
    known = secrets(settings)
    there = [variable for variable, value in known.items() if value]
    if there:
        yield Finding("secrets", "good", f"set in the environment: {', '.join(there)}")
    if lacking := [variable for variable, value in known.items() if not value]:
        yield Finding("secrets", "note", f"not set in the environment: {', '.join(lacking)}")


def _turn(settings: Settings) -> Iterator[Finding]:
    turn = settings.turn
    if turn.silence is not None:
        said = f"a plain timer of {turn.silence:g} s ends turns: only for comparison"
        yield Finding("turn", "note", said)
    else:
        said = f"profile {turn.profile}, voice activity by {turn.vad}"
        yield Finding("turn", "good", said)


def _log(settings: Settings) -> Iterator[Finding]:
    log = settings.log
    if log.path == "-":
        yield Finding("log", "good", "calls are logged to standard output")
    elif problem := unwritable(Path(log.path).parent):
        yield Finding("log", "wrong", f"{problem} (log.path)")
    else:
        yield Finding("log", "good", f"calls are logged to {log.path}")
    hidden = {"none": "in full", "partial": "with digits hidden", "full": "not at all"}
    yield Finding("log", "good", f"personal data is written {hidden[log.mask]} (log.mask)")


def _recording(settings: Settings) -> Iterator[Finding]:
    recording = settings.recording
    if not recording.enabled:
        yield Finding("recording", "good", "calls are not recorded")
    elif problem := unwritable(recording.folder):
        yield Finding("recording", "wrong", f"{problem} (recording.folder)")
    else:
        yield Finding("recording", "good", f"calls are recorded to {recording.folder}")


def _elsewhere(settings: Settings) -> Iterator[Finding]:
    """Look at whoever else is to get the events of calls."""
    from gateway.observe.vocabulary import EVENTS, event_name

    known = tuple(map(event_name, EVENTS))
    if problem := settings.webhooks.problem(known):
        yield Finding("webhooks", "wrong", problem)
    if problem := settings.bus.problem(known):
        yield Finding("bus", "wrong", problem)
    elif settings.bus.url:
        yield from _bus(settings.bus)


def _bus(chosen: BusSettings) -> Iterator[Finding]:
    try:
        from gateway.bus.client import reached
    except ImportError:
        yield Finding("bus", "wrong", "NATS' client is not here; install parley[bus]")
        return
    try:
        yield Finding("bus", "good", f"{reached(chosen)} answers, with JetStream")
    except (OSError, ValueError) as error:
        yield Finding("bus", "note", f"{error}; calls go on, and events wait on the disk")


def _limits(settings: Settings) -> Iterator[Finding]:
    calls = settings.limits.calls
    try:
        file_limit.check(calls)
    except StartFailed as error:
        yield Finding("limits", "wrong", str(error))
    else:
        yield Finding("limits", "good", f"at most {calls} calls at once")


def unwritable(folder: Path) -> str:
    """Return why nothing could be written to a folder, which may have to be made; empty: it can."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        return f"{there} is no folder"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written"
