"""What the fakes of Deepgram's protocols share: a session, and messages by the vendor's types."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection


@dataclass
class Session:
    """One connection, for tests to look at."""

    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    socket: ServerConnection
    texts: list[dict[str, Any]] = field(default_factory=list)
    sound: int = 0
    "bytes of sound received"


class Talk:
    """What the four protocols share."""

    def __init__(self, silent: Callable[[], bool], session: Session) -> None:
        self.silent = silent
        self.session = session
        self.rate = int(session.query["sample_rate"][0])
        assert session.query["encoding"] == ["linear16"]

    async def run(self) -> None:
        await self.begin()
        async for message in self.session.socket:
            if isinstance(message, bytes):
                self.session.sound += len(message)
                if not self.silent():
                    await self.heard(message)
                continue
            said = json.loads(message)
            self.session.texts.append(said)
            if said["type"] in ("CloseStream", "Close"):
                break
            if not self.silent():
                await self.told(said)
        await self.end()

    async def begin(self) -> None: ...
    async def end(self) -> None: ...
    async def heard(self, sound: bytes) -> None: ...
    async def told(self, said: dict[str, Any]) -> None: ...

    async def send(self, kind: Any, **fields: Any) -> None:
        kind.model_validate(fields)
        await self.session.socket.send(json.dumps(fields))
