"""The website of somebody who embeds the widget: another origin, with a server of its own."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.peers.webrtc.gateway import KEY

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Harbor Motors</title>
<style>
  body {{ margin: 0; font: 17px/1.6 Georgia, serif; color: #222; background: #fbfaf7; }}
  main {{ max-width: 640px; margin: 0 auto; padding: 40px 24px 320px; }}
  @media (prefers-color-scheme: dark) {{ body {{ background: #17181a; color: #ddd; }} }}
</style></head>
<body>
<main><h1>Harbor Motors</h1>
<p>Service and repairs since 1974. Come by, or talk to us right here on this page.</p></main>
<script type="module" src="{gateway}/widget.js"></script>
<parley-widget agent="workshop" {attributes}></parley-widget>
</body></html>
"""

RECORDER = """
registerProcessor("recorder", class extends AudioWorkletProcessor {
  process([input]) {
    if (input.length) this.port.postMessage([currentFrame, input.map((one) => one.slice())]);
    return true;
  }
});
"""
"""Both voices on one clock, as the page has them."""


@dataclass
class Site:
    """A site that is being served."""

    gateway: str
    attributes: str = 'token-url="/token"'
    grant: dict[str, Any] = field(default_factory=dict)
    "what its server asks of the gateway for each visitor"
    url: str = ""
    tokens: list[str] = field(default_factory=list)
    "given out by now"

    def token(self) -> str:
        """Ask the gateway for a token, as the site's server does."""
        asked = urllib.request.Request(
            f"{self.gateway}/webrtc/tokens",
            json.dumps({"agent": "workshop", "origin": self.url, **self.grant}).encode(),
            {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            token: str = json.load(answer)["token"]
        self.tokens.append(token)
        return token


@contextmanager
def site(gateway: str, **values: Any) -> Iterator[Site]:
    """Serve a site on a free port, which makes it another origin."""
    served = Site(gateway, **values)

    class Handler(BaseHTTPRequestHandler):
        """Answers the site's visitors."""

        def do_GET(self) -> None:
            if self.path == "/":
                page = PAGE.format(gateway=served.gateway, attributes=served.attributes)
                self._answer("text/html", page)
            elif self.path == "/recorder.js":
                self._answer("text/javascript", RECORDER)
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            self._answer("application/json", json.dumps({"token": served.token()}))

        def _answer(self, kind: str, body: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
