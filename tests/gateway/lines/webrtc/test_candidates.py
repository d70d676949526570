"""Candidates of one page: bounded, however it sends them."""

from __future__ import annotations

from gateway.lines.webrtc.offer import IceParameters
from tests.gateway.lines.webrtc.harness import serving, until

HEAD = "a=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\n"


def fragment(first: int) -> str:
    """Return fifty candidates that nobody else has."""
    lines = (
        f"a=candidate:{number} 1 udp 1 192.0.2.{number % 250 + 1} {1024 + number} typ host"
        for number in range(first, first + 50)
    )
    return HEAD + "\r\n".join(lines) + "\r\n"


async def test_a_flood_of_candidates_makes_no_more_checks_than_a_browser_does() -> None:
    async with serving() as served:
        offered = await served.offer()
        assert offered.status_code == 201
        url = f"http://127.0.0.1:{served.port}{offered.headers['location']}"
        headers = {
            "Content-Type": "application/trickle-ice-sdpfrag",
            "If-Match": offered.headers["etag"],
        }
        (session,) = served.line.calls.sessions.values()
        for number in range(110):
            answer = await served.client.patch(url, content=fragment(50 * number), headers=headers)
            assert answer.status_code == 204
        ice = session.peer._path.ice
        assert isinstance(session.ice, IceParameters)
        assert ice is not None
        assert len(ice.remote_candidates) <= 50
        assert len(ice._check_list) <= 70
        await served.client.delete(url)
        await until(lambda: not served.line.calls.sessions)
