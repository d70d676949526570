"""Softphones that no one here wrote, driven from tests."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile

from tests.support.sip_answers import tone

MODULES = "/usr/lib/baresip/modules"


def wave(path: Path, pcm: bytes, rate: int = 8000) -> Path:
    """Write samples as a WAV file."""
    soundfile.write(path, np.frombuffer(pcm, dtype="<i2"), rate, subtype="PCM_16")
    return path


def loudest(sound: npt.NDArray[Any], rate: int = 8000) -> float:
    """Give the strongest frequency of a sound in hertz."""
    spectrum = np.abs(np.fft.rfft(sound.astype(np.float64) * np.hanning(len(sound))))
    return float(np.argmax(spectrum) * rate / len(sound))


def free_tcp_port() -> int:
    """Give a TCP port that is free now, and the next one too (baresip takes both)."""
    while True:
        with socket.socket() as probe, socket.socket() as next_one:
            # Far from the ports the kernel hands out, so that nobody else is given them next.
            port = 10_000 + 2 * secrets.randbelow(10_000)
            try:
                probe.bind(("127.0.0.1", port))
                next_one.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


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

    def heard(self) -> npt.NDArray[np.int16]:
        """Give what the phone heard."""
        path = max(self.folder.glob("dump*dec.wav"), key=lambda one: one.stat().st_mtime)
        sound, _ = soundfile.read(path, dtype="int16")
        return np.asarray(sound, dtype=np.int16)


@asynccontextmanager
async def baresip(
    folder: Path,
    *,
    play: bytes | None = None,
    account: str = "",
    settings: Sequence[str] = (),
    pem: Path | None = None,
) -> AsyncIterator[Baresip]:
    """Run baresip; `account` is what follows the address in its accounts file."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240  (a test may wait for the disk)
    source = wave(folder / "play.wav", play or tone(600, 60.0))
    port, control = free_tcp_port(), free_tcp_port()
    lines = [
        f"sip_listen 127.0.0.1:{port}", "net_interface 127.0.0.1",
        f"audio_source aufile,{source}", "audio_player aufile,/dev/null",
        f"module_path {MODULES}", "module g711.so", "module srtp.so", "module aufile.so",
        "module sndfile.so", "module_tmp account.so", "module_app menu.so",
        "module_app ctrl_tcp.so", f"ctrl_tcp_listen 127.0.0.1:{control}", f"snd_path {folder}",
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
    with (folder / "log.txt").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *("baresip", "-f", str(folder)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
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


@dataclass
class Linphone:
    """A running linphonec."""

    folder: Path
    _stdin: asyncio.StreamWriter

    async def type(self, line: str) -> None:
        """Type a line."""
        self._stdin.write(f"{line}\n".encode())
        await self._stdin.drain()

    async def said(self, text: str, times: int = 1, seconds: float = 15.0) -> None:
        """Wait until it has printed something so many times."""
        log = self.folder / "log.txt"
        async with asyncio.timeout(seconds):
            while log.read_text(errors="replace").count(text) < times:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    def heard(self) -> npt.NDArray[np.int16]:
        """Give what the phone heard, at its own rate of 8000."""
        sound, _ = soundfile.read(self.folder / "heard.wav", dtype="int16")
        return np.asarray(sound, dtype=np.int16)


@asynccontextmanager
async def linphone(folder: Path, *, play: bytes | None = None) -> AsyncIterator[Linphone]:
    """Run linphonec with files in place of a sound card."""
    for name in (".local/share/linphone", ".config/linphone"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    source = wave(folder / "play.wav", play or tone(600, 60.0))
    port = free_tcp_port()
    (folder / "rc").write_text(
        f"[sip]\nsip_port={port}\nsip_tcp_port=0\nsip_tls_port=0\nbind_address=127.0.0.1\n"
        'auto_net_state_mon=0\nguess_hostname=0\ncontact="bob" <sip:bob@127.0.0.1>\n'
    )
    with (folder / "log.txt").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *("linphonec", "-c", str(folder / "rc")),
            stdin=asyncio.subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )
        assert process.stdin is not None
        phone = Linphone(folder, process.stdin)
        try:
            await phone.said("linphonec>")
            await phone.type("soundcard use files")
            await phone.said("Using wav files")
            await phone.type(f"play {source}")
            await phone.type(f"record {folder / 'heard.wav'}")
            yield phone
            await phone.type("quit")
            async with asyncio.timeout(10):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            process.stdin.close()
