"""Calls that are answered and not connected: what ends them leaves nothing, and uses nothing up."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.gateway.lines.webrtc.harness import SITE, Served, serving, until, visiting

FRAGMENT = "a=ice-ufrag:abcd\r\na=ice-pwd:" + "p" * 24 + "\r\n"


@contextmanager
def taken() -> Iterator[tuple[int, int]]:
    """Return a range of ports of which none is to be had."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
        yield port, port


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


async def pending(served: Served, **headers: str) -> tuple[str, int]:
    """Offer and do not connect; give the call's address and port."""
    answer = await served.offer(**headers)
    assert answer.status_code == 201
    port = int(answer.text.split("a=candidate:")[1].split()[5])
    return f"http://127.0.0.1:{served.port}{answer.headers['location']}", port


async def test_a_page_that_gives_up_frees_its_place_at_once() -> None:
    async with serving(pending=1) as served:
        url, port = await pending(served)
        assert not is_free(port)
        assert (await served.offer()).status_code == 503
        begun = asyncio.get_running_loop().time()
        assert (await served.client.delete(url)).status_code == 200
        await until(lambda: not served.line.calls.sessions, 1.0)
        assert is_free(port)
        assert asyncio.get_running_loop().time() - begun < 0.5
        assert (await served.client.delete(url)).status_code == 404
        assert (await served.offer()).status_code == 201
        assert not served.parties.all


async def test_a_visitor_without_a_token_who_gives_up_is_counted_no_more() -> None:
    only = {"public_calls": 1, "public_per_address": 1}
    async with serving(origins=(SITE,), public=True, **only) as served:
        url, _ = await pending(served, Origin=SITE)
        assert (await served.offer(Origin=SITE)).status_code == 429
        await served.client.delete(url, headers={"Origin": SITE})
        await until(lambda: not served.line.calls.sessions, 1.0)
        assert (await served.offer(Origin=SITE)).status_code == 201


async def test_a_gateway_that_stops_waits_for_no_page_that_never_came() -> None:
    async with serving(settle=1.0) as served:
        _, port = await pending(served)
        served.line.stop()
        await until(lambda: not served.line.calls.sessions, 1.0)
        assert is_free(port)


async def test_a_call_for_which_no_port_is_left_uses_no_token_up() -> None:
    with taken() as ports:
        async with serving(ports=ports) as served:
            token = await served.token()
            full = await served.offer(token=token)
            assert (full.status_code, full.json()["kind"]) == (503, "busy")
            again = await served.offer(token=token)
            assert again.json()["kind"] == "busy"
            assert not served.line.calls.sessions


async def test_a_call_for_which_no_port_is_left_is_not_counted_in_the_hour() -> None:
    with taken() as ports:
        rules = {"origins": (SITE,), "public": True, "public_per_hour": 1}
        async with serving(ports=ports, **rules) as served:
            for _ in range(2):
                assert (await served.offer(Origin=SITE)).json()["kind"] == "busy"


async def test_ice_that_finds_no_port_to_begin_anew_leaves_the_call_as_it_was() -> None:
    with taken() as ports:
        pass
    async with serving(ports=ports) as served, visiting(served):
        name = next(iter(served.line.calls.sessions))
        url = f"http://127.0.0.1:{served.port}/webrtc/desk/{name}"
        headers = {"Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"}
        full = await served.client.patch(url, content=FRAGMENT, headers=headers)
        assert (full.status_code, full.json()["kind"]) == (503, "busy")
        await asyncio.sleep(3)
        assert name in served.line.calls.sessions
        assert not served.parties.all[0].gone.is_set()
