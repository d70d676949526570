"""The files that browsers load: read once, compressed once, and cached by what is in them."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

FOLDER = Path(__file__).parent

TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".ts": "text/plain; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
}

FRESH_SECONDS = 300
"""A page that was embedded long ago gets a new widget within five minutes, without being changed;
until then, and for a day beside a look for news, the browser's own copy serves."""

REVALIDATED = "no-cache"
"""A page itself is asked for anew each time; unchanged, the answer is a few bytes."""

CACHING = f"public, max-age={FRESH_SECONDS}, stale-while-revalidate=86400"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    body: bytes
    packed: bytes
    "the same, by gzip"
    kind: str
    tag: str
    "names exactly this content (RFC 9110, section 8.8.3)"


def read_asset(path: Path) -> Asset:
    """Read a file."""
    body = path.read_bytes()
    # Without a time in it, the same file is packed the same way in every process.
    packed = gzip.compress(body, 9, mtime=0)
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    return Asset(body, packed, TYPES[path.suffix], tag)


def serve(asset: Asset, request: Request, caching: str = CACHING) -> Response:
    """Answer with a file, or with the news that the browser has it."""
    headers = {
        "Cache-Control": caching,
        "ETag": asset.tag,
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        # Module scripts are fetched with CORS, from every page that embeds the widget.
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    known = {one.strip().removeprefix("W/") for one in _header(request, "if-none-match").split(",")}
    if asset.tag in known:
        return Response(status_code=304, headers=headers)
    if "gzip" in _header(request, "accept-encoding"):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.packed, 200, headers, asset.kind)
    return Response(asset.body, 200, headers, asset.kind)


def give_page(asset: Asset, policy: str) -> Callable[[Request], Response]:
    """Return what answers with a page of the gateway's own, which may do what its policy says."""

    def give(request: Request) -> Response:
        response = serve(asset, request, REVALIDATED)
        response.headers["Content-Security-Policy"] = policy
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    return give


def _header(request: Request, name: str) -> str:
    return request.headers.get(name, "")


def widget_assets() -> dict[str, Asset]:
    """Return the widget's files by their paths on the gateway."""
    root = FOLDER / "widget"
    modules = {
        f"/{path.relative_to(root).as_posix()}": path
        for path in sorted((root / "widget").rglob("*.js"))
    }
    files = {
        "/widget.js": root / "widget.js",
        "/client.js": root / "client.js",
        "/client.d.ts": root / "client.d.ts",
        "/parley-widget.d.ts": root / "parley-widget.d.ts",
        **modules,
    }
    return {path: read_asset(file) for path, file in files.items()}


def widget_routes() -> list[BaseRoute]:
    """Return the routes of the widget's files."""
    assets = widget_assets()

    async def give(request: Request) -> Response:
        return serve(assets[request.url.path], request)

    return [Route(path, give, methods=["GET", "HEAD"]) for path in assets]
