"""Tools that are requests to a web server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import quote

import httpx
from jsonschema import Draft202012Validator  # what the SDK for MCP checks with

from gateway.events import Json
from gateway.plumbing.trace_context import traceparent
from gateway.plumbing.wire_json import parse
from gateway.ports import ToolSpec
from gateway.tools.bounds import cut
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.endpoints import HttpEndpoint, with_secrets
from gateway.tools.ledger import entered
from gateway.tools.store import Store
from gateway.tools.threads import in_thread

LIMIT = 64 * 1024
"""Bytes of an answer that are read; a model on the telephone can use a few hundred."""

WRITE_SECONDS = 60.0
"""A write is waited for this long at most; the caller was told long before."""

_GAP = re.compile(r"\{(\w+)\}")

AGAIN = frozenset((429, 502, 503, 504))
"""Answers of a server that may well answer the next time."""

FIRST_PAUSE = 0.2
"""Seconds before the first retry; they double."""


REDIRECTS = 5
"""How often an address may lead on; a moved service does so once or twice."""


class TooLarge(ToolFailed):
    """An answer is longer than `LIMIT`."""


@dataclass
class HttpTool:
    """One endpoint, ready to be asked; keeps its connections until closed."""

    spec: ToolSpec
    endpoint: HttpEndpoint
    retries: int = 0
    _client: httpx.AsyncClient | None = None
    _headers: dict[str, str] = field(init=False)
    _schema: Draft202012Validator = field(init=False)

    def __post_init__(self) -> None:
        self._headers = with_secrets(self.endpoint.headers)
        self._schema = Draft202012Validator(dict(self.endpoint.parameters))
        declared = self.endpoint.parameters.get("properties", {})
        for name in _GAP.findall(self.endpoint.url):
            if name not in declared:
                raise ValueError(f"http.url: {{{name}}} is not among the parameters' properties")

    def expect(self) -> None:
        """Return at once: it is ready."""

    async def run(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Make the request; raise ToolFailed for every answer that is none."""
        if self.spec.effect == "read":
            return await self._read(arguments, traceparent(context.call.call_id))
        return await self._write(arguments, context, store)

    async def close(self) -> None:
        """Let go of the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _read(self, arguments: Json, headers: Mapping[str, str]) -> Json:
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                status, text = await self._send(arguments, headers)
            except httpx.TransportError as error:
                if last:
                    raise ToolFailed("unreachable", type(error).__name__) from None
            else:
                if last or status not in AGAIN:
                    return _answer(status, text)
            await asyncio.sleep(FIRST_PAUSE * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _write(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Make the request once; what may have happened is never tried again by itself."""
        key = {"Idempotency-Key": context.key, **traceparent(context.call.call_id)}
        return await entered(
            self.spec.name, arguments, context, store, lambda: self._written(arguments, key)
        )

    async def _written(self, arguments: Json, headers: Mapping[str, str]) -> Json:
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                status, text = await self._send(arguments, headers)
        except httpx.ConnectError as error:  # nothing was sent
            raise ToolFailed("unreachable", type(error).__name__) from None
        except (httpx.TransportError, TimeoutError):
            raise Uncertain from None
        except TooLarge:
            raise Uncertain("Its answer was too long to be read.") from None
        if status >= 500:
            raise Uncertain(f"The server broke (HTTP {status}); this may have been done.")
        return _answer(status, text)

    async def _send(self, arguments: Json, headers: Mapping[str, str]) -> tuple[int, str]:
        """Make the request, and those that it is redirected to; give the last answer."""
        if self._client is None:
            # Importing its parts and reading the certificates take a tenth of a second.
            made = await in_thread(_client)
            self._client = self._client or made
        url, rest = self._address(arguments)
        method = self.endpoint.method
        body: dict[str, Any] = {"params" if method in ("GET", "DELETE") else "json": rest}
        own = {**self._headers, **headers}
        request = self._client.build_request(method, url, headers=own, **body)
        for _ in range(REDIRECTS):
            # What a compressed answer becomes is only known once it fills the memory.
            request.headers["accept-encoding"] = "identity"
            response = await self._client.send(request, stream=True)
            try:
                if not response.has_redirect_location:
                    return response.status_code, await _text(response)
            finally:
                await response.aclose()
            request = self._redirected(request, response, own)
        raise ToolFailed("redirected", "The address leads on and on.")

    def _redirected(
        self, request: httpx.Request, response: httpx.Response, headers: Mapping[str, str]
    ) -> httpx.Request:
        """Go where an answer points: to the same server, or to the same one by https.

        What was asked is asked there again (RFC 9110, section 15.4.8); only after 303 it was done,
        and its outcome is there (15.4.4).
        """
        assert self._client is not None
        to = request.url.join(response.headers["location"])
        there = (to.host, to.port or _port(to))
        same = (to.scheme, *there) == (
            request.url.scheme,
            request.url.host,
            request.url.port or _port(request.url),
        )
        upgraded = to.scheme == "https" and to.host == request.url.host
        if not same and not upgraded:
            said = f"The address leads elsewhere (HTTP {response.status_code})."
            raise ToolFailed("redirected", said)
        if response.status_code == 303:
            return self._client.build_request("GET", to, headers=headers)
        kept = dict(headers)
        if "content-type" in request.headers:
            kept["content-type"] = request.headers["content-type"]
        content = request.content or None
        return self._client.build_request(request.method, to, headers=kept, content=content)

    def _address(self, arguments: Json) -> tuple[str, dict[str, Any]]:
        """Put arguments into the address, and give those that are left; raise ToolFailed."""
        if mistakes := sorted(self._schema.iter_errors(dict(arguments)), key=str):
            at = "/".join(str(part) for part in mistakes[0].absolute_path)
            said = f"{at}: {mistakes[0].message}" if at else mistakes[0].message
            raise ToolFailed("bad_arguments", said[:300])
        named = _GAP.findall(self.endpoint.url)
        if missing := [name for name in named if arguments.get(name) in (None, "")]:
            raise ToolFailed("bad_arguments", f"missing: {', '.join(missing)}")
        filled = _GAP.sub(lambda gap: quote(str(arguments[gap[1]]), safe=""), self.endpoint.url)
        # A dot stays a dot when it is quoted, and two of them would take the segment before away.
        if any(part in (".", "..") for part in filled.partition("://")[2].split("?")[0].split("/")):
            raise ToolFailed("bad_arguments", "an argument in the address must not be dots alone")
        return filled, {name: value for name, value in arguments.items() if name not in named}


def _client() -> httpx.AsyncClient:
    import_module("anyio._backends._asyncio")  # else the first request imports it, on the loop
    return httpx.AsyncClient(timeout=None)


def _port(url: httpx.URL) -> int:
    return 443 if url.scheme == "https" else 80


async def _text(response: httpx.Response) -> str:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooLarge("compressed", "The answer cannot be read.")
    content = b""
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > LIMIT:
            raise TooLarge("too_large", "The answer is too long.")
    return content.decode(response.encoding or "utf-8", "replace")


def _answer(status: int, text: str) -> Json:
    if not 200 <= status < 300:
        raise ToolFailed(f"http_{status}", text[:300])
    try:
        parsed = parse(text) if text.strip() else {}
    except ValueError:
        parsed = text
    return cut(parsed if isinstance(parsed, dict) else {"result": parsed})
