"""The media socket against strangers."""

from __future__ import annotations

import pytest

from tests.doors.test_strangers import STRANGERS
from tests.gateway.lines.twilio.harness import UPGRADE, serving, upgrade


@pytest.mark.parametrize("said", [name for name in STRANGERS if name != "nothing"])
async def test_the_media_socket_opens_to_no_stranger(said: str) -> None:
    shown = "".join(f"{k}: {v}\r\n" for k, v in STRANGERS[said].items() if k != "Host")
    host = STRANGERS[said].get("Host", "localhost")
    async with serving() as served:
        raw, answer = await upgrade(served, UPGRADE.replace("localhost", host), shown)
        raw.writer.close()
        await raw.writer.wait_closed()
    assert answer.startswith("HTTP/1.1 403")
