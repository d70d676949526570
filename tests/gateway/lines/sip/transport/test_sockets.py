"""SIP's sockets, over loopback in virtual time: peers that dawdle, and ports that are taken."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transport.guard import Guard
from gateway.lines.sip.transport.sockets import STALLED_SECONDS, Transports
from gateway.plumbing.starting import StartFailed

OPTIONS = b"OPTIONS sip:here SIP/2.0\r\nContent-Length: 0\r\n\r\n"


async def opened(
    group: asyncio.TaskGroup,
    got: list[bytes],
    udp: int | None = None,
    tcp: int | None = 0,
    client_tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
) -> Transports:
    def receive(data: bytes, _hop: Hop) -> None:
        got.append(data)

    transports = Transports(receive, lambda _key: None, Guard())
    await transports.open(
        group, "127.0.0.1", udp=udp, tcp=tcp, tls=None, server_tls=None, client_tls=client_tls
    )
    return transports


async def test_a_message_that_comes_a_byte_at_a_time_ends_its_connection() -> None:
    loop = asyncio.get_running_loop()
    got: list[bytes] = []
    async with asyncio.TaskGroup() as group:
        transports = await opened(group, got)
        port = transports.bound[0].port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        begun = loop.time()
        while loop.time() - begun < 5 * STALLED_SECONDS and not reader.at_eof():
            writer.write(b"O")
            await asyncio.sleep(STALLED_SECONDS / 3)
        assert loop.time() - begun < 3 * STALLED_SECONDS
        writer.transport.abort()
        await transports.close()


async def test_messages_that_come_slowly_but_whole_keep_their_connection() -> None:
    got: list[bytes] = []
    async with asyncio.TaskGroup() as group:
        transports = await opened(group, got)
        port = transports.bound[0].port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        half = len(OPTIONS) // 2
        writer.write(OPTIONS[:half])
        for _ in range(8):  # there is a part of one at every look
            await asyncio.sleep(STALLED_SECONDS / 2)
            writer.write(OPTIONS[half:] + OPTIONS[:half])
        await asyncio.sleep(1)
        assert not reader.at_eof()
        assert got == [OPTIONS] * 8
        writer.transport.abort()
        await transports.close()


@pytest.mark.parametrize(
    ("kind", "type_"), [("udp", socket.SOCK_DGRAM), ("tcp", socket.SOCK_STREAM)]
)
async def test_a_port_that_is_taken_is_named_with_its_setting(kind: str, type_: int) -> None:
    with closing(socket.socket(socket.AF_INET, type_)) as other:
        other.bind(("127.0.0.1", 0))
        if type_ == socket.SOCK_STREAM:
            other.listen()
        port = other.getsockname()[1]
        async with asyncio.TaskGroup() as group:
            ports = {"udp": None, "tcp": None, kind: port}
            with pytest.raises(StartFailed) as failed:
                await opened(group, [], **ports)
    assert str(failed.value) == (
        f"sip.host and sip.{kind}: cannot listen on 127.0.0.1:{port}: Address already in use"
    )


@pytest.mark.real_time
async def test_authorities_are_read_off_the_loop_and_only_for_tls() -> None:
    read: list[threading.Thread] = []
    broke = asyncio.Event()

    def authorities() -> ssl.SSLContext:
        read.append(threading.current_thread())
        return ssl.create_default_context()

    async with asyncio.TaskGroup() as group:
        transports = await opened(group, [], client_tls=authorities)
        port = transports.bound[0].port
        transports.send(OPTIONS, Hop("tcp", "127.0.0.1", port), None)
        await asyncio.sleep(0)
        assert not read
        transports._broke = lambda _owner: broke.set()
        for _ in range(2):  # nobody speaks TLS there
            broke.clear()
            transports.send(OPTIONS, Hop("tls", "127.0.0.1", port, name="here"), None)
            await broke.wait()
        await transports.close()
    assert len(read) == 1
    assert read[0] is not threading.main_thread()
