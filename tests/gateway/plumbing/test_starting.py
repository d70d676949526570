"""What is said where the gateway cannot start as it was set."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest

from gateway.lines.sip.music import music
from gateway.lines.sip.opening import _client_tls
from gateway.lines.sip.settings import SipSettings
from gateway.observe.journal import open_sink
from gateway.observe.settings import LogSettings
from gateway.plumbing.starting import StartFailed, bind


def test_a_port_that_is_taken_is_named_with_its_setting() -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(StartFailed) as failed:
            bind("server.host and server.port", "127.0.0.1", port)
    said = f"server.host and server.port: cannot listen on 127.0.0.1:{port}: Address already in use"
    assert str(failed.value) == said


@pytest.mark.parametrize("host", ["192.0.2.1", "no host", "x" * 300, "a..b"])
def test_an_address_that_is_not_ours_or_none_is_named(host: str) -> None:
    with pytest.raises(StartFailed, match=r"^server: cannot listen on .*:80: \S+"):
        bind("server", host, 80)


def test_every_address_of_a_host_is_taken() -> None:
    bound = bind("server", "localhost", 0)
    assert {one.family for one in bound} <= {socket.AF_INET, socket.AF_INET6}
    assert socket.AF_INET in {one.family for one in bound}
    for one in bound:
        one.close()


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path / "file/calls.jsonl", tmp_path):
        with pytest.raises(StartFailed, match=f"^log.path: {path}: "):
            open_sink(LogSettings(path=str(path)))


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_certificate_that_is_none_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "cert.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StartFailed, match=f"sip.certificate and sip.private_key: {path}: "):
        _client_tls(SipSettings(certificate=path))
    with pytest.raises(StartFailed, match=f"sip.authorities: {path}: "):
        _client_tls(SipSettings(authorities=path))


EMPTY_WAV = bytes.fromhex(
    "524946462400000057415645666d74201000000001000100401f0000803e0000020010006461746100000000"
)


@pytest.mark.parametrize("content", [None, b"", b"no sound", EMPTY_WAV])
def test_music_that_is_none_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "music.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StartFailed, match=f"^sip.hold_music: {path}: "):
        music(path)
