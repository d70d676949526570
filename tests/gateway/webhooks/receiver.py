"""A receiver of webhooks as somebody else may write it: checks, keeps by id, and then answers.

`python -m tests.gateway.webhooks.receiver PORT FILE SECRET`; it is killed in tests.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


def serve(port: int, path: Path, secret: str) -> None:
    """Keep every event once."""
    known = {json.loads(line)["id"] for line in path.read_text().splitlines()}
    file = path.open("a")

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            identity, stamp = self.headers["webhook-id"], self.headers["webhook-timestamp"]
            signed = f"{identity}.{stamp}.".encode() + body
            mac = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
            if self.headers["webhook-signature"] != f"v1,{base64.b64encode(mac).decode()}":
                self.send_response(403)
            else:
                if identity not in known:
                    known.add(identity)
                    file.write(json.dumps({"id": identity, **json.loads(body)}) + "\n")
                    file.flush()
                    if (path.parent / "die").exists():
                        os._exit(1)  # it has it, and nobody was told
                self.send_response(204)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    HTTPServer(("127.0.0.1", port), Answer).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
