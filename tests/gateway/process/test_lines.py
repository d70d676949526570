"""Lines by their port: a carrier that nobody knew is one folder and one row."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState
from websockets.asyncio.client import connect

from gateway.commands.shared.checks import look
from gateway.config import Settings, load
from gateway.lines.port import LineNeeds, Standing
from gateway.lines.sip.settings import SipSettings
from gateway.lines.table import LINES
from gateway.plumbing.starting import StartFailed
from gateway.plumbing.toml_file import TomlError
from gateway.process.lines import Lines
from tests.support.owner import DOORS
from tests.support.sip_answers import Parties, tone
from tests.support.toy_carrier import FORM, TOY, ToySettings


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """Add the carrier's row, and switch it on as an operator does."""
    monkeypatch.setitem(LINES, "toy", TOY)
    path = tmp_path / "parley.toml"
    path.write_text('[toy]\nenabled = true\nprefix = "TOY"\n')
    return load(path, {})


async def speak(_agent: str, text: str, _rate: int) -> bytes:
    return text.encode()


@asynccontextmanager
async def serving(settings: Settings, parties: Parties) -> AsyncIterator[tuple[Lines, int]]:
    """Serve the lines of some settings on a loopback port, as a process does."""
    lines, up = Lines(settings, LineNeeds(parties, "desk", DOORS, speak)), asyncio.Event()
    config = uvicorn.Config(
        Starlette(routes=lines.routes()),
        ws=lines.upgrades(),  # type: ignore[arg-type]
        lifespan="off",
        log_config=None,
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpToolsProtocol(config, state, {}), "127.0.0.1", 0)
    async with asyncio.TaskGroup() as group:
        group.create_task(lines.run(up.set))
        await up.wait()
        parties.pacer.start()
        try:
            yield lines, server.sockets[0].getsockname()[1]
        finally:
            lines.stop()
            parties.pacer.stop()
            server.close()


async def test_a_new_carrier_takes_a_call(toy: Settings) -> None:
    parties = Parties()
    said = tone(440, 0.5)
    async with serving(toy, parties) as (lines, port):
        far = connect(f"ws://127.0.0.1:{port}/toy/media", compression=None, proxy=None)
        async with far as end, httpx.AsyncClient(trust_env=False) as http:
            await end.send("start 7")
            for at in range(0, len(said), 320):
                payload = FORM.encode(said[at : at + 320])
                await end.send("media " + base64.b64encode(payload).decode())
            back = b""
            while len(back) < len(said) // 2:
                kind, _, rest = str(await end.recv()).partition(" ")
                if kind == "media":
                    back += base64.b64decode(rest)
                else:
                    await end.send(f"{kind} {rest}")
            assert back == FORM.encode(said)
            party = await parties.next()
            assert (party.leg.info.call_id, party.leg.info.agent) == ("TOY7", "desk")
            assert bytes(party.heard) == FORM.decode(FORM.encode(said))
            assert (await http.get(f"http://127.0.0.1:{port}/toy/calls")).json() == ["TOY7"]
            lines.drain()
            assert lines.standings()["toy"] == Standing("note", "draining")
            lines.stop()
            assert [left async for left in end if str(left).startswith("media")] == []
        await party.gone.wait()


def test_its_settings_and_checks_are_there_by_its_row(toy: Settings, tmp_path: Path) -> None:
    assert toy.line(ToySettings).prefix == "TOY"
    assert [(each.state, each.said) for each in look(toy) if each.about == "toy"] == [
        ("good", "toys call 127.0.0.1, as TOY")
    ]
    path = tmp_path / "wrong.toml"
    path.write_text("[toy]\nperfix = 1\n")
    with pytest.raises(TomlError, match=r"2: toy\.perfix: .* did you mean toy\.prefix\?"):
        load(path, {})


async def test_lines_that_are_off_say_by_which_setting(toy: Settings) -> None:
    off = replace(toy, lines={**toy.lines, "toy": ToySettings()})
    assert [each.said for each in look(off) if each.about == "toy"] == [
        "off (toy.enabled is false)"
    ]
    lines = Lines(off, LineNeeds(Parties(), "desk", DOORS, speak))
    standings = lines.standings()
    assert list(standings) == list(LINES)
    assert standings["toy"] == Standing("off", "toy.enabled is false")
    assert standings["sip"] == Standing("off", "sip.enabled is false")
    assert standings["webrtc"].state == standings["twilio"].state == "ready"


async def test_a_line_that_cannot_serve_keeps_the_process_from_saying_that_it_does() -> None:
    base, ready = Settings(), asyncio.Event()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        sip = SipSettings(enabled=True, host="127.0.0.1", udp=None, tcp=port)
        settings = replace(base, lines={**base.lines, "sip": sip})
        lines = Lines(settings, LineNeeds(Parties(), "desk", DOORS, speak))
        with pytest.RaisesGroup(StartFailed, flatten_subgroups=True):
            await lines.run(ready.set)
    assert not ready.is_set()
