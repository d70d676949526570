"""The network shell: its inbox, and its one timer on the loop that the gateway runs on."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from gateway.lines.sip.dialogs.core import CallKey, CoreEffect, Invited, Reported
from gateway.lines.sip.dialogs.vocabulary import Rang, Report
from gateway.lines.sip.message.message import Response
from gateway.lines.sip.network import SipNetwork
from gateway.lines.sip.settings import SipSettings
from tests.gateway.lines.sip.test_line import end

pytestmark = pytest.mark.real_time


class Due:
    """A core that waits for something that is past."""

    def __init__(self, now: float) -> None:
        self.deadline: float | None = now - 1
        self.looked = 0

    def tick(self, now: float) -> list[object]:
        self.looked += 1
        self.deadline = None
        return []


async def test_what_is_due_already_is_looked_at_once_and_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with end() as near:
        due = Due(asyncio.get_running_loop().time())
        with monkeypatch.context() as patched:
            patched.setattr(near.line.network, "core", due)
            near.line.network.post(lambda now: [])
            near.line.network.post(lambda now: [])
            await asyncio.sleep(0.01)
        assert due.looked == 1


class Owner:
    """Is told of reports, and asks for more while it is told of the first."""

    def __init__(self) -> None:
        self.network = SipNetwork(SipSettings(host="127.0.0.1", udp=0), self)
        self.told: list[int] = []

    def reported(self, key: CallKey, report: Report) -> None:
        assert isinstance(report, Rang)
        if report.code == 180:
            self.network.post(lambda now: self.of(183))
            self.network.post(lambda now: self.breaks())
            self.network.post(lambda now: self.of(199))
        self.told.append(report.code)

    def of(self, *codes: int) -> list[CoreEffect]:
        return [Reported(("call", "tag"), Rang(code)) for code in codes]

    def breaks(self) -> list[CoreEffect]:
        raise RuntimeError("a message that nobody foresaw")

    def invited(self, invited: Invited) -> None: ...

    def closed(self, key: CallKey) -> None: ...

    def answered(self, label: str, response: Response | None) -> None: ...


async def test_what_is_asked_for_in_the_middle_of_something_is_done_after_it() -> None:
    """And what breaks takes nothing with it of what waits behind."""
    owner = Owner()
    with capture_logs() as lines:
        owner.network.post(lambda now: owner.of(180, 181, 182))
    assert owner.told == [180, 181, 182, 183, 199]
    assert [line["event"] for line in lines] == ["sip_broke"]
    owner.network.post(lambda now: owner.of(181))
    assert owner.told[-1] == 181
