"""The machines do what the tables on top of their module say, in every state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from gateway.lines.sip.transactions import transaction
from gateway.lines.sip.transactions.hop import Timers
from gateway.lines.sip.transactions.transaction import (
    Answered,
    ClientInvite,
    ClientRequest,
    Deliver,
    Failed,
    Received,
    ServerInvite,
    ServerRequest,
    TimePassed,
    Told,
    Transaction,
    Transmit,
    TransportBroke,
)
from tests.gateway.lines.sip.transactions.test_transaction import ACK, INVITE, OPTIONS, answer

NOW = 1000.0
LATER = 10_000.0
LETTERS = {Transmit: "T", Deliver: "D", Failed: "F"}

MADE: dict[str, Callable[[], Transaction]] = {
    "ClientInvite": lambda: ClientInvite(INVITE, False, Timers(), NOW),
    "ClientRequest": lambda: ClientRequest(OPTIONS, False, Timers(), NOW),
    "ServerInvite": lambda: ServerInvite(None, False, Timers(), NOW),
    "ServerRequest": lambda: ServerRequest(False, Timers()),
}

EVENTS: dict[str, Callable[[], Told]] = {
    "1xx": lambda: Received(answer(180)),
    "2xx": lambda: Received(answer(200)),
    "3xx-6xx": lambda: Received(answer(486)),
    "answer 1xx": lambda: Answered(answer(180)),
    "answer 2xx": lambda: Answered(answer(200)),
    "answer 3xx": lambda: Answered(answer(302)),
    "again": lambda: Received(INVITE),
    "ack": lambda: Received(ACK),
    "broke": TransportBroke,
    "over": TimePassed,
}


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Return machine, state, event and what the table says of them."""
    machine, heads = "", [""]
    for line in (transaction.__doc__ or "").splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if not line.startswith("    ") or len(cells) < 3:
            continue
        if cells[0] in MADE:
            machine, *heads = cells
            continue
        for head, cell in zip(heads, cells[1:], strict=True):
            yield machine, cells[0], head, cell


def reach(machine: str, state: str) -> Transaction:
    """Bring a new machine into a state by the events that lead there."""
    made = MADE[machine]()
    paths = {
        "calling": (),
        "trying": (),
        "proceeding": ("answer 1xx",) if machine == "ServerRequest" else ("1xx",),
        "accepted": ("answer 2xx",) if machine == "ServerInvite" else ("2xx",),
        "completed": ("answer 3xx",) if machine.startswith("Server") else ("3xx-6xx",),
        "confirmed": ("answer 3xx", "ack"),
    }
    for event in paths[state]:
        made.handle(EVENTS[event](), NOW)
    assert made.state == state
    return made


@pytest.mark.parametrize(("machine", "state", "event", "cell"), list(rows()))
def test_a_cell_of_the_table(machine: str, state: str, event: str, cell: str) -> None:
    made = reach(machine, state)
    said = made.handle(EVENTS[event](), LATER if event == "over" else NOW)
    words = [] if cell == "-" else cell.split()
    letters = [word for word in words if word in ("T", "D", "F")]
    after = next((word for word in words if word not in letters), state)
    assert made.state == after
    assert [LETTERS[type(each)] for each in said] == letters


def test_every_state_has_its_row() -> None:
    found = {(machine, state) for machine, state, _, _ in rows()}
    assert len(found) == 4 + 3 + 4 + 3
