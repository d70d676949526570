"""The Twilio line as the gateway knows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateway.lines.port import (
    ForName,
    ForNewCall,
    Line,
    LineKind,
    LineNeeds,
    Meant,
    Place,
    Said,
)
from gateway.lines.twilio.settings import TwilioSettings


def _make(settings: TwilioSettings, needs: LineNeeds) -> Line:
    from gateway.lines.twilio.line import TwilioLine

    return TwilioLine(settings, needs.answer, needs.agent, needs.doors, seat=needs.seat)


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


def _meant(_method: str, path: str, _headers: Mapping[str, str]) -> Meant | None:
    """A stream goes where its ticket was given out, which stands in its path."""
    match path.split("/"):
        case ["", "twilio", "voice", *_]:
            return ForNewCall()
        case ["", "twilio", "stream", name]:
            return ForName(name)
        case ["", "twilio", "stream"]:
            return ForNewCall()
        case _:
            return None


TWILIO = LineKind(TwilioSettings, _make, _look, meant=_meant)
