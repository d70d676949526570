"""Who may call: by page, by pass, by being here."""

from __future__ import annotations

from dataclasses import replace

from gateway.lines.webrtc.access import Access, Admitted, Caller, Denied
from gateway.lines.webrtc.settings import WebrtcSettings
from gateway.lines.webrtc.tokens import Grant, Passes

SITE = "https://www.example.com"
VISITOR = Caller(SITE, "192.0.2.7")
HERE = Caller("http://localhost:8080", "127.0.0.1")


def access(**settings: object) -> Access:
    chosen = WebrtcSettings(**{"origins": (SITE,), "api_key": "k" * 20, **settings})  # type: ignore[arg-type]
    names = iter(map(str, range(100)))
    return Access(chosen, Passes("s" * 32, 60.0, lambda: next(names)))


def with_pass(desk: Access, **grant: object) -> Caller:
    token, _ = desk.passes.write(Grant(**{"agent": "desk", **grant}), 0.0)  # type: ignore[arg-type]
    return replace(VISITOR, token=token)


def test_a_pass_of_the_site_lets_its_visitor_in_once() -> None:
    desk = access()
    caller = with_pass(desk, origin=SITE, seconds=90.0)
    assert desk.admit(caller, "desk", 0, 1) == Admitted(Grant("desk", SITE, 90.0))
    assert desk.admit(caller, "desk", 0, 2) == Denied("token_used")


def test_looking_uses_nothing_up() -> None:
    desk = access()
    caller = with_pass(desk)
    assert isinstance(desk.look(caller, "desk", 0, 1), Admitted)
    assert isinstance(desk.admit(caller, "desk", 0, 1), Admitted)


def test_a_pass_is_for_one_agent_and_one_page() -> None:
    desk = access(origins=(SITE, "https://b.example"))
    assert desk.admit(with_pass(desk), "other", 0, 1) == Denied("token_elsewhere")
    elsewhere = replace(with_pass(desk, origin=SITE), origin="https://b.example")
    assert desk.admit(elsewhere, "desk", 0, 1) == Denied("token_elsewhere")
    assert isinstance(desk.admit(replace(elsewhere, origin=SITE), "desk", 0, 1), Admitted)


def test_a_page_that_may_not_call_may_not_with_a_pass_either() -> None:
    desk = access()
    caller = replace(with_pass(desk), origin="https://evil.example")
    assert desk.admit(caller, "desk", 0, 1) == Denied("origin_refused")
    assert not desk.page(caller)


def test_without_a_pass_nobody_comes_in_from_elsewhere() -> None:
    assert access().admit(VISITOR, "desk", 0, 1) == Denied("token_missing")
    program = replace(VISITOR, origin="")
    assert access(public=True).admit(program, "desk", 0, 1) == Denied("token_missing")


def test_the_owner_needs_no_pass_and_no_place_among_the_origins() -> None:
    owner = replace(HERE, owner=True, token="the owner's, which is no pass")
    assert access().admit(owner, "desk", 0, 1) == Admitted(Grant("desk"))


def test_to_be_on_this_machine_lets_nobody_in() -> None:
    """A proxy is, and so is any page that a browser here shows."""
    assert access().admit(replace(HERE, origin=""), "desk", 0, 1) == Denied("token_missing")
    assert access().admit(replace(HERE, origin=SITE), "desk", 0, 1) == Denied("token_missing")


def test_the_gateways_own_page_is_a_page_like_others_for_its_visitors() -> None:
    """What its name is says the request alone, whose maker may say anything."""
    assert access(public=True).admit(HERE, "desk", 0, 1) == Denied("origin_refused")
    listed = access(public=True, origins=(HERE.origin,))
    assert isinstance(listed.admit(HERE, "desk", 0, 1), Admitted)


def test_public_callers_are_counted_and_limited_in_length() -> None:
    desk = access(public=True, public_per_address=1, public_seconds=30.0)
    first = desk.admit(VISITOR, "desk", 0, 1)
    assert isinstance(first, Admitted)
    assert first.grant.seconds == 30
    assert desk.admit(VISITOR, "desk", 0, 1) == Denied("too_many_calls", 15)
    desk.release(first)
    assert isinstance(desk.admit(VISITOR, "desk", 0, 1), Admitted)


def test_everybody_may_be_let_in() -> None:
    desk = access(origins=("*",), public=True)
    assert isinstance(desk.admit(replace(VISITOR, origin="https://x.example"), "d", 0, 1), Admitted)
