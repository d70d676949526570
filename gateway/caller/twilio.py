"""A caller on a Twilio media stream: the part Twilio plays, from the webhook to `stop`."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote, urlsplit, urlunsplit
from xml.etree import ElementTree

import httpx
from picows import (
    WSCloseCode,
    WSFrame,
    WSHandshakeError,
    WSListener,
    WSMsgType,
    WSProtocolError,
    WSTransport,
    ws_connect,
)
from twilio.request_validator import RequestValidator

from gateway.caller.phone import Phone
from gateway.caller.twilio_wire import Clear, Mark, Media, Writer, parse
from gateway.doors.owner import proof
from media.codec import WireForm, wire_form

MULAW = wire_form("pcmu", 8000)
"""What Twilio's streams carry."""

CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 2.0
"""How long the gateway may take to answer a close."""

_SILENT = logging.Logger("picows", level=logging.CRITICAL + 1)
"""What goes wrong is in the report."""

ACCOUNT = "AC" + "0" * 32
"""The account a caller without one is of."""

NORMAL = (1000, 1001)
"""Close codes that end a call as the agent wished."""


@dataclass(frozen=True, slots=True)
class TwilioCaller:
    """How a call is placed."""

    url: str
    "of the media socket, `ws://` or `wss://`"
    webhook: bool = True
    "ask the gateway's `/twilio/voice` first, as Twilio does"
    token: str = ""
    "for a gateway that gave one in another way"
    agent: str = ""
    caller: str = "+15550100"
    "reserved for fiction by the North American Numbering Plan"
    callee: str = "+15550199"
    account_sid: str = ACCOUNT
    auth_token: str = field(default="", repr=False)
    "signs the webhook and the upgrade; empty: unsigned"
    parameters: Mapping[str, str] = field(default_factory=dict)
    "`<Parameter>`s of a TwiML that puts the call through"

    @property
    def form(self) -> WireForm:
        """What the line carries."""
        return MULAW

    def new_id(self) -> str:
        """Draw a CallSid as Twilio's look."""
        return "CA" + secrets.token_hex(16)

    async def call(self, call_id: str, phone: Phone) -> None:
        """Place one call and return when it is over; `phone` is told how it went."""
        try:
            stream_url, parameters = await _ask_for_stream(self, call_id)
        except RefusedError as refused:
            phone.end("failure", str(refused))
            return
        far = _FarEnd(phone, self, call_id, {**self.parameters, **parameters})
        try:
            transport, _ = await ws_connect(
                lambda: far,
                _reached(self.url, stream_url),
                extra_headers=_shown(self, stream_url, {}, self.url),
                websocket_handshake_timeout=CONNECT_SECONDS,
                use_aiofastnet=False,
                logger_name=_SILENT,
            )
        except (WSHandshakeError, OSError, TimeoutError) as error:
            phone.end("failure", f"the socket was refused: {_said(error)}")
            return
        try:
            await phone.over.wait()
        finally:
            transport.disconnect(False)
        try:
            await transport.wait_disconnected()
        except WSProtocolError as error:
            phone.complain(f"31924: {error}")


def _reached(url: str, stream_url: str) -> str:
    """Return where the stream is opened: where the gateway is reached, by the path it named."""
    near, named = urlsplit(url), urlsplit(stream_url)
    return urlunsplit((near.scheme, near.netloc, named.path, near.query, ""))


class RefusedError(Exception):
    """The call was turned away before it was answered."""


def _said(error: Exception) -> str:
    if isinstance(error, WSHandshakeError) and error.response is not None:
        return f"HTTP {int(error.response.status)}"
    return str(error) or "timeout"


# --- before the stream -------------------------------------------------------------------------


def webhook_url(target: TwilioCaller) -> str | None:
    """Return the gateway's voice webhook, which lies beside the media socket."""
    parts = urlsplit(target.url)
    if not parts.path.endswith("/stream"):
        return None
    path = parts.path.removesuffix("stream") + "voice"
    if target.agent:
        path += "/" + quote(target.agent, safe="")
    scheme = {"ws": "http", "wss": "https"}[parts.scheme]
    return urlunsplit((scheme, parts.netloc, path, "", ""))


async def _ask_for_stream(target: TwilioCaller, call_sid: str) -> tuple[str, dict[str, str]]:
    """Return the stream's URL and parameters, from the gateway's TwiML or from what is known."""
    own = {"token": target.token} if target.token else {}
    own |= {"agent": target.agent} if target.agent else {}
    url = webhook_url(target)
    if url is None or not target.webhook or target.token:
        return target.url, own
    form = {
        "CallSid": call_sid,
        "AccountSid": target.account_sid,
        "From": target.caller,
        "To": target.callee,
        "CallStatus": "ringing",
        "Direction": "inbound",
        "ApiVersion": "2010-04-01",
    }
    headers = _shown(target, url, form, url)
    try:
        # Loading the world's certificates takes 30 ms, in which other calls would be late.
        secure = url.startswith("https:")
        async with httpx.AsyncClient(
            timeout=CONNECT_SECONDS, trust_env=False, verify=secure
        ) as client:
            response = await client.post(url, data=form, headers=headers)
    except (httpx.HTTPError, OSError) as error:
        raise RefusedError(f"the webhook was not reached: {error}") from None
    if response.status_code in (404, 405):
        return target.url, own  # a gateway without a webhook
    if response.status_code != 200:
        raise RefusedError(f"the webhook answered {response.status_code}")
    return read_twiml(response.text)


def read_twiml(document: str) -> tuple[str, dict[str, str]]:
    """Find the stream a TwiML document leads to; raises RefusedError where it leads elsewhere."""
    try:
        verbs = list(ElementTree.fromstring(document))
    except ElementTree.ParseError as error:
        raise RefusedError(f"no TwiML: {error}") from None
    first = verbs[0] if verbs else None
    stream = None if first is None else first.find("Stream")
    if first is None or first.tag != "Connect" or stream is None:
        name = "nothing" if first is None else first.tag.lower()
        detail = "" if first is None else first.get("reason", "") or (first.text or "")
        raise RefusedError(f"the webhook answered with {name} {detail}".rstrip())
    parameters = {p.get("name", ""): p.get("value", "") for p in stream.iterfind("Parameter")}
    return stream.get("url", ""), parameters


def _shown(target: TwilioCaller, url: str, form: dict[str, str], asked: str) -> dict[str, str]:
    """Sign for `url`; without a secret, prove to a gateway of ours that its owner plays Twilio."""
    if not target.auth_token:
        return proof(asked)
    signed = RequestValidator(target.auth_token).compute_signature(url, form)
    return {"X-Twilio-Signature": signed}


# --- the stream --------------------------------------------------------------------------------


class _FarEnd(WSListener):
    """Twilio's end of the media socket."""

    def __init__(
        self, phone: Phone, target: TwilioCaller, call_sid: str, parameters: dict[str, str]
    ) -> None:
        self._phone = phone
        self._sid = "MZ" + secrets.token_hex(16)
        self._parameters = parameters
        self._writer = Writer(self._sid, call_sid, target.account_sid)
        self._transport: WSTransport | None = None
        self._closed: tuple[int, str] | None = None
        self._timer: asyncio.TimerHandle | None = None

    # --- for the phone ---------------------------------------------------------------------

    def send(self, payload: bytes, start: int) -> None:
        """Send a frame of the caller's sound."""
        self._write(self._writer.media(payload, start // 8))  # 8 samples a millisecond

    def press(self, key: str) -> None:
        """Send a key."""
        self._write(self._writer.dtmf(key))

    def passed(self, marks: Sequence[str]) -> None:
        """Send marks back."""
        for name in marks:
            self._write(self._writer.mark(name))

    def hang_up(self) -> None:
        """Stop the stream and close the socket, as Twilio does when a caller hangs up."""
        self._write(self._writer.stop())
        if self._transport is not None:
            self._transport.send_close(WSCloseCode.OK)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(CLOSE_SECONDS, self._transport.disconnect, False)

    def _write(self, message: bytes) -> None:
        if self._transport is not None:
            self._transport.send(WSMsgType.TEXT, message)

    # --- for picows ------------------------------------------------------------------------

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self._write(self._writer.connected())
        self._write(self._writer.start(self._parameters))
        self._phone.begin(self)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            code = int(cast(int, frame.get_close_code()))
            self._closed = (code, frame.get_close_reason() or "")
            transport.send_close(WSCloseCode.OK)
            transport.disconnect()
        elif frame.msg_type == WSMsgType.BINARY or not frame.fin:
            self._phone.complain("31950: not one whole text message")
        elif frame.msg_type == WSMsgType.TEXT:
            self._take(frame.get_payload_as_memoryview())

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        code, reason = self._closed or (1006, "connection lost")
        if code in NORMAL:
            self._phone.end("agent", reason or "hung up")
        else:
            self._phone.end("failure", f"{code} {reason}".rstrip())

    def _take(self, text: memoryview) -> None:
        try:
            message = parse(text, self._sid)
        except ValueError as error:
            self._phone.complain(str(error))
            return
        match message:
            case Media(media=media):
                self._phone.hear(media.payload)
            case Mark(mark=mark):
                self._phone.mark(mark.name)
            case Clear():
                self._phone.clear()
