"""`parley check --live`: what a call would stumble over is found before one comes."""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.agents.loading import load
from gateway.agents.places import AgentError
from gateway.commands.shared.checks import Finding
from gateway.commands.shared.live_checks import ask_all
from tests.support.certificates import certificate
from tests.support.http_server import Exchange, HttpServer

pytestmark = pytest.mark.real_time

KEY = "right"

SCRIPT = 'start = "a"\nafter = "a"\nlost = "a"\n[slots]\n[tasks.a]\n'


async def _vendor(exchange: Exchange) -> None:
    """Answer as a vendor does that knows one key, one model and one voice."""
    path, headers = exchange.request.path, exchange.request.headers
    assert not path.endswith("/orders"), "a tool was used"
    if path == "/v1/models":
        await exchange.answer(200, {"data": [{"id": "m", "shutdown_date": "2027-02-26"}]})
    elif headers.get("authorization") != f"Bearer {KEY}":
        await exchange.answer(401, {"error": {"message": "Incorrect API key"}})
    elif path == "/v1/audio/speech":
        if exchange.request.json()["voice"] != "v":
            await exchange.answer(400, {"error": {"message": "no such voice"}})
        else:
            await exchange.answer(200, b"\1\0" * 4800)
    elif path == "/v1/audio/transcriptions" and b"words" in exchange.request.body:
        await exchange.answer(200, {"text": ""})
    elif path == "/v1/audio/transcriptions":
        await exchange.answer(403, {"error": {"message": "not in your plan"}})
    elif path == "/v1/chat/completions" and exchange.request.json()["model"] != "m":
        await exchange.answer(404, {"error": {"message": "The model does not exist"}})
    elif path == "/v1/chat/completions":
        await exchange.begin()
        delta = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}
        base = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        await exchange.event({**base, "choices": [delta]})
        await exchange.event("[DONE]")
        await exchange.end()
    else:
        await exchange.answer(404)


@asynccontextmanager
async def odd(folder: Path) -> AsyncIterator[dict[str, str]]:
    """Serve beside it one that never answers, and one whose certificate nobody signed."""

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    async with (
        HttpServer(_vendor).serving() as vendor,
        await asyncio.start_server(never, "127.0.0.1", 0) as silent,
        await asyncio.start_server(never, "127.0.0.1", 0, ssl=context) as unsigned,
    ):
        ports = [each.sockets[0].getsockname()[1] for each in (silent, unsigned)]
        yield {
            "url": f"{vendor.url}/v1",
            "wrong": f"{vendor.url}/v9",
            "silent": f"http://127.0.0.1:{ports[0]}",
            "unsigned": f"https://127.0.0.1:{ports[1]}",
            "python": sys.executable,
        }


async def asked(folder: Path, text: str, seconds: float = 5.0) -> list[Finding]:
    async with odd(folder) as places:
        for name, place in places.items():
            text = text.replace(f"<{name}>", place)
        path = folder / "shop.toml"
        path.write_text(text)
        return await ask_all([load(path)], {"KEY": KEY, "OTHER": "wrong"}, seconds)


def model(url: str = "<url>", name: str = "m", key: str = "KEY") -> str:
    return (
        f'[backend]\nmodel = {{ kind = "openai", model = "{name}", urls = ["{url}"], '
        f'api_key_env = "{key}" }}'
    )


def part(part: str, url: str = "<url>", more: str = "") -> str:
    return (
        f'[backend]\n{part} = {{ kind = "openai", model = "m", url = "{url}", '
        f'api_key_env = "KEY"{more} }}\nmodel = {{ kind = "scripted", script = "s.toml" }}'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (model(key="OTHER"), ":2: backend.model: model m at .*401 Incorrect API key"),
        (model(url="<wrong>"), ":2: backend.model: model m at .*404"),
        (model(name="n"), ":2: backend.model: model n at .*404 The model does not exist"),
        (model(url="<unsigned>"), ":2: backend.model: .*[Cc]onnect"),
        (part("voice", more=', voice = "w"'), ":2: backend.voice: .*400 .*no such voice"),
        (part("voice", "<silent>", ', voice = "v", silent_seconds = 0.2'), "in time"),
        (part("recogniser"), ":2: backend.recogniser: .*403 .*not in your plan"),
        (
            '[[tools]]\nname = "t"\nhttp = { url = "http://nowhere.invalid/{a}", parameters = '
            '{ type = "object", properties = { a = { type = "string" } } } }',
            r":3: tools\[0\].http: t at nowhere.invalid: .*(resolution|known|resolve)",
        ),
        (
            '[[tools]]\nmcp = "s"\n[servers.s]\ncommand = ["<python>", "-c", "raise SystemExit"]',
            r":1:.* tools\[0\]: the tool server s did not come: .",
        ),
    ],
    ids=["key", "url", "name", "tls", "voice", "time", "recogniser", "host", "program"],
)
async def test_a_planted_mistake_is_found(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "s.toml").write_text(SCRIPT)
    wrong = [each for each in await asked(tmp_path, text, 3.0) if each.state == "wrong"]
    assert len(wrong) == 1
    assert re.search(said, wrong[0].said), wrong[0].said


def test_an_address_with_what_is_no_parameter_needs_no_server(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text('[[tools]]\nname = "t"\nhttp = { url = "http://x.example/{part}" }')
    with pytest.raises(AgentError, match=r"\{part\} is not among the parameters"):
        load(path)


async def test_what_answers_is_said_with_its_time(tmp_path: Path) -> None:
    text = model() + '\nvoice = { kind = "openai", model = "m", voice = "v", url = "<url>", '
    text += 'api_key_env = "KEY" }\n[[tools]]\nname = "t"\nhttp = { url = "<url>/orders" }'
    found = await asked(tmp_path, text)
    assert [each.state for each in found] == ["note", "good", "good"]
    assert "it will be shut down on 2027-02-26" in found[0].said
    assert all(re.search(r" answered in \d+\.\d\d s", each.said) for each in found)


async def test_each_replica_is_asked(tmp_path: Path) -> None:
    found = await asked(
        tmp_path, model().replace('["<url>"]', '["<url>", "http://127.0.0.1:9/v1"]')
    )
    assert [each.state for each in found] == ["note", "wrong"]


async def test_a_recogniser_without_words_for_a_tone_is_there(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCRIPT)
    found = await asked(tmp_path, part("recogniser").replace('"m"', '"words"'))
    assert [each.state for each in found] == ["good"]
