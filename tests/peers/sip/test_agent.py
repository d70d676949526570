"""Two softphones talk with the embedded agent of a whole gateway, and what they heard is words."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from tests.peers.sip.harness import needs, run
from tests.peers.sip.phones import baresip, free_tcp_port, linphone

pytestmark = [*needs("baresip", "linphonec"), pytest.mark.timeout(150)]

ROOT = Path(__file__).parents[3]
SPEECH = ROOT / "tests/data/speech/demo"


def said() -> bytes:
    """Give two turns of a recorded caller, with room for the answers."""

    def part(name: str) -> npt.NDArray[np.int16]:
        sound, rate = soundfile.read(SPEECH / f"tel_ar40_caller_{name}.flac", dtype="int16")
        assert rate == 8000
        return np.asarray(sound, dtype=np.int16)

    def pause(seconds: float) -> npt.NDArray[np.int16]:
        return np.zeros(round(8000 * seconds), dtype=np.int16)

    parts = (pause(7.0), part("light"), pause(11.0), part("tesla"), pause(40.0))
    return np.concatenate(parts).tobytes()


@dataclass
class Gateway:
    """A running `parley serve`."""

    port: int
    log: Path

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Give the call log's lines of a kind."""
        if not self.log.exists():
            return []
        every = (json.loads(line) for line in self.log.read_text().splitlines())
        return [line for line in every if line["event"] == event]

    async def wrote(self, event: str, times: int = 1, seconds: float = 60.0) -> None:
        """Wait for lines of the call log."""
        async with asyncio.timeout(seconds):
            while len(self.lines(event)) < times:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


@asynccontextmanager
async def gateway(folder: Path) -> AsyncIterator[Gateway]:
    """Serve the shipped agent over SIP."""
    port, http = free_tcp_port(), free_tcp_port()
    (folder / "parley.toml").write_text(
        f'server.port = {http}\nlog.path = "calls.jsonl"\n'
        f'[agents]\nfolder = "{ROOT / "agents"}"\n'
        f'[sip]\nenabled = true\nhost = "127.0.0.1"\nudp = {port}\ntcp = {port}\n'
        'allow = ["127.0.0.0/8"]\n'
    )
    said = folder / "serve.log"
    with said.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", "serve", "-c", str(folder / "parley.toml")),
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            async with asyncio.timeout(60):
                while '"listening"' not in said.read_text(errors="replace"):
                    assert process.returncode is None, said.read_text()
                    await asyncio.sleep(0.1)
            yield Gateway(port, folder / "calls.jsonl")
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


def words(sound: npt.NDArray[np.int16], folder: Path) -> str:
    """Recognise what a phone heard, with the gateway's own recogniser."""
    path = folder / "heard-words.wav"
    soundfile.write(path, sound[: 8000 * 25], 8000, subtype="PCM_16")
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "transcribe", "--json", str(path)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return str(json.loads(done.stdout.splitlines()[0])["text"]).lower()


def test_baresip_holds_a_conversation(tmp_path: Path) -> None:
    async def work() -> str:
        async with gateway(tmp_path) as served, baresip(tmp_path / "phone", play=said()) as phone:
            await phone.command("dial", f"sip:bot@127.0.0.1:{served.port}")
            await phone.saw("CALL_ESTABLISHED")
            await served.wrote("agent_spoke")
            await served.wrote("turn", 2)
            assert served.lines("call_started")[0]["line"] == "sip"
            await phone.command("hangup")
            await served.wrote("call_ended")
            (end,) = served.lines("call_ended")
            assert end["turns"] >= 2
            assert end["quality"]["received"] > 500
            assert end["quality"]["lost"] == 0
            heard = " ".join(line["text"] for line in served.lines("caller_spoke")).lower()
            assert "tesla" in heard
        return words(phone.heard(), tmp_path)

    assert re.search("harbor|calling|service|help", run(work))


def test_linphone_holds_a_conversation(tmp_path: Path) -> None:
    (tmp_path / "phone").mkdir()

    async def work() -> str:
        async with (
            gateway(tmp_path) as served,
            linphone(tmp_path / "phone", play=said()) as phone,
        ):
            await phone.type(f"call sip:bot@127.0.0.1:{served.port}")
            await phone.said("Media streams established")
            await served.wrote("turn", 1)
            await phone.type("terminate")
            await served.wrote("call_ended")
        return words(phone.heard(), tmp_path)

    assert re.search("harbor|calling|service|help", run(work))
