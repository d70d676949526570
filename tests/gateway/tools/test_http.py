"""Tools that are requests: what is sent, what an answer is, and how often it is asked."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from gateway.events import CallInfo, Json
from gateway.plumbing.trace_context import traceparent
from gateway.plumbing.virtual_time import run as in_virtual_time
from gateway.ports import ToolSpec
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.endpoints import HttpEndpoint
from gateway.tools.http import LIMIT, HttpTool
from gateway.tools.store import Store

CONTEXT = ToolContext(CallInfo("c1", "test", "a"), datetime(2025, 12, 2, tzinfo=UTC), key="k1")
READ = ToolSpec("look", "", {})
WRITE = ToolSpec("send", "", {}, effect="write")

Answer = Callable[[httpx.Request], httpx.Response]


BY_ID = {"type": "object", "properties": {"id": {"type": "string"}}}
POST = HttpEndpoint("https://example.com/look", "POST")


class Server:
    """Answers requests as a test says, and keeps them."""

    def __init__(self, *answers: Answer | httpx.Response) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        return answer if isinstance(answer, httpx.Response) else answer(request)


def ask(
    server: Server,
    folder: Path,
    arguments: Json,
    spec: ToolSpec = READ,
    retries: int = 0,
    endpoint: HttpEndpoint | None = None,
) -> Json:
    async def asked() -> Json:
        client = httpx.AsyncClient(transport=httpx.MockTransport(server))
        where = endpoint or HttpEndpoint("https://example.com/look")
        tool = HttpTool(spec, where, retries, client)
        try:
            return await tool.run(arguments, CONTEXT, Store(folder / "h.sqlite"))
        finally:
            await tool.close()

    return in_virtual_time(asked())


def unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def cut_off(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("cut", request=request)


def test_arguments_go_into_the_address_and_the_query(tmp_path: Path) -> None:
    server = Server(httpx.Response(200, json={"ok": True}))
    where = HttpEndpoint("https://example.com/cars/{id}", parameters=BY_ID)
    assert ask(server, tmp_path, {"id": "a/b", "full": True}, endpoint=where) == {"ok": True}
    assert str(server.requests[0].url) == "https://example.com/cars/a%2Fb?full=true"


@pytest.mark.parametrize("spec", [READ, WRITE], ids=["read", "write"])
def test_the_call_s_trace_goes_along(tmp_path: Path, spec: ToolSpec) -> None:
    server = Server(httpx.Response(200, json={}))
    ask(server, tmp_path, {}, spec)
    assert server.requests[0].headers["traceparent"] == traceparent("c1")["traceparent"]


def test_a_body_is_json_and_secrets_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    server = Server(httpx.Response(200, json=[1, 2]))
    headers = {"Authorization": "Bearer $SHOP_TOKEN", "X-Plain": "a $"}
    where = HttpEndpoint("https://example.com", "POST", {"Authorization": headers["Authorization"]})
    assert ask(server, tmp_path, {"a": 1}, endpoint=where) == {"result": [1, 2]}
    (request,) = server.requests
    assert json.loads(request.content) == {"a": 1}
    assert request.headers["authorization"] == "Bearer s3cret"


def test_a_missing_secret_is_named() -> None:
    where = HttpEndpoint("https://example.com", headers={"X-Key": "$NO_SUCH_VARIABLE"})
    with pytest.raises(ValueError, match="NO_SUCH_VARIABLE"):
        HttpTool(READ, where)


def test_text_is_a_result_and_errors_are_failures(tmp_path: Path) -> None:
    assert ask(Server(httpx.Response(200, text="sunny")), tmp_path, {}) == {"result": "sunny"}
    with pytest.raises(ToolFailed) as failed:
        ask(Server(httpx.Response(404, text="no such car")), tmp_path, {})
    assert (failed.value.code, failed.value.message) == ("http_404", "no such car")
    with pytest.raises(ToolFailed) as failed:
        ask(Server(httpx.Response(200, text="x" * (LIMIT + 1))), tmp_path, {})
    assert failed.value.code == "too_large"
    with pytest.raises(ToolFailed) as failed:
        ask(
            Server(),
            tmp_path,
            {},
            endpoint=HttpEndpoint("https://example.com/{id}", parameters=BY_ID),
        )
    assert failed.value.message == "missing: id"


def test_an_answer_that_is_compressed_against_the_wish_is_refused(tmp_path: Path) -> None:
    def bomb(request: httpx.Request) -> httpx.Response:
        assert request.headers["accept-encoding"] == "identity"
        body = gzip.compress(bytes(10_000_000))
        return httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Body(body))

    with pytest.raises(ToolFailed) as failed:
        ask(Server(bomb), tmp_path, {})
    assert failed.value.code == "compressed"


class Body(httpx.AsyncByteStream):
    """A body as it comes over the wire."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def test_a_read_is_tried_again_as_often_as_it_may(tmp_path: Path) -> None:
    server = Server(unreachable, httpx.Response(503), httpx.Response(200, json={"n": 3}))
    assert ask(server, tmp_path, {}, retries=2) == {"n": 3}
    server = Server(unreachable)
    with pytest.raises(ToolFailed, match="ConnectError"):
        ask(server, tmp_path, {}, retries=1)
    assert len(server.requests) == 2


def test_a_write_carries_its_key_and_is_sent_once(tmp_path: Path) -> None:
    server = Server(httpx.Response(200, json={"id": 7}))
    assert ask(server, tmp_path, {}, WRITE, retries=3) == {"id": 7}
    assert ask(server, tmp_path, {}, WRITE, retries=3) == {"id": 7, "repeated": True}
    assert [request.headers["idempotency-key"] for request in server.requests] == ["k1"]


@pytest.mark.parametrize("first", [unreachable, httpx.Response(409, text="taken")])
def test_a_write_that_was_not_done_may_be_sent_again(tmp_path: Path, first: Answer) -> None:
    with pytest.raises(ToolFailed):
        ask(Server(first), tmp_path, {}, WRITE)
    assert ask(Server(httpx.Response(200, json={"id": 7})), tmp_path, {}, WRITE) == {"id": 7}


@pytest.mark.parametrize("first", [cut_off, httpx.Response(500)])
def test_a_write_of_which_nothing_is_known_is_not_sent_again(tmp_path: Path, first: Answer) -> None:
    with pytest.raises(ToolFailed):
        ask(Server(first), tmp_path, {}, WRITE)
    second = Server(httpx.Response(200))
    with pytest.raises(ToolFailed) as failed:
        ask(second, tmp_path, {}, WRITE)
    assert failed.value.code == "uncertain"
    assert second.requests == []


def moved(to: str, status: int = 302) -> httpx.Response:
    return httpx.Response(status, headers={"Location": to})


@pytest.mark.parametrize("to", ["/orders/", "https://example.com/other"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirected_write_is_made_where_the_server_has_moved(
    tmp_path: Path, to: str, status: int
) -> None:
    server = Server(moved(to, status), httpx.Response(200, json={"id": 7}))
    assert ask(server, tmp_path, {"n": 1}, WRITE, endpoint=POST) == {"id": 7}
    first, second = server.requests
    assert (second.method, second.content) == (first.method, first.content) == ("POST", b'{"n":1}')
    assert second.headers["idempotency-key"] == "k1"
    assert second.headers["content-type"] == "application/json"


def test_a_write_is_followed_from_http_to_https_and_nowhere_else(tmp_path: Path) -> None:
    plain = HttpEndpoint("http://example.com/look", "POST")
    server = Server(moved("https://example.com/look"), httpx.Response(200, json={"id": 7}))
    assert ask(server, tmp_path, {}, WRITE, endpoint=plain) == {"id": 7}
    for to in ("https://evil.example/look", "http://example.com:81/look", "ftp://example.com/"):
        server = Server(moved(to), httpx.Response(200, json={"id": 7}))
        with pytest.raises(ToolFailed) as failed:
            ask(server, tmp_path / to[:8], {}, WRITE, endpoint=plain)
        assert failed.value.code == "redirected"
        assert len(server.requests) == 1


def test_see_other_is_looked_at_and_a_circle_has_an_end(tmp_path: Path) -> None:
    server = Server(moved("/orders/7", 303), httpx.Response(200, json={"id": 7}))
    assert ask(server, tmp_path, {}, WRITE, endpoint=POST) == {"id": 7}
    assert [request.method for request in server.requests] == ["POST", "GET"]
    with pytest.raises(ToolFailed, match="on and on"):
        ask(Server(moved("/look")), tmp_path / "b", {}, WRITE, endpoint=POST)


def test_a_write_answered_at_too_great_length_is_uncertain(tmp_path: Path) -> None:
    with pytest.raises(Uncertain):
        ask(Server(httpx.Response(200, text="x" * (LIMIT + 1))), tmp_path, {}, WRITE)
    assert [deed.name for deed in Store(tmp_path / "h.sqlite").open_deeds()] == [WRITE.name]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"id": 7}, "id: 7 is not of type 'string'"),
        ({"id": ""}, "missing: id"),
        ({"id": ".."}, "dots alone"),
        ({"id": "."}, "dots alone"),
        ({"id": "1", "more": 1}, "Additional properties are not allowed"),
    ],
)
def test_arguments_are_checked_before_anything_is_sent(
    tmp_path: Path, arguments: Json, said: str
) -> None:
    strict = {**BY_ID, "additionalProperties": False}
    server = Server(httpx.Response(200))
    where = HttpEndpoint("https://example.com/cars/{id}", parameters=strict)
    with pytest.raises(ToolFailed) as failed:
        ask(server, tmp_path, arguments, endpoint=where)
    assert failed.value.code == "bad_arguments"
    assert said in failed.value.message
    assert server.requests == []


@pytest.mark.real_time
async def test_over_a_real_socket(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\n{"a": 1}')
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    tool = HttpTool(READ, HttpEndpoint(f"http://127.0.0.1:{port}/"))
    async with server:
        result = await tool.run({}, CONTEXT, Store(tmp_path / "h.sqlite"))
    await tool.close()
    got = result
    assert got == {"a": 1}
