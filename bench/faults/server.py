"""A language model's server that fails in every way there is: `python -m bench.faults.server SEED`.

It prints the port that it listens on.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys

TOOLS = ("raises", "exits", "interrupts", "sleeps", "blocks", "floods", "answers")

SENTENCES = (
    "We are open from eight to six.",
    "The car will be ready tomorrow in the afternoon. Is that all right?",
    "I can see that here, and there is nothing to worry about.",
)

HEADERS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"

FAULTS = ("refuses", "resets", "cuts", "hangs", "pauses", "floods", "huge", "garbage", "disorder")


def event(delta: dict[str, object], finish: str | None = None) -> bytes:
    """Return one chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "model": "faulty", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


class Server:
    """Answers most requests, and fails the others, as its seed has it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request of a connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            sizes = [line for line in lines if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(sizes[0].split(b":")[1])) if sizes else b"{}"
            await self._answer(json.loads(body), writer)
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass  # who asked has left
        finally:
            writer.close()

    async def _answer(self, asked: dict[str, object], writer: asyncio.StreamWriter) -> None:
        chance = self._chance
        kind = chance.choice(FAULTS) if chance.random() < 0.4 else "well"
        if kind == "resets":
            writer.transport.abort()
            return
        if kind == "refuses":
            writer.write(b"HTTP/1.1 500 Oh no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        if kind == "hangs":
            await asyncio.sleep(30)
        writer.write(HEADERS)
        messages = asked.get("messages")
        last = messages[-1] if isinstance(messages, list) and messages else {}
        may_ask = kind == "well" and asked.get("tools") and last.get("role") == "user"
        if may_ask and chance.random() < 0.5:
            self._ask_tool(writer)
            return
        await self._speak(kind, writer)

    def _ask_tool(self, writer: asyncio.StreamWriter) -> None:
        function = {"name": self._chance.choice(TOOLS), "arguments": "{}"}
        call = {"index": 0, "id": f"call_{self._chance.getrandbits(40)}", "type": "function"}
        writer.write(event({"role": "assistant", "tool_calls": [{**call, "function": function}]}))
        writer.write(event({}, "tool_calls") + b"data: [DONE]\n\n")

    async def _speak(self, kind: str, writer: asyncio.StreamWriter) -> None:
        words = self._chance.choice(SENTENCES).split()
        if kind == "disorder":
            writer.write(event({}, "stop") + event({"role": "assistant"}))
        for number, word in enumerate(words):
            writer.write(event({"content": f"{word} "}))
            await writer.drain()
            await asyncio.sleep(0.02)
            if number == 2:
                match kind:
                    case "cuts":
                        writer.transport.abort()
                        return
                    case "pauses":
                        await asyncio.sleep(self._chance.uniform(1.0, 4.0))
                    case "huge":
                        writer.write(b"data: " + b"x" * 30_000_000 + b"\n\n")
                    case "garbage":
                        writer.write(b"data: {]\n\n\xff\xfe\x00data\n\n")
                    case "floods":
                        for _ in range(20_000):
                            writer.write(event({"content": "and so on and on "}))
                            await writer.drain()
        writer.write(event({}, "stop") + b"data: [DONE]\n\n")
        await writer.drain()


async def main(seed: int) -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(Server(seed).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
