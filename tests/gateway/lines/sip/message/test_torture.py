"""The torture messages of RFC 4475, each with the answer the RFC describes for a user agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.lines.sip.transactions.hop import Hop
from tests.gateway.lines.sip.support import FAR, answers, core, take

FOLDER = Path(__file__).parent / "torture"

WANTED: dict[str, int | str | None] = {
    # 3.1.1: valid
    "wsinv": 481,  # it names a dialog that is not here
    "intmeth": 501,
    "esc01": "invited",
    "escnull": 405,
    "esc02": 501,
    "lwsdisp": 200,
    "longreq": "invited",
    "dblreq": 405,  # what follows in the datagram is left alone
    "semiuri": 200,
    "transports": 200,
    "mpart01": 405,
    "unreason": None,
    "noreason": None,
    # 3.1.2: invalid
    "badinv01": 400,
    "clerr": 400,
    "ncl": 400,
    "scalar02": 400,
    "scalarlg": None,
    "quotbal": 400,
    "ltgtruri": 400,
    "lwsruri": 400,
    "lwsstart": 400,
    "trws": 200,
    "escruri": 400,
    "baddate": "invited",
    "regbadct": 400,
    "badaspec": 200,
    "baddn": 200,
    "badvers": 505,
    "mismatch01": 400,
    "mismatch02": 400,
    "bigcode": None,
    # 3.2: transactions
    "badbranch": 200,
    # 3.3: semantics
    "insuf": 400,
    "unkscm": 416,
    "novelsc": 416,
    "unksm2": 405,
    "bext01": 420,
    "invut": 415,
    "regaut01": 405,
    "multi01": 400,
    "mcl01": 400,
    "bcast": None,
    "zeromf": 200,
    "cparam01": 405,
    "cparam02": 405,
    "regescrt": 405,
    "sdp01": 406,
    # 3.4: RFC 2543
    "inv2543": "invited",
}


def test_every_message_has_its_answer() -> None:
    assert set(WANTED) == {path.stem for path in FOLDER.glob("*.sip")}


@pytest.mark.parametrize("name", sorted(WANTED))
def test_answer(name: str) -> None:
    found = answers(take(core(), (FOLDER / f"{name}.sip").read_bytes()))
    wanted = WANTED[name]
    assert found == ([] if wanted is None else [wanted])


@pytest.mark.parametrize("name", sorted(WANTED))
def test_answer_over_a_stream(name: str) -> None:
    data = (FOLDER / f"{name}.sip").read_bytes()
    if name in ("dblreq", "clerr", "mcl01", "ncl"):
        pytest.skip("framed by a Content-Length that is wrong")
    found = answers(take(core(), data, Hop("tcp", FAR.host, FAR.port, 1)))
    wanted = WANTED[name]
    assert found == ([] if wanted is None else [wanted])


def test_an_unknown_extension_is_named() -> None:
    (effect,) = take(core(), (FOLDER / "bext01.sip").read_bytes())
    unsupported = effect.message.headers.get("Unsupported")  # type: ignore[union-attr]
    assert unsupported == "nothingSupportsThis, nothingSupportsThisEither"
