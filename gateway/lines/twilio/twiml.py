"""The documents Twilio is answered with, made by its own generator."""

from __future__ import annotations

from twilio.twiml.voice_response import Connect, Dial, VoiceResponse

from gateway.lines.twilio.settings import TwilioSettings
from gateway.ports import Refusal

DIAL_SECONDS = 30
"""How long a transfer may ring; Twilio's own default, written down since callers feel it."""


def connect(url: str, token: str, status_url: str) -> str:
    """Put a call through to the media socket.

    The token travels as a parameter: Twilio refuses a query string in the URL (error 31920).
    """
    stream = Connect()
    inner = stream.stream(url=url, status_callback=status_url, status_callback_method="POST")
    inner.parameter(name="token", value=token)
    document = VoiceResponse()
    document.append(stream)
    return str(document)


def shown_number(caller: str, ours: str, settings: TwilioSettings) -> str:
    """Return the number that a Dial shows; empty: Twilio shows the caller's own.

    Twilio refuses a Dial without one where the caller is no telephone: then it is the number that
    they called.
    """
    if settings.caller_id:
        return settings.caller_id
    number = ours.startswith("+")
    return ours if number and caller.startswith(("client:", "sip:", "sips:")) else ""


def refuse(refusal: Refusal, settings: TwilioSettings, shown: str) -> str:
    """Turn a call away before it is answered, or in the way the operator chose.

    `shown` is the number that whom it is forwarded to sees.
    """
    document = VoiceResponse()
    passing = refusal.kind in ("busy", "draining")
    if passing and settings.refusal == "forward":
        document.append(_dial(settings.forward_to, shown))
    elif passing and settings.refusal == "say":
        document.say(settings.refusal_text)
        document.hangup()
    else:
        document.reject(reason="busy" if passing else "rejected")
    return str(document)


def transfer(target: str, caller_id: str) -> str:
    """Dial someone else; the caller hears it ring until they answer."""
    document = VoiceResponse()
    document.append(_dial(target, caller_id))
    return str(document)


def _dial(target: str, caller_id: str) -> Dial:
    dial = Dial(answer_on_bridge=True, timeout=DIAL_SECONDS, caller_id=caller_id or None)
    if target.startswith(("sip:", "sips:")):
        dial.sip(target)
    else:
        dial.number(target)
    return dial
