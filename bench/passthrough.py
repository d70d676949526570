"""Calls that are passed through to a speech-to-speech model: what one costs, and fifty on one core.

The gateway is pinned to one core; the callers and the model's server, a process of its own that
speaks OpenAI's Realtime protocol, have the other. Voice activity decides about turns, with a plain
silence timer behind it, so that the figure is what passing through and listening cost.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

from bench.calls.load import Load, callers_cores, measure_load

ROOT = Path(__file__).parents[1]
SPEECH = ROOT / "tests" / "data" / "speech"

CPU_MS = 3.0
"""Processor milliseconds a call and second may cost, voice activity included."""

REPLY_MS, DELTA_MS = 2000, 100
"""Length of an answer, unless it is said otherwise, and of one piece of it."""

AGENT = """
[lines]
greeting = "Hello."

[backend]
kind = "realtime"

[backend.options]
url = "{url}"
transcription_model = ""
"""


async def _session(reply_ms: int, socket: ServerConnection) -> None:
    """Answer every turn with sound, as fast as it can be sent."""
    ids = itertools.count(1)
    sound = base64.b64encode(bytes([0x30]) * (8 * DELTA_MS)).decode()

    async def send(kind: str, **fields: Any) -> None:
        await socket.send(json.dumps({"type": kind, "event_id": f"e{next(ids)}", **fields}))

    await send("session.created", session={})
    async for message in socket:
        if "input_audio_buffer.append" in str(message[:40]):
            continue
        kind = json.loads(message)["type"]
        if kind == "session.update":
            await send("session.updated", session={})
        elif kind == "input_audio_buffer.commit":
            await send("input_audio_buffer.committed", item_id=f"u{next(ids)}")
        elif kind == "response.create":
            response, item = f"r{next(ids)}", f"i{next(ids)}"
            await send("response.created", response={"id": response})
            at = {"response_id": response, "item_id": item}
            added = {"id": item, "type": "message"}
            await send("response.output_item.added", response_id=response, item=added)
            for _ in range(reply_ms // DELTA_MS):
                await send("response.output_audio.delta", delta=sound, **at)
            await send("response.output_audio.done", **at)
            await send("response.done", response={"id": response, "status": "completed"})


async def _serve(reply_ms: int) -> None:
    async with serve(partial(_session, reply_ms), "127.0.0.1", 0, compression=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.Event().wait()


@contextmanager
def model_server(reply_ms: int = REPLY_MS) -> Iterator[tuple[str, int]]:
    """Run the model's server; give its address and its process."""
    cores = ",".join(map(str, sorted(callers_cores())))
    command = ["taskset", "-c", cores, sys.executable, "-m", "bench.passthrough"]
    command += ["--serve", str(reply_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield f"ws://127.0.0.1:{int(process.stdout.readline())}/v1/realtime", process.pid
        finally:
            process.terminate()


def measure(calls: int, seconds: float) -> Load:
    """Hold the calls."""
    with model_server() as (url, _), tempfile.TemporaryDirectory(prefix="parley-") as folder:
        (Path(folder) / "model.toml").write_text(AGENT.format(url=url))
        others = {
            "agents": {"folder": folder, "default": "model", "data": f"{folder}/data"},
            "turn": {"silence": 0.6},
        }
        return asyncio.run(measure_load(SPEECH, ["complete"], calls, seconds, others=others))


def main() -> int:
    """Print what was measured; the exit status says whether it holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--serve", type=int, metavar="MS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(options.serve))
        return 0
    os.environ.setdefault("OPENAI_API_KEY", "none")
    found = measure(options.calls, options.seconds)
    cost = 1000 * (found.own + found.models)
    print(f"calls at once, held              {found.calls}, {found.held}")
    print(f"turns, answered                  {found.turns}, {found.answered}")
    print(f"processor ms per call and second {cost:.2f} (at most {CPU_MS:.0f})")
    for name, spent in sorted(found.threads.items(), key=lambda each: -each[1]):
        print(f"  {name:<30} {1000 * spent:.2f}")
    print(f"late ticks                       {found.late_ticks} of {found.ticks}")
    print(f"late frames at the far end       {found.late_frames} of {found.frames}")
    print(f"missing frames                   {found.missing_frames}")
    print(f"first sound to the caller's ear  {1000 * found.to_the_ear:.0f} ms in 95 % of turns")
    wrong = [each for each in found.problems() if "per call and second" not in each]
    if cost > CPU_MS:
        wrong.append(f"{cost:.2f} ms per call and second")
    for each in wrong:
        print(f"does not hold: {each}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
