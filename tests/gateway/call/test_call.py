from __future__ import annotations

import asyncio
from typing import Any

from structlog.testing import capture_logs

from gateway.call.call import Call
from gateway.call.conversation import Conversation
from gateway.call.ear import ContinuousStream
from gateway.call.pacer import Pacer
from gateway.call.settings import ConversationSettings
from gateway.events import CallerGone, CallInfo, TimePassed
from gateway.ports import BackendStart, BackendTraits
from tests.support.cascade_call import FakeLeg, LineBook, Log, ToldHearing, Tools
from tests.support.virtual_time import run


class Silent:
    """A backend that never says anything."""

    traits = BackendTraits()

    async def run(self, start: BackendStart, emit: Any) -> None:
        await asyncio.Event().wait()

    def hear(self, frame: object) -> None:
        pass

    def perform(self, command: object) -> None:
        pass


def make(number: int) -> tuple[Call, Log]:
    info = CallInfo(f"c{number}", "twilio", "test")
    log = Log()
    conversation = Conversation(ConversationSettings(), BackendTraits(), call_id=info.call_id)
    call = Call(
        FakeLeg(info),
        conversation,
        ToldHearing(),  # type: ignore[arg-type]
        ContinuousStream(info.rate),
        lambda name: Silent(),
        lambda of: BackendStart(info, ""),
        LineBook(),
        Tools(),
        log,
    )
    return call, log


def test_a_call_that_breaks_ends_alone_and_the_clock_of_the_others_goes_on():
    async def main() -> None:
        broken, log = make(1)
        well, other_log = make(2)
        pacer = Pacer()
        pacer.start()
        async with asyncio.TaskGroup() as group:
            for call in (broken, well):
                pacer.add(call)
                group.create_task(call.run())
            await asyncio.sleep(0.5)
            broken.conversation.state.tools = None  # type: ignore[assignment]
            broken.post(TimePassed())
            await asyncio.sleep(0.5)
            before = pacer.lateness.ticks
            await asyncio.sleep(0.5)
            assert pacer.lateness.ticks - before >= 24
            well.post(CallerGone("done"))
        pacer.stop()
        assert log.of("fault")[0]["reason"] == "internal error"
        assert not other_log.of("fault")
        assert other_log.of("call_ended")

    with capture_logs() as lines:
        run(main())
    assert [line["event"] for line in lines if line["log_level"] == "error"] == ["call_broke"]
