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
const BLOCK = 4096;
registerProcessor("recorder", class extends AudioWorkletProcessor {
  pcm = new Int16Array(2 * BLOCK);
  at = 0;
  process([input]) {
    for (let one = 0; one < 128; one++)
      for (const channel of [0, 1]) {
        const sample = input[channel]?.[one] || 0;
        this.pcm[this.at++] = Math.max(-1, Math.min(1, sample)) * 32767;
      }
    if (this.at === this.pcm.length) {
      this.port.postMessage(this.pcm, [this.pcm.buffer]);
      this.pcm = new Int16Array(2 * BLOCK);
      this.at = 0;
    }
    return true;
  }
});
"""
"""Both voices on one clock, as the page has them: in blocks, to leave its main thread alone."""


@dataclass
class Site:
    """A site that is being served."""

    gateway: str = ""
    attributes: str = ""
    grant: dict[str, Any] = field(default_factory=dict)
    "what its server asks of the gateway for each visitor"
    url: str = ""

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Be as at first: with tokens from its own server, which grant nothing special."""
        self.attributes = 'token-url="/token"'
        self.grant = {}

    def token(self) -> str:
        """Ask the gateway for a token, as the site's server does."""
        asked = urllib.request.Request(
            f"{self.gateway}/webrtc/tokens",
            json.dumps({"agent": "workshop", "origin": self.url, **self.grant}).encode(),
            {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            token: str = json.load(answer)["token"]
        return token


@contextmanager
def site(gateway: str = "") -> Iterator[Site]:
    """Serve a site on a free port, which makes it another origin."""
    served = Site(gateway)

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
            try:
                self._answer("application/json", json.dumps({"token": served.token()}))
            except OSError:
                self.send_error(502)

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
