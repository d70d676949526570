"""The Twilio line as the gateway knows it."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.lines.port import Line, LineKind, LineNeeds, Place, Said
from gateway.lines.twilio.settings import TwilioSettings


def _make(settings: TwilioSettings, needs: LineNeeds) -> Line:
    from gateway.lines.twilio.line import TwilioLine

    return TwilioLine(settings, needs.answer, needs.agent, needs.doors)


def _look(settings: TwilioSettings, place: Place) -> Iterator[Said]:
    said = f"webhook at {settings.public_url or f'http://{place.host}:{place.port}'}/twilio/voice"
    if not settings.public_url:
        said += " (twilio.public_url is not set: as each request names it)"
    yield "good", said
    if not settings.require_signature:
        yield "note", "anybody may say that they are Twilio (twilio.require_signature is false)"
    elif not settings.signed:
        said = "TWILIO_AUTH_TOKEN is not set: this machine's owner alone is taken for Twilio"
        yield "note", said


TWILIO = LineKind(TwilioSettings, _make, _look)
