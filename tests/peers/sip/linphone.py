"""linphonec without a sound card, driven through its prompt."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from tests.peers.sip.phones import KEY_SECONDS, free_tcp_port, wave
from tests.support.sip_answers import tone

STREAMS = "Media streams established"


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
        async with asyncio.timeout(seconds):
            while self._count(text) < times:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    def _count(self, text: str) -> int:
        return (self.folder / "log.txt").read_text(errors="replace").count(text)

    # --- as every phone

    async def call(self, uri: str) -> None:
        """Call, and wait for the answer."""
        await self.type(f"call {uri}")
        await self.said(STREAMS, seconds=5.0)

    async def say(self, sound: Path) -> None:
        """Play a file into the call from now on, in the place of what was being played."""
        await self.type(f"play {sound}")

    async def press(self, key: str) -> None:
        """Press a key and let it go."""
        await self.type(key)
        await asyncio.sleep(KEY_SECONDS)

    async def hold(self) -> None:
        """Put the other side on hold."""
        await self.type("pause")
        await self.said("paused")

    async def resume(self) -> None:
        """Take the other side back; what was played last is played from its beginning."""
        before = self._count(STREAMS)
        await self.type("resume")
        await self.said(STREAMS, times=before + 1)

    async def hang_up(self) -> None:
        """End the call."""
        await self.type("terminate")

    async def hung_up_on(self) -> None:
        """Wait until the other side ended the call."""
        await self.said("ended")

    def heard(self) -> npt.NDArray[np.int16]:
        """Return what the phone heard, at its own rate of 8000."""
        sound, _ = soundfile.read(self.folder / "heard.wav", dtype="int16")
        return np.asarray(sound, dtype=np.int16)


@asynccontextmanager
async def linphone(
    folder: Path, *, play: bytes | None = None, transport: str = "udp", pem: Path | None = None
) -> AsyncIterator[Linphone]:
    """Run linphonec with files in place of a sound card; with `pem` its sound is encrypted."""
    for name in (".local/share/linphone", ".config/linphone"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    source = wave(folder / "play.wav", play or tone(600, 60.0))
    # 0 switches a transport off, -1 is any free port.
    ports = {"udp": 0, "tcp": 0, "tls": 0, transport: free_tcp_port() if transport == "udp" else -1}
    secure = f"root_ca={pem}\nmedia_encryption=srtp\nmedia_encryption_mandatory=1\n" if pem else ""
    (folder / "rc").write_text(
        "[sip]\n"
        + "".join(f"sip_{name}port={port}\n" for name, port in _named(ports))
        + f"bind_address=127.0.0.1\n{secure}"
        'auto_net_state_mon=0\nguess_hostname=0\ncontact="bob" <sip:bob@127.0.0.1>\n'
        # Without its own, every linphone takes 7078, and one hears what is meant for another.
        f"[rtp]\naudio_rtp_port={free_tcp_port()}\n"
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


def _named(ports: dict[str, int]) -> list[tuple[str, int]]:
    """Call the ports as its settings do."""
    return [("" if name == "udp" else f"{name}_", port) for name, port in ports.items()]
