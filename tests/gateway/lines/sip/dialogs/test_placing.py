"""What a call that is placed takes from the descriptions of ringing and of the answer."""

from __future__ import annotations

import pytest

from gateway.lines.sip.dialogs.core import Core, CoreEffect, Reported
from gateway.lines.sip.dialogs.placing import Dial, outcome_of
from gateway.lines.sip.dialogs.vocabulary import Established, MediaAgreed, MediaRefused
from gateway.lines.sip.message.message import Request
from gateway.lines.sip.transactions.layer import Emit
from tests.gateway.lines.sip.support import core, ground, take

DIAL = Dial("sip:far@192.0.2.9", "<sip:near@192.0.2.1>", "<sip:near@192.0.2.1:5060>")


def dialled() -> tuple[Core, Request]:
    it = core()
    _, effects = it.dial(DIAL, ground(), "call@near", 0.0)
    (invite,) = (e.message for e in effects if isinstance(e, Emit))
    assert isinstance(invite, Request)
    return it, invite


def answer(invite: Request, code: int, tag: str, host: str, port: int) -> bytes:
    """Write a response of the far side with a description."""
    body = (
        f"v=0\r\no=- 1 1 IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\n"
        f"m=audio {port} RTP/AVP 0\r\n"
    )
    lines = [
        f"SIP/2.0 {code} X",
        *(f"{name}: {invite.headers.get(name)}" for name in ("Via", "From", "Call-ID", "CSeq")),
        f"To: {invite.headers.get('To')};tag={tag}",
        "Contact: <sip:far@192.0.2.9:5060>",
        "Content-Type: application/sdp",
        f"Content-Length: {len(body)}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def agreed(effects: list[CoreEffect]) -> list[tuple[str, int]]:
    """Return where sound is to be sent by what was agreed."""
    reports = [effect.report for effect in effects if isinstance(effect, Reported)]
    assert not any(isinstance(report, MediaRefused) for report in reports)
    return [one.agreement.remote for one in reports if isinstance(one, MediaAgreed)]


@pytest.mark.parametrize("tag", ["one", "other"])
@pytest.mark.parametrize("host", ["192.0.2.9", "192.0.2.77"])
def test_the_answer_moves_the_sound_that_was_heard_while_it_rang(tag: str, host: str) -> None:
    it, invite = dialled()
    assert agreed(take(it, answer(invite, 183, "one", "192.0.2.9", 4000))) == [("192.0.2.9", 4000)]
    effects = take(it, answer(invite, 200, tag, host, 5000))
    assert agreed(effects) == [(host, 5000)]
    assert any(isinstance(e, Reported) and isinstance(e.report, Established) for e in effects)


def test_a_second_description_while_it_rings_moves_the_sound_too() -> None:
    it, invite = dialled()
    take(it, answer(invite, 183, "one", "192.0.2.9", 4000))
    assert agreed(take(it, answer(invite, 183, "one", "192.0.2.9", 4000))) == []
    assert agreed(take(it, answer(invite, 183, "one", "192.0.2.77", 5000))) == [
        ("192.0.2.77", 5000)
    ]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(486, "busy"), (480, "no_answer"), (603, "refused"), (607, "refused"), (608, "refused"),
     (500, "failed"), (606, "failed")],
)  # fmt: skip
def test_what_a_final_response_means(code: int, outcome: str) -> None:
    assert outcome_of(code) == outcome
