"""Asks everything that agents need outside this process, as a call would, and says what it took.

A model is asked for a word, a voice for a sound, a recogniser for the words of a short tone, an MCP
server for its tools. An HTTP tool is not used: its server is asked what it allows, no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

import httpx
import numpy as np

from gateway.agents.format import BackendChoice
from gateway.agents.loading import Agent
from gateway.agents.places import AgentError
from gateway.agents.servers import ToolServers
from gateway.backends.cascade.choices.race import Table, chain
from gateway.backends.cascade.parts import PartMaker
from gateway.backends.cascade.ports import ModelRequest
from gateway.commands.shared.checks import Finding
from gateway.events import Entry
from gateway.plumbing.fence import is_stop
from gateway.plumbing.wire_json import parse
from inference.errors import as_error, in_words
from media.frame import AudioFrame

SECONDS = 10.0
"""How long each may take: more than a caller would wait for any of them."""

OWN = ("scripted", "moonshine", "hibari")
"""Kinds that run in the gateway itself, which `parley check` looks at anyway."""

RATE = 8000
FRAME = RATE // 50


@dataclass(frozen=True, slots=True)
class _Question:
    """One thing that is asked."""

    agent: Agent
    path: str
    "where in the agent's file it stands"
    what: str
    ask: Callable[[], Awaitable[str]]
    "gives what is to be known beside that it answers; empty: nothing"


async def ask_all(
    agents: list[Agent], environment: Mapping[str, str], seconds: float = SECONDS
) -> list[Finding]:
    """Ask everything at once; a finding each, in the order of the agents' files."""
    servers = ToolServers()
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(servers.run())
        await asyncio.sleep(0)  # it is running before it is asked
        asked = [each for agent in agents for each in _questions(agent, environment)]
        answers = [group.create_task(_answer(each, seconds)) for each in asked]
        tools = [group.create_task(_tools(servers, agent, seconds)) for agent in agents]
        found = [await each for each in answers]
        found += [finding for each in tools for finding in await each]
        serving.cancel()
    return found


async def _answer(question: _Question, seconds: float) -> Finding:
    now = asyncio.get_running_loop().time
    began = now()
    try:
        async with asyncio.timeout(seconds):
            known = await question.ask()
    except AgentError as error:
        return Finding("live", "wrong", str(error))
    except TimeoutError as late:
        return _wrong(question, str(late) or f"no answer in {seconds:g} s")
    except BaseException as error:  # fence: whatever a server makes a library raise is its answer
        if is_stop(error):
            raise
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return _wrong(question, in_words(as_error(error)))
    said = f"{question.agent.name}: {question.what} answered in {now() - began:.2f} s"
    return Finding("live", "note" if known else "good", f"{said}; {known}" if known else said)


def _wrong(question: _Question, said: str) -> Finding:
    line = question.agent.source.line(question.path)
    place = f"{question.agent.path}:{line}: {question.path}"
    return Finding("live", "wrong", f"{place}: {question.what}: {said}")


def _questions(agent: Agent, environment: Mapping[str, str]) -> Iterator[_Question]:
    choices = {"backend": agent.file.backend}
    choices |= {f"backends.{name}": each for name, each in agent.file.backends.items()}
    for place, choice in choices.items():
        if choice.kind == "cascade":
            yield from _parts(agent, environment, choice, place)
    for at, tool in enumerate(agent.file.tools):
        if tool.http is not None:
            address = urlsplit(tool.http.url.partition("{")[0])
            origin = f"{address.scheme}://{address.netloc}/"
            what = f"{tool.name} at {address.netloc}"
            yield _Question(agent, f"tools[{at}].http", what, partial(_reach, origin))


def _parts(
    agent: Agent, environment: Mapping[str, str], choice: BackendChoice, place: str
) -> Iterator[_Question]:
    """List what a cascade and its second choices are made of, each server for itself."""
    nobody: Any = None
    parts = PartMaker(agent, environment, nobody, nobody, nobody)
    for table, path in _hosted(choice.recogniser, f"{place}.recogniser"):
        said = f"recogniser {table['kind']}"
        yield _Question(agent, path, said, partial(_hear, parts, table, path))
    for table, path in _hosted(choice.model, f"{place}.model"):
        for one in _replicas(table):
            where = ", ".join(one.get("urls", ())) or "its usual address"
            said = f"model {one.get('model', '')} at {where}"
            yield _Question(agent, path, said, partial(_think, parts, one, path))
    for table, path in _hosted(choice.voice, f"{place}.voice"):
        said = f"voice {table['kind']}"
        yield _Question(agent, path, said, partial(_speak, parts, table, path))


def _hosted(table: Table, path: str) -> Iterator[tuple[Table, str]]:
    """List a part and its second choices, but those that run in the gateway itself."""
    return (each for each in chain(table, path) if each[0].get("kind") not in OWN)


def _replicas(table: Table) -> list[Table]:
    urls = table.get("urls")
    return [{**table, "urls": [url]} for url in urls] if isinstance(urls, list) else [table]


async def _think(parts: PartMaker, table: Table, path: str) -> str:
    """Ask for a word."""
    model = parts.model(table, path)
    request = ModelRequest("check", "Answer with one word.", (Entry("caller", "Hello."),))
    async with _let_go(model), aclosing(model.stream(request)) as events:
        if await anext(events, None) is None:
            raise OSError("the answer is empty")
    return await _shutdown(table, parts.environment)


async def _shutdown(table: Table, environment: Mapping[str, str]) -> str:
    """Return until when a model can be had, where its server says so in its list."""
    url = next(iter(table.get("urls", ())), "https://api.openai.com/v1")
    key = environment.get(str(table.get("api_key_env", "")), "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(headers=headers) as client:
            models = parse((await client.get(f"{url}/models")).content)["data"]
        ends = {each["id"]: each.get("shutdown_date") for each in models}
    except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError):
        return ""  # many servers have no such list
    end = ends.get(table["model"])
    return f"it will be shut down on {end}" if end else ""


async def _speak(parts: PartMaker, table: Table, path: str) -> str:
    """Ask for a word's sound."""
    voice = parts.voice(table, path)

    async def word() -> AsyncIterator[str]:
        yield "Hello."

    async with _let_go(voice), aclosing(voice.speak(word(), RATE)) as chunks:
        async for chunk in chunks:
            if chunk.pcm:
                return ""
    raise OSError("no sound came")


@runtime_checkable
class _Connected(Protocol):
    """A part that keeps connections."""

    async def close(self) -> None:
        """Close every connection."""


@asynccontextmanager
async def _let_go(part: object) -> AsyncIterator[None]:
    """Close a part's connections afterwards, where it keeps any."""
    try:
        yield
    finally:
        if isinstance(part, _Connected):
            await part.close()


async def _hear(parts: PartMaker, table: Table, path: str) -> str:
    """Ask for the words of a tone between silences; that there are none is an answer."""
    tone = (8000 * np.sin(np.arange(RATE) * 0.3)).astype(np.int16)
    tone[: RATE // 3] = tone[-RATE // 4 :] = 0  # what never falls silent is taken for noise
    recogniser = parts.recogniser(table, path)
    stream = recogniser.open(RATE, ())
    async with _let_go(recogniser), _let_go(stream), asyncio.TaskGroup() as group:
        serving = group.create_task(stream.serve())
        try:
            for start in range(0, RATE, FRAME):
                stream.feed(AudioFrame(tone[start : start + FRAME].tobytes(), RATE, start))
            await stream.transcribe(0, RATE, final=True)
        finally:
            serving.cancel()
    return ""


async def _reach(origin: str) -> str:
    """Ask what is allowed, which has no effect; any answer will do."""
    async with httpx.AsyncClient() as client:
        await client.options(origin)
    return ""


async def _tools(servers: ToolServers, agent: Agent, seconds: float) -> list[Finding]:
    if not agent.file.servers:
        return []
    now = asyncio.get_running_loop().time
    began = now()
    bare = replace(agent, tools={})
    whole, missing = await servers.those_there(bare, seconds)
    found = [Finding("live", "wrong", str(error)) for error in missing.values()]
    if whole.tools:
        said = f"{', '.join(whole.tools)} of its servers answered in {now() - began:.2f} s"
        found.append(Finding("live", "good", f"{agent.name}: {said}"))
    return found
