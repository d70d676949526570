"""The examples of deploy/proxy, run for real in front of a gateway of two processes."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import websockets
from twilio.request_validator import RequestValidator

from bench.calls.gateway_process import ROOT, GatewayProcess, gateway
from tests.peers.sip.phones import free_tcp_port
from tests.support.certificates import certificate
from tests.support.peers import is_up, requires_program

pytestmark = [pytest.mark.live, pytest.mark.real_time]

EXAMPLES = ROOT / "deploy/proxy"
TWILIO = "twilio's token"
SITE_KEY = "the site's own key of some length"
NAME = "voice.example.com"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GatewayProcess, int]]:
    """Run a gateway, and choose the port of the proxy, which its settings name."""
    port, folder = free_tcp_port(), tmp_path_factory.mktemp("gateway")
    public = f"https://localhost:{port}"
    sections = {
        "server": {"port": 0, "processes": 2},
        "twilio": {"public_url": public},
        "webrtc": {"origins": [public], "addresses": ["127.0.0.1"]},
        "sip": {"enabled": True, "host": "127.0.0.1", "udp": 0, "tcp": 0, "dial": ["*"]},
    }
    secrets = {"TWILIO_AUTH_TOKEN": TWILIO, "PARLEY_API_KEY": SITE_KEY}
    with gateway(sections, folder=folder, environment=secrets) as process:
        yield process, port


def nginx(folder: Path, text: str, pem: Path, port: int) -> list[str]:
    text = text.replace("listen 443", f"listen {port}").replace(f"{NAME};", "localhost;")
    text = text.replace("/etc/ssl/parley/fullchain.pem", str(pem))
    text = text.replace("/etc/ssl/parley/privkey.pem", str(pem))
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; worker_processes 1; pid {folder}/pid; error_log stderr;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary} {text} }}\n"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def haproxy(folder: Path, text: str, pem: Path, port: int) -> list[str]:
    text = text.replace("bind :443", f"bind 127.0.0.1:{port}").replace(NAME, "localhost")
    text = text.replace("/etc/ssl/parley/parley.pem", str(pem))
    (folder / "haproxy.cfg").write_text(text)
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


def caddy(folder: Path, text: str, pem: Path, port: int) -> list[str]:
    text = text.replace(f"{NAME} {{", f"https://localhost:{port} {{\n\ttls {pem} {pem}")
    head = "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n"
    (folder / "Caddyfile").write_text(head + text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


Proxy = tuple[str, Callable[[Path, str, Path, int], list[str]]]


@asynccontextmanager
async def proxied(
    proxy: Proxy, served: tuple[GatewayProcess, int], folder: Path
) -> AsyncIterator[tuple[httpx.AsyncClient, ssl.SSLContext]]:
    """Run a proxy as its example says; give who asks it, and what trusts it."""
    (example, prepare), (process, port) = proxy, served
    pem = certificate(folder)
    text = (EXAMPLES / example).read_text()
    assert "127.0.0.1:8080" in text
    upstream = process.address.removeprefix("http://")
    command = prepare(folder, text.replace("127.0.0.1:8080", upstream), pem, port)
    home = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "said").open("wb") as said:
        running = subprocess.Popen(command, stdout=said, stderr=said, env=home)  # noqa: ASYNC220
    trust = ssl.create_default_context(cafile=str(pem))
    base = f"https://localhost:{port}"
    try:
        for _ in range(200):
            if await is_up(port):
                break
            assert running.poll() is None, (folder / "said").read_text()
            await asyncio.sleep(0.05)
        async with httpx.AsyncClient(base_url=base, verify=trust, trust_env=False) as client:
            yield client, trust
    finally:
        running.terminate()
        await asyncio.to_thread(running.wait, 15)


def signed(url: str, form: dict[str, str]) -> dict[str, str]:
    return {"X-Twilio-Signature": RequestValidator(TWILIO).compute_signature(url, form)}


@requires_program("nginx")
async def test_nginx(served: tuple[GatewayProcess, int], tmp_path: Path) -> None:
    await callers_come_through_and_strangers_do_not(("nginx.conf", nginx), served, tmp_path)


@requires_program("haproxy")
async def test_haproxy(served: tuple[GatewayProcess, int], tmp_path: Path) -> None:
    await callers_come_through_and_strangers_do_not(("haproxy.cfg", haproxy), served, tmp_path)


@requires_program("caddy")
async def test_caddy(served: tuple[GatewayProcess, int], tmp_path: Path) -> None:
    await callers_come_through_and_strangers_do_not(("Caddyfile", caddy), served, tmp_path)


async def callers_come_through_and_strangers_do_not(
    proxy: Proxy, served: tuple[GatewayProcess, int], tmp_path: Path
) -> None:
    async with proxied(proxy, served, tmp_path) as (client, trust):
        base = str(client.base_url)
        await strangers(client)
        await the_page_and_the_widget(client, base)
        await twilio(client, base, trust)


async def strangers(client: httpx.AsyncClient) -> None:
    """Ask for what is not theirs, as if from inside."""
    inside = {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=::1"}
    for path in ("/metrics", "/healthz", "/readyz", "/sip/calls"):
        assert (await client.get(path, headers=inside)).status_code == 404
    for path in ("/console/calls", "/calls/list", "/webrtc/workshop/ice"):
        assert (await client.get(path, headers=inside)).status_code in (401, 403)
    form = {"CallSid": "CA1", "AccountSid": "AC1"}
    assert (await client.post("/twilio/voice", data=form, headers=inside)).status_code == 403
    assert (await client.post("/webrtc/tokens", json={})).status_code == 401


async def the_page_and_the_widget(client: httpx.AsyncClient, base: str) -> None:
    """Look at the page, and call as the widget does: with a token of the site's own server."""
    assert "<html" in (await client.get("/")).text.lower()
    widget = await client.get("/widget.js")
    assert widget.status_code == 200
    shown = {"Authorization": f"Bearer {SITE_KEY}"}
    grant = {"agent": "workshop", "origin": base.rstrip("/")}
    given = await client.post("/webrtc/tokens", json=grant, headers=shown)
    assert given.status_code == 201
    page = {"Authorization": f"Bearer {given.json()['token']}", "Origin": base.rstrip("/")}
    servers = await client.get("/webrtc/workshop/ice", headers=page)
    assert servers.status_code == 200
    assert servers.headers["Access-Control-Allow-Origin"] == base.rstrip("/")
    # The offer itself goes through too, and is judged by the gateway.
    offer = await client.post(
        "/webrtc/workshop", content="v=0", headers=page | {"Content-Type": "application/sdp"}
    )
    assert offer.status_code in (400, 422)


async def twilio(client: httpx.AsyncClient, base: str, trust: ssl.SSLContext) -> None:
    """Call as Twilio does: signed webhook, then the stream that it names, until the greeting."""
    base = base.rstrip("/")
    form = {"CallSid": "CA" + os.urandom(16).hex(), "AccountSid": "AC1", "From": "+15550100"}
    url = f"{base}/twilio/voice"
    answer = await client.post(url, data=form, headers=signed(url, form))
    assert answer.status_code == 200
    stream = answer.text.partition('url="')[2].partition('"')[0]
    token = answer.text.partition('name="token" value="')[2].partition('"')[0]
    assert stream.startswith(base.replace("https", "wss") + "/twilio/stream/")
    async with websockets.connect(
        stream, ssl=trust, additional_headers=signed(stream, {}), proxy=None
    ) as socket:
        start = {
            "streamSid": "MZ1", "callSid": form["CallSid"], "accountSid": "AC1",
            "tracks": ["inbound"], "customParameters": {"token": token},
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
        }  # fmt: skip
        connected = {"event": "connected", "protocol": "Call", "version": "1.0.0"}
        await socket.send(json.dumps(connected))
        await socket.send(
            json.dumps(
                {"event": "start", "sequenceNumber": "1", "streamSid": "MZ1", "start": start}
            )
        )
        async with asyncio.timeout(20):
            while json.loads(await socket.recv())["event"] != "media":
                pass
        await socket.send(
            json.dumps({"event": "stop", "sequenceNumber": "2", "streamSid": "MZ1", "stop": {}})
        )
