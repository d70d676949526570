"""Receivers of webhooks that answer in every wrong way: events come all the same, later."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gateway.webhooks import outbox
from tests.gateway.webhooks.test_outbox import Gateway, until

HEAD = b"HTTP/1.1 200 OK\r\n"
KINDS = ("raise", "hang", "flood", "huge", "garbage", "close", "disorder")
REFUSED = ("raise", "hang", "garbage", "close")
"""Kinds after which an event is posted again; after the others there was a status."""


class Wrong:
    """Answers the first request wrongly, and all others as one should."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.posted = 0
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            one, _ = self._listening.accept()
            if self.over.is_set():
                one.close()
                return
            one.settimeout(5.0)
            with closing(one), suppress(OSError):
                self._serve(one)

    def _serve(self, one: socket.socket) -> None:
        with one.makefile("rb") as reading:
            while length := self._length(reading):
                reading.read(length)
                self.posted += 1
                if self.posted == 1:
                    self._fail(one)
                    return
                one.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    def _length(self, reading: object) -> int:
        length = 0
        for line in iter(reading.readline, b""):  # type: ignore[attr-defined]
            name, _, value = line.lower().partition(b":")
            if name == b"content-length":
                length = int(value)
            if line == b"\r\n":
                return length
        return 0

    def _fail(self, one: socket.socket) -> None:
        match self._kind:
            case "raise":
                one.sendall(b"HTTP/1.1 500 Oh no\r\nContent-Length: 0\r\n\r\n")
            case "hang":
                one.recv(1)  # until who posts has left
            case "flood":
                one.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
                while True:
                    one.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
            case "huge":
                one.sendall(HEAD + b"Content-Length: 50000000\r\n\r\n" + bytes(50_000_000))
            case "garbage":
                one.sendall(b"\xff\xfe{]\r\n\r\n" * 50)
            case "disorder":
                one.sendall((HEAD + b"Content-Length: 0\r\n\r\n") * 3)
            case _:
                pass  # it closes

    def stop(self) -> None:
        self.over.set()
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listening.close()


@pytest.fixture
def wrong(request: pytest.FixtureRequest) -> Iterator[Wrong]:
    made = Wrong(request.param)
    yield made
    made.stop()


@pytest.mark.real_time
@pytest.mark.parametrize("wrong", KINDS, indirect=True)
def test_events_come_although_an_answer_was_wrong(
    wrong: Wrong, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "ANSWER_SECONDS", 0.5)
    gateway = Gateway(tmp_path, f"http://127.0.0.1:{wrong.port}/")
    gateway.call("one")
    until(lambda: gateway.outbox.counts.taken == 4)
    gateway.stop()
    assert gateway.outbox.counts.waiting == 0
    assert gateway.outbox.counts.dropped == 0
    assert wrong.posted == 4 + (wrong._kind in REFUSED)
