"""A session that is renewed while people speak: nobody hears of it, and nothing said is lost."""

from __future__ import annotations

import asyncio

import pytest

from gateway.backends.carried import said_since
from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.events import Entry
from tests.support.phone_call import PhoneCall, phone_call
from tests.support.realtime_server import Answer, FakeRealtime

VOICE = 0x20
SPOKEN = 2.5


async def story(
    age: float, connect: float, cut_at: float | None = None
) -> tuple[PhoneCall, FakeRealtime]:
    """Hold a call of one long question and its answer; the session grows old at `age`.

    `cut_at`: seconds after the caller began to speak at which the first connection breaks.
    """
    answer = Answer("we open at nine and close at six", 2400)
    async with FakeRealtime([answer], ["when do you open"]).serving() as server:
        server.byte, server.slow = VOICE, connect

        def make(name: str) -> object:
            return realtime_backend(RealtimeSettings(url=server.url, session_seconds=age))

        def cut() -> None:
            server.sessions[0].socket.transport.abort()

        if cut_at is not None:
            asyncio.get_running_loop().call_later(0.5 + cut_at, cut)
        async with phone_call(make, {VOICE: "agent"}) as caller:  # type: ignore[arg-type]
            await caller.says(SPOKEN)
            await asyncio.sleep(6)
            assert server.seen.connections >= 2
            return caller, server


# Before, while and after they speak, at the turn's end, before and amid the answer, after it.
@pytest.mark.parametrize("connect", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("age", [0.1, 0.3, 0.45, 0.54, 1.5, 2.9, 3.2, 3.6, 6.5])
async def test_a_renewal_at_any_moment_of_a_turn_costs_nobody_anything(age, connect):
    caller, server = await story(age, connect)
    (turn,) = server.seen.commits
    assert turn / 8000 > SPOKEN, "from before its first sound to its end"
    (spell,) = caller.heard(caller.fell_silent)
    assert spell[2] - spell[1] == pytest.approx(2.4, abs=0.05)
    assert caller.waited_for("agent") < 1.0
    assert not caller.faults()
    assert not server.seen.errors


@pytest.mark.parametrize("cut_at", [1.0, 2.0, 2.6])
async def test_a_connection_that_breaks_while_the_next_one_waits_costs_nobody_anything(cut_at):
    caller, server = await story(0.45, 0.3, cut_at)
    assert server.seen.commits[-1] / 8000 > SPOKEN
    (spell,) = caller.heard(caller.fell_silent)
    assert spell[2] - spell[1] == pytest.approx(2.4, abs=0.05)
    assert not caller.faults()


def test_a_session_is_told_what_it_does_not_know_and_no_more():
    one, two, three = (Entry("caller", text) for text in ("one", "two", "three"))
    assert said_since((one,), (one,)) == ()
    assert said_since((one,), (one, two, three)) == (two, three)
    note, *rest = said_since((one, two), (one, three))
    assert (note.role, rest) == ("note", [three])
