"""A model of one's own behind a phone number: this one repeats each turn back to the caller.

Run it with `python deploy/examples/bridge_model.py`, and point an agent at ws://127.0.0.1:9000.
Replace `answer` by your model; `docs/bridge.md` describes the messages.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from collections.abc import AsyncIterator

from websockets.asyncio.server import ServerConnection, serve

CHUNK = 800
"""Samples in a message: 0.1 s on a telephone line."""


async def answer(heard: bytes, width: int) -> AsyncIterator[bytes]:
    """Return the sound of a reply, in pieces, as fast as it can be made."""
    for begin in range(0, len(heard), CHUNK * width):
        yield heard[begin : begin + CHUNK * width]
        await asyncio.sleep(0)


class Call:
    """One call: one WebSocket."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.sound = bytearray()
        self.width = 1
        self.reply: asyncio.Task[None] | None = None

    async def say(self, kind: str, **fields: object) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            async for message in self.socket:
                if isinstance(message, bytes):
                    self.sound += message  # the caller's stream, from its first sample
                    continue
                event = json.loads(message)
                match event["type"]:
                    case "start":
                        self.width = 2 if event["codec"] == "l16" else 1
                        await self.say("ready")
                    case "respond":
                        self.reply = group.create_task(self.respond(event))
                    case "cancel" if self.reply is not None:
                        self.reply.cancel()
                    case "truncate":
                        print("heard", event["heard_seconds"], "s of utterance", event["utterance"])
                    case "end":
                        break

    async def respond(self, event: dict[str, int]) -> None:
        reply, utterance = event["reply"], event["utterance"]
        heard = bytes(self.sound[event["start"] * self.width : event["end"] * self.width])
        await self.say("words", turn=event["turn"], text="(not transcribed)", final=True)
        async for piece in answer(heard, self.width):
            await self.socket.send(struct.pack("!II", reply, utterance) + piece)
        await self.say("utterance_end", reply=reply, utterance=utterance)
        await self.say("reply_end", reply=reply)


async def main(port: int) -> None:
    async def call(socket: ServerConnection) -> None:
        await Call(socket).run()

    async with serve(call, "127.0.0.1", port, compression=None) as server:
        print("listening on", next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 9000))
