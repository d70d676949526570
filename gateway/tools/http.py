"""Tools that are requests to a web server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from gateway.events import Json
from gateway.plumbing.wire_json import parse
from gateway.ports import ToolSpec
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.endpoints import HttpEndpoint, with_secrets
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


@dataclass
class HttpTool:
    """One endpoint, ready to be asked; keeps its connections until closed."""

    spec: ToolSpec
    endpoint: HttpEndpoint
    retries: int = 0
    _client: httpx.AsyncClient | None = None
    _headers: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._headers = with_secrets(self.endpoint.headers)
        declared = self.endpoint.parameters.get("properties", {})
        for name in _GAP.findall(self.endpoint.url):
            if name not in declared:
                raise ValueError(f"http.url: {{{name}}} is not among the parameters' properties")

    async def run(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Make the request; raise ToolFailed for every answer that is none."""
        if self.spec.effect == "read":
            return await self._read(arguments)
        return await self._write(arguments, context, store)

    async def close(self) -> None:
        """Let go of the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _read(self, arguments: Json) -> Json:
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                status, text = await self._send(arguments, {})
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
        call_id, name, key = context.call.call_id, self.spec.name, context.key
        known = await in_thread(store.begin, key, call_id, name)
        if known is not None:
            return known
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                status, text = await self._send(arguments, {"Idempotency-Key": key})
        except httpx.ConnectError as error:  # nothing was sent
            await in_thread(store.release, key)
            raise ToolFailed("unreachable", type(error).__name__) from None
        except (httpx.TransportError, TimeoutError):
            raise ToolFailed("uncertain", "It is not known whether this was done.") from None
        if 400 <= status < 500:  # refused
            await in_thread(store.release, key)
        result = _answer(status, text)
        await in_thread(store.finish, key, result)
        return result

    async def _send(self, arguments: Json, headers: Mapping[str, str]) -> tuple[int, str]:
        if self._client is None:
            # Reading the certificates takes tens of milliseconds.
            context = await in_thread(httpx.create_ssl_context)
            self._client = self._client or httpx.AsyncClient(verify=context, timeout=None)
        url, rest = _address(self.endpoint.url, arguments)
        body: dict[str, Any] = {"json": rest}
        if self.endpoint.method in ("GET", "DELETE"):
            body = {"params": rest}
        request = self._client.build_request(
            self.endpoint.method, url, headers={**self._headers, **headers}, **body
        )
        response = await self._client.send(request, stream=True)
        try:
            content = b""
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > LIMIT:
                    raise ToolFailed("too_large", "The answer is too long.")
        finally:
            await response.aclose()
        return response.status_code, content.decode(response.encoding or "utf-8", "replace")


def _address(url: str, arguments: Json) -> tuple[str, dict[str, Any]]:
    """Put arguments into the address, and give those that are left."""
    named = re.findall(r"\{(\w+)\}", url)
    missing = [name for name in named if name not in arguments]
    if missing:
        raise ToolFailed("bad_arguments", f"missing: {', '.join(missing)}")
    filled = re.sub(r"\{(\w+)\}", lambda gap: quote(str(arguments[gap[1]]), safe=""), url)
    return filled, {name: value for name, value in arguments.items() if name not in named}


def _answer(status: int, text: str) -> Json:
    if status >= 400:
        raise ToolFailed(f"http_{status}", text[:300])
    try:
        parsed = parse(text) if text.strip() else {}
    except ValueError:
        return {"result": text}
    return parsed if isinstance(parsed, dict) else {"result": parsed}
