"""baresip without a sound card, driven over its control socket."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile

from tests.peers.sip.phones import KEY_SECONDS, free_tcp_port, wave
from tests.support.sip_answers import tone

MODULES = "/usr/lib/baresip/modules"
RELEASED = "\x04"
"""What stands for letting a key go."""
RECORDED_SECONDS = 600
"""Longer than any test."""


@dataclass
class Baresip:
    """A running baresip."""

    folder: Path
    port: int
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    events: list[dict[str, Any]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def command(self, name: str, parameters: str = "") -> None:
        """Give a command."""
        text = json.dumps({"command": name, "params": parameters})
        self._writer.write(f"{len(text)}:{text},".encode())
        await self._writer.drain()

    async def listen(self) -> None:
        """Collect events until the connection ends."""
        try:
            while True:
                size = int((await self._reader.readuntil(b":"))[:-1])
                text = await self._reader.readexactly(size + 1)
                self.events.append(json.loads(text[:-1]))
                self._changed.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    async def saw(self, kind: str, seconds: float = 10.0) -> dict[str, Any]:
        """Wait for an event of a kind."""
        async with asyncio.timeout(seconds):
            while True:
                for event in self.events:
                    if event.get("type") == kind:
                        return event
                self._changed.clear()
                await self._changed.wait()

    async def printed(self, text: str) -> None:
        """Wait until it has printed something."""
        log = self.folder / "log.txt"
        async with asyncio.timeout(10):
            while text not in log.read_text(errors="replace"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    # --- as every phone

    async def call(self, uri: str) -> None:
        """Call, and wait for the answer."""
        await self.command("dial", uri)
        await self.saw("CALL_ESTABLISHED", seconds=5.0)

    async def say(self, sound: Path) -> None:
        """Play a file into the call from now on, in the place of what was being played."""
        await self.command("ausrc", f"aufile,{sound}")

    async def press(self, key: str) -> None:
        """Press a key and let it go."""
        await self.command("sndcode", key)
        await asyncio.sleep(KEY_SECONDS)
        await self.command("sndcode", RELEASED)

    async def hold(self) -> None:
        """Put the other side on hold."""
        await self.command("hold")

    async def resume(self) -> None:
        """Take the other side back."""
        await self.command("resume")

    async def hang_up(self) -> None:
        """End the call."""
        await self.command("hangup")

    async def hung_up_on(self) -> None:
        """Wait until the other side ended the call."""
        await self.saw("CALL_CLOSED")

    def heard(self) -> npt.NDArray[np.int16]:
        """Return what the phone heard, as it recorded it itself."""
        parts = sorted(self.folder.glob("dump*dec.wav"))
        return np.concatenate([soundfile.read(part, dtype="int16")[0] for part in parts])


def record_only_what_is_heard(folder: Path) -> None:
    """Keep the recorder from recording what is said, by folders where its files would be.

    A hold takes the filters of what is heard out of a call, and they come back only where there
    is none of what is said either (baresip 1.0.0, its issue 1496).
    The recorder names its files by the second.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    for seconds in range(RECORDED_SECONDS):
        second = (now + timedelta(seconds=seconds)).strftime("%Y-%m-%d-%H-%M-%S")
        (folder / f"dump-{second}-enc.wav").mkdir()


@asynccontextmanager
async def baresip(
    folder: Path,
    *,
    play: bytes | None = None,
    sound: tuple[int, int] = (8000, 1),
    account: str = "",
    settings: Sequence[str] = (),
    pem: Path | None = None,
) -> AsyncIterator[Baresip]:
    """Run baresip; `account` is what follows the address in its accounts file, `sound` the rate and
    the channels of what it plays, which must be its codec's."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240  (a test may wait for the disk)
    source = wave(folder / "play.wav", play or tone(600, 60.0, sound[0]), *sound)
    port, control = free_tcp_port(), free_tcp_port()
    lines = [
        f"sip_listen 127.0.0.1:{port}", "net_interface 127.0.0.1",
        f"audio_source aufile,{source}", "audio_player aufile,/dev/null",
        f"module_path {MODULES}", "module g711.so", "module srtp.so", "module aufile.so",
        "module sndfile.so", "module_tmp account.so", "module_app menu.so",
        "module_app ctrl_tcp.so", f"ctrl_tcp_listen 127.0.0.1:{control}", "snd_path .",
        *settings,
    ]  # fmt: skip
    if pem is not None:
        lines += [f"sip_certificate {pem}", f"sip_cafile {pem}"]
    (folder / "config").write_text("\n".join(lines) + "\n")
    (folder / "contacts").touch()
    parameters = account or ";regint=0;audio_codecs=PCMU/8000/1"
    if not parameters.startswith("<"):
        parameters = f"<sip:alice@127.0.0.1:{port}>{parameters}"
    (folder / "accounts").write_text(parameters + "\n")
    record_only_what_is_heard(folder)
    with (folder / "log.txt").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *("baresip", "-f", str(folder)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,  # its recorder's paths have room for 127 bytes
            env={**os.environ, "TZ": "UTC0"},
        )
        try:
            reader, writer = await _connected(control)
            try:
                phone = Baresip(folder, port, reader, writer)
                async with asyncio.TaskGroup() as group:
                    task = group.create_task(phone.listen())
                    yield phone
                    task.cancel()
            finally:
                writer.close()
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await asyncio.sleep(0)  # the connection notices


async def _connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect as soon as somebody listens."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
