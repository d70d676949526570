"""What Twilio is answered when a call comes in."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import httpx
import pytest
from twilio.request_validator import RequestValidator

from gateway.doors.owner import bearer
from gateway.lines.twilio.settings import TwilioSettings
from gateway.log_events import CallRefusedLogged
from gateway.plumbing import virtual_time
from gateway.ports import Refusal
from tests.gateway.lines.twilio.harness import FakeAnswer, far_end, log_lines, serving
from tests.support.owner import OWNER

FORM = {"CallSid": "CA1", "AccountSid": "AC1", "From": "+4930", "To": "+4940"}


def ask(
    settings: TwilioSettings | None = None,
    answer: FakeAnswer | None = None,
    path: str = "",
    form: dict[str, str] | bytes = FORM,
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    async def story() -> httpx.Response:
        async with serving(settings, answer) as served, httpx.AsyncClient() as client:
            given: Any = {"content": form} if isinstance(form, bytes) else {"data": form}
            shown = {} if settings and settings.signed else bearer(OWNER)
            shown |= headers or {}
            return await client.post(served.voice + path, headers=shown, **given)

    return virtual_time.run(story())


def parameters(document: str) -> dict[str, str]:
    found = ElementTree.fromstring(document).iterfind("Connect/Stream/Parameter")
    return {one.attrib["name"]: one.attrib["value"] for one in found}


def stream(document: str) -> dict[str, str]:
    found = ElementTree.fromstring(document).find("Connect/Stream")
    assert found is not None
    return found.attrib


def test_a_call_is_connected_to_the_stream() -> None:
    answer = FakeAnswer()
    response = ask(answer=answer)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/xml")
    assert answer.asked == ["desk"]
    attributes = stream(response.text)
    assert attributes["url"].startswith("ws://127.0.0.1:")
    assert attributes["url"].endswith("/twilio/stream")
    assert attributes["statusCallback"].endswith("/twilio/status")
    assert len(parameters(response.text)["token"]) >= 32


async def test_the_token_opens_the_stream_of_that_call_once() -> None:
    async with serving() as served:
        async with httpx.AsyncClient() as client:
            response = await client.post(served.voice, data=FORM, headers=bearer(OWNER))
        token = parameters(response.text)
        async with far_end(served) as far:
            await far.start(customParameters=token)
            info = served.answer.leg.info
        async with far_end(served) as far:
            await far.start(customParameters=token)
            info, again = info, await far.closed()
    assert (info.agent, info.caller, info.callee) == ("desk", "+4930", "+4940")
    assert again[0] == 1008


@pytest.mark.parametrize(
    ("path", "agent"),
    [
        ("", "sales"),
        ("/support", "support"),
        ("?agent=support", "support"),
    ],
)
def test_agents_by_number_path_or_query(path: str, agent: str) -> None:
    answer = FakeAnswer()
    ask(TwilioSettings(numbers={"+4940": "sales"}), answer, path)
    assert answer.asked == [agent]


@pytest.mark.parametrize(
    ("settings", "headers", "url"),
    [
        ({"public_url": "https://gw.example"}, {}, "wss://gw.example/twilio/stream"),
        ({"public_url": "https://gw.example/p/"}, {}, "wss://gw.example/p/twilio/stream"),
        ({"public_url": "http://gw.example:81"}, {}, "ws://gw.example:81/twilio/stream"),
        ({}, {"host": "localhost:8080"}, "ws://localhost:8080/twilio/stream"),
        ({}, {"host": "[::1]:8080"}, "ws://[::1]:8080/twilio/stream"),
        (
            {},
            {"host": "127.0.0.1:1", "x-forwarded-host": "gw.example", "x-forwarded-proto": "https"},
            "wss://gw.example/twilio/stream",
        ),
    ],
)
def test_the_streams_address_is_as_twilio_sees_us(
    settings: dict[str, Any], headers: dict[str, str], url: str
) -> None:
    assert stream(ask(TwilioSettings(**settings), headers=headers).text)["url"] == url


def refused(answer: FakeAnswer) -> list[CallRefusedLogged]:
    """Return the calls that were not taken, as they are written down."""
    return [one for one in answer.turned_away if isinstance(one, CallRefusedLogged)]


def signed(url: str, token: str = "12345") -> dict[str, str]:
    return {
        "host": "gw.example",
        "x-twilio-signature": RequestValidator(token).compute_signature(url, FORM),
    }


def test_a_signed_webhook_is_let_in_and_a_forged_one_is_not() -> None:
    settings = TwilioSettings(auth_token="12345")
    good = signed("https://gw.example/twilio/voice?agent=a%20b")
    answer = FakeAnswer()
    response = ask(settings, answer, "?agent=a%20b", headers=good)
    assert stream(response.text)["url"] == "wss://gw.example/twilio/stream"
    assert answer.asked == ["a b"]
    for headers in (signed("https://gw.example/twilio/voice", "wrong"), {}, good):
        assert ask(settings, answer, headers=headers).status_code == 403
    assert [one.cause for one in refused(answer)] == ["signature"] * 3
    assert refused(answer)[1].said == "not signed"


@pytest.mark.parametrize(
    ("form", "status"),
    [({"From": "+1"}, 400), (b"\xff\xfe", 400), (b"a=" + b"x" * 70_000, 413), (b"", 400)],
)
def test_malformed_forms(form: Any, status: int) -> None:
    answer = FakeAnswer()
    assert ask(answer=answer, form=form).status_code == status
    assert [(one.cause, one.code) for one in refused(answer)] == [("offer", status)]


def test_another_account_is_refused() -> None:
    answer = FakeAnswer()
    assert ask(TwilioSettings(account_sid="AC2"), answer).status_code == 403
    (one,) = refused(answer)
    assert (one.cause, one.known_as, one.caller) == ("account", FORM["CallSid"], FORM["From"])
    assert ask(TwilioSettings(account_sid="AC1")).status_code == 200


def test_without_a_secret_only_the_owner_comes_in() -> None:
    answer = FakeAnswer()
    assert ask(answer=answer, headers={"Authorization": ""}).status_code == 403
    assert "TWILIO_AUTH_TOKEN" in (refused(answer)[0].said or "")


def test_a_number_that_is_set_to_get_is_answered() -> None:
    asked = {**FORM, "Direction": "inbound"}
    target = "/twilio/voice?" + urlencode(asked)

    async def story(signed_for: str) -> httpx.Response:
        signature = RequestValidator("12345").compute_signature(signed_for, {})
        async with (
            serving(TwilioSettings(auth_token="12345")) as served,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}") as client,
        ):
            headers = {"Host": "gw.example", "X-Twilio-Signature": signature}
            return await client.get(target, headers=headers)

    good = virtual_time.run(story(f"https://gw.example{target}"))
    assert good.status_code == 200
    assert stream(good.text)["url"] == "wss://gw.example/twilio/stream"
    assert virtual_time.run(story(f"https://gw.example{target}x")).status_code == 403


@pytest.mark.parametrize(
    ("sent", "written", "status"),
    [
        (
            "agent=workshop&Caller=sip%3A100%40203.0.113.7",
            "agent=workshop&Caller=sip:100@203.0.113.7",
            200,
        ),
        (
            "agent=workshop&Caller=sip:100@203.0.113.7",
            "agent=workshop&Caller=sip%3A100%40203.0.113.7",
            200,
        ),
        ("from=%2B15550100", "from=+15550100", 200),
        ("name=it's%27+a", "name=it's%27+a", 200),
        ("agent=workshop%26Caller=1", "agent=workshop&Caller=1", 403),  # would be read otherwise
        ("agent=other", "agent=workshop", 403),
    ],
)
def test_what_was_signed_before_it_was_escaped_is_twilios(
    sent: str, written: str, status: int
) -> None:
    headers = signed(f"https://gw.example/twilio/voice?{written}")
    settings = TwilioSettings(auth_token="12345")
    assert ask(settings, path=f"?{sent}", headers=headers).status_code == status


async def test_a_call_that_we_placed_has_its_parties_the_right_way_round() -> None:
    settings = TwilioSettings(numbers={"+4940": "sales"})
    form = {**FORM, "From": "+4940", "To": "+4930", "Direction": "outbound-api"}
    async with serving(settings) as served:
        async with httpx.AsyncClient() as client:
            response = await client.post(served.voice, data=form, headers=bearer(OWNER))
        async with far_end(served) as far:
            await far.start(customParameters=parameters(response.text))
            info = served.answer.leg.info
    assert (info.direction, info.caller, info.callee) == ("outbound", "+4930", "+4940")
    assert info.agent == "sales"


@pytest.mark.parametrize(
    ("caller", "caller_id", "shown"),
    [
        ("client:web_user", "", ' callerId="+4940"'),
        ("sip:100@pbx.example.com", "", ' callerId="+4940"'),
        ("+4930", "", ""),
        ("client:web_user", "+49111", ' callerId="+49111"'),
    ],
)
def test_a_caller_without_a_number_is_forwarded_under_the_one_they_called(
    caller: str, caller_id: str, shown: str
) -> None:
    settings = TwilioSettings(refusal="forward", forward_to="+15559990000", caller_id=caller_id)
    answer = FakeAnswer(refusal=Refusal("busy"))
    response = ask(settings, answer, form={**FORM, "From": caller})
    assert f'<Dial answerOnBridge="true"{shown} timeout="30">' in response.text


def document(body: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{body}</Response>'


BUSY = '<Reject reason="busy" />'
SAY = {"refusal": "say", "refusal_text": "Later & <thanks>."}
FORWARD = {"refusal": "forward", "forward_to": "sip:desk@pbx.example"}


@pytest.mark.parametrize(
    ("kind", "settings", "body"),
    [
        ("busy", {}, BUSY),
        ("draining", {}, BUSY),
        ("unknown_agent", {}, '<Reject reason="rejected" />'),
        ("forbidden", SAY, '<Reject reason="rejected" />'),
        ("busy", SAY, "<Say>Later &amp; &lt;thanks&gt;.</Say><Hangup />"),
        (
            "draining",
            FORWARD,
            '<Dial answerOnBridge="true" timeout="30"><Sip>sip:desk@pbx.example</Sip></Dial>',
        ),
    ],
)
def test_a_refused_call_is_told_in_twilios_words(
    kind: Any, settings: dict[str, Any], body: str
) -> None:
    response = ask(TwilioSettings(**settings), FakeAnswer(refusal=Refusal(kind)))
    assert response.status_code == 200
    assert response.text == document(body)


@pytest.mark.parametrize(("event", "lines"), [("stream-error", 1), ("stream-started", 0)])
async def test_stream_errors_that_twilio_reports_are_logged(event: str, lines: int) -> None:
    with log_lines() as logs:
        async with serving() as served, httpx.AsyncClient() as client:
            url = served.voice.replace("voice", "status")
            form = {"CallSid": "CA1", "StreamEvent": event, "StreamError": "31951"}
            got = (await client.post(url, data=form, headers=bearer(OWNER))).status_code
        assert got == 204
    assert [one["reason"] for one in logs] == ["31951"] * lines


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"public_url": "gw.example"}, "public_url"),
        ({"refusal": "forward"}, "forward_to"),
    ],
)
def test_settings_that_do_not_fit_are_told(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TwilioSettings(**settings)


def test_secrets_are_not_printed() -> None:
    settings = TwilioSettings(auth_token="s3cret", shared_key="s3cret")
    assert "s3cret" not in repr(settings)
    assert settings.signed
    assert not TwilioSettings().signed
