"""The four transaction machines, by the clock of RFC 3261 and by any order of events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.sip.message.message import Request, Response, parse, reply
from gateway.lines.sip.transactions.hop import Timers
from gateway.lines.sip.transactions.transaction import (
    Answered,
    ClientInvite,
    ClientRequest,
    Deliver,
    Failed,
    Received,
    Said,
    ServerInvite,
    ServerRequest,
    TimePassed,
    Told,
    Transaction,
    Transmit,
    TransportBroke,
)
from tests.gateway.lines.sip.support import request

T = Timers()


def made(method: str = "INVITE") -> Request:
    message = parse(request(method))
    assert isinstance(message, Request)
    return message


INVITE, OPTIONS = made(), made("OPTIONS")
ACK = made("ACK")


def answer(code: int, asked: Request = INVITE) -> Response:
    return reply(asked, code, "near")


def life(machine: Transaction, until: float) -> list[tuple[float, Said]]:
    """Let a machine's own deadlines pass, and collect what it says, with the time."""
    said: list[tuple[float, Said]] = []
    while machine.deadline is not None and machine.deadline <= until:
        now = machine.deadline
        said += [(now, one) for one in machine.handle(TimePassed(), now)]
    return said


def times(said: list[tuple[float, Said]]) -> list[float]:
    return [round(now, 2) for now, one in said if isinstance(one, Transmit)]


def test_an_unanswered_invite_doubles_its_wait_and_fails_after_64_t1() -> None:
    said = life(ClientInvite(INVITE, False, T, 0.0), 100.0)
    assert times(said) == [0.5, 1.5, 3.5, 7.5, 15.5, 31.5]
    assert said[-1] == (32.0, Failed("timeout"))


def test_over_a_stream_nothing_is_repeated() -> None:
    said = life(ClientInvite(INVITE, True, T, 0.0), 100.0)
    assert said == [(32.0, Failed("timeout"))]


def test_an_unanswered_request_waits_4_s_at_most() -> None:
    said = life(ClientRequest(OPTIONS, False, T, 0.0), 100.0)
    assert times(said) == [0.5, 1.5, 3.5, 7.5, 11.5, 15.5, 19.5, 23.5, 27.5, 31.5]
    assert said[-1] == (32.0, Failed("timeout"))


def test_a_provisional_answer_stops_repeating_an_invite() -> None:
    machine = ClientInvite(INVITE, False, T, 0.0)
    assert machine.handle(Received(answer(180)), 0.1) == [Deliver(answer(180))]
    assert machine.deadline is None  # it may ring for as long as its user wants


def test_a_refusal_is_acknowledged_again_and_again() -> None:
    machine = ClientInvite(INVITE, False, T, 0.0)
    first = machine.handle(Received(answer(486)), 0.1)
    assert [type(one) for one in first] == [Transmit, Deliver]
    ack = first[0].message  # type: ignore[union-attr]
    assert isinstance(ack, Request)
    assert ack.method == "ACK"
    assert ack.headers.getlist("Via") == INVITE.headers.getlist("Via")
    assert ack.headers["To"].endswith("tag=near")
    assert machine.handle(Received(answer(486)), 0.2) == [Transmit(ack)]
    assert life(machine, 100.0) == []
    assert machine.state == "over"


def test_every_2xx_of_forks_is_delivered_for_64_t1() -> None:
    machine = ClientInvite(INVITE, False, T, 0.0)
    machine.handle(Received(answer(200)), 0.1)
    assert machine.handle(Received(reply(INVITE, 200, "fork")), 5.0) != []
    life(machine, 100.0)
    assert machine.handle(Received(answer(200)), 40.0) == []


def test_100_is_sent_after_200_ms_unless_answered() -> None:
    machine = ServerInvite(reply(INVITE, 100), False, T, 0.0)
    assert times(life(machine, 1.0)) == [0.2]
    quick = ServerInvite(reply(INVITE, 100), False, T, 0.0)
    quick.handle(Answered(answer(180)), 0.1)
    assert life(quick, 1.0) == []


def test_a_refusal_is_repeated_until_the_ack() -> None:
    machine = ServerInvite(reply(INVITE, 100), False, T, 0.0)
    machine.handle(Answered(answer(486)), 0.0)
    assert times(life(machine, 10.0)) == [0.5, 1.5, 3.5, 7.5]
    assert machine.handle(Received(INVITE), 10.0) == [Transmit(answer(486))]
    assert machine.handle(Received(ACK), 10.1) == []
    assert times(life(machine, 100.0)) == []
    assert machine.state == "over"


def test_a_lost_ack_fails_after_64_t1() -> None:
    machine = ServerInvite(reply(INVITE, 100), False, T, 0.0)
    machine.handle(Answered(answer(486)), 0.0)
    assert life(machine, 100.0)[-1] == (32.0, Failed("timeout"))


def test_after_a_2xx_repeated_invites_are_absorbed_and_acks_delivered() -> None:
    machine = ServerInvite(reply(INVITE, 100), False, T, 0.0)
    machine.handle(Answered(answer(200)), 0.0)
    assert machine.handle(Received(INVITE), 0.1) == []
    assert machine.handle(Received(ACK), 0.2) == [Deliver(ACK)]
    assert machine.handle(Answered(answer(200)), 0.5) == [Transmit(answer(200))]
    assert life(machine, 100.0) == []


def test_a_repeated_request_gets_the_same_answer() -> None:
    machine = ServerRequest(False, T)
    assert machine.handle(Received(OPTIONS), 0.0) == []
    machine.handle(Answered(answer(200, OPTIONS)), 0.1)
    assert machine.handle(Received(OPTIONS), 1.0) == [Transmit(answer(200, OPTIONS))]
    life(machine, 100.0)
    assert machine.state == "over"


told = st.one_of(
    st.builds(lambda code: Received(answer(code)), st.integers(100, 699)),
    st.builds(lambda code: Answered(answer(code)), st.integers(100, 699)),
    st.sampled_from([Received(INVITE), Received(ACK), TransportBroke(), TimePassed()]),
)


@given(st.integers(0, 3), st.booleans(), st.lists(st.tuples(told, st.floats(0, 10))))
def test_every_order_of_events_ends(
    kind: int, reliable: bool, events: list[tuple[Told, float]]
) -> None:
    machine: Transaction = (
        ClientInvite(INVITE, reliable, T, 0.0),
        ClientRequest(OPTIONS, reliable, T, 0.0),
        ServerInvite(reply(INVITE, 100), reliable, T, 0.0),
        ServerRequest(reliable, T),
    )[kind]
    now, failures = 0.0, 0
    for event, wait in events:
        now += wait
        failures += sum(isinstance(one, Failed) for one in machine.handle(event, now))
    failures += sum(isinstance(one, Failed) for _, one in life(machine, now + 200.0))
    assert failures <= 1
    assert machine.state == "over" or machine.deadline is None
    if machine.state == "over":
        assert machine.deadline is None
        assert not any(isinstance(one, Failed) for one in machine.handle(TimePassed(), now + 500.0))
