"""A caller on the WebRTC line: what a browser does, through aiortc, without a page.

Signalling, ICE, DTLS and the data channel are aiortc's own, so that two implementations meet.
Its media path is not used: it spends a tenth of a second of CPU on each second of a call, and adds
a delay of its own after a loss, which would be measured as the gateway's.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
from aiortc import (
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.rtp import RtpPacket

from gateway.caller.phone import Phone
from gateway.doors.owner import bearer, proof
from gateway.lines.rtp.packet import Packet
from gateway.plumbing.wire_json import parse
from media.codec import WireForm, wire_form
from media.frame import FRAME_SECONDS
from media.level import level
from media.opus import CLOCK, OpusDecoder, OpusEncoder

CONNECT_SECONDS = 15.0
REPORT_SECONDS = 0.1
"""How often the gateway is told what was played, as by the widget while the agent speaks."""

SILENT_FRAMES = 20
"""After this much silence more of it is not queued: what came late in it delays nothing."""

SILENT_DB = -70.0

CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class WebrtcCaller:
    """How a call is placed."""

    url: str
    "`http://host:port/webrtc/AGENT`"
    token: str = ""
    origin: str = ""
    "of the page that is played; empty: none, as from a program"
    rate: int = 24000
    loses: Callable[[int], bool] | None = None
    "says of each frame of the caller's whether it is lost on its way"
    arrived: Callable[[int], None] | None = None
    "told the RTP time of each packet of sound as it comes"

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        _ = parts.port  # raises ValueError where it is none
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.url!r} is no http:// or https:// address")

    @property
    def form(self) -> WireForm:
        """What a call carries, on both sides of the codec."""
        return wire_form("l16", self.rate)

    def new_id(self) -> str:
        """Draw a name for the report; the gateway has its own."""
        return "W" + secrets.token_hex(8)

    async def call(self, call_id: str, phone: Phone) -> None:
        """Place one call and return when it is over; `phone` is told how it went."""
        far = Browser(self, phone)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await far.connect()
        except RefusedError as refused:
            phone.end("failure", str(refused))
        except TimeoutError:
            phone.end("failure", "no connection in time")
        else:
            await phone.over.wait()
        finally:
            await far.close()


class RefusedError(Exception):
    """The call was turned away before it was answered."""


class Browser:
    """One connection; the far end of a `Phone`."""

    def __init__(
        self,
        caller: WebrtcCaller,
        phone: Phone,
        told: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """`told` is given every message of the gateway."""
        self._told = told
        self._caller = caller
        self._phone = phone
        self._loop = asyncio.get_running_loop()
        self._pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._transceiver = self._pc.addTransceiver("audio", direction="sendrecv")
        self._channel = self._pc.createDataChannel("parley", protocol="parley.1")
        self._reports = self._pc.createDataChannel(
            "played", ordered=False, maxRetransmits=0, negotiated=True, id=100
        )
        self._voice = _Voice(caller.rate, self._transceiver.sender._ssrc)
        self._session = ""
        self._connected = asyncio.Event()
        self._ended = False
        self._silent = 0
        self._begins = 0.0
        "when the newest frame begins to be heard"
        self._reported = 0.0

    async def connect(self) -> None:
        """Offer, and wait for the connection; raises RefusedError."""
        self._take_over_media()
        self._channel.on("message", self._take_message)
        self._pc.on("connectionstatechange", self._changed)
        await self._pc.setLocalDescription(await self._pc.createOffer())
        answer = await self._ask(self._pc.localDescription.sdp)
        await self._pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        self._voice.type = self._transceiver._codecs[0].payloadType or 96
        await self._connected.wait()
        if self._pc.connectionState != "connected":
            raise RefusedError("the connection failed")
        self._phone.begin(self)

    async def close(self) -> None:
        """Hang up, and let everything go."""
        if self._session:
            try:
                async with asyncio.timeout(CLOSE_SECONDS), _client() as client:
                    await client.delete(self._session, headers=self._headers())
            except (httpx.HTTPError, OSError, TimeoutError):
                self._phone.complain("DELETE was not answered")
        await self._pc.close()

    def connections(self) -> list[Any]:
        """Return aioice's ends of the connection, whose network a test may take away."""
        return [self._transceiver.receiver.transport.transport._connection]

    async def _ask(self, offer: str) -> str:
        headers = {"Content-Type": "application/sdp", **self._headers()}
        try:
            async with _client() as client:
                response = await client.post(self._caller.url, content=offer, headers=headers)
        except (httpx.HTTPError, OSError) as error:
            raise RefusedError(f"the gateway was not reached: {error}") from None
        if response.status_code != 201:
            raise RefusedError(f"HTTP {response.status_code} {_said(response)}".rstrip())
        self._session = urljoin(self._caller.url, response.headers["location"])
        return response.text

    def _headers(self) -> dict[str, str]:
        if self._caller.token:
            shown = bearer(self._caller.token)
        else:
            # A visitor of somebody's page is not this machine's owner, and plays none.
            shown = {} if self._caller.origin else proof(self._caller.url)
        return shown | ({"Origin": self._caller.origin} if self._caller.origin else {})

    def _changed(self) -> None:
        state = self._pc.connectionState
        if state in ("connected", "failed", "closed"):
            self._connected.set()
        if state in ("failed", "closed") and not self._ended:
            self._ended = True
            self._session = ""
            self._phone.end("failure", "the connection was lost")

    # --- in the place of aiortc's media path -----------------------------------------------------

    def _take_over_media(self) -> None:
        receiver: Any = self._transceiver.receiver

        async def receive(parameters: Any) -> None:
            receiver.transport._register_rtp_receiver(receiver, parameters)

        async def take(packet: RtpPacket, arrival_time_ms: int) -> None:
            self._hear(packet)

        async def nothing(*_: object) -> None:
            """What aiortc would send by itself is sent here."""

        receiver.receive = receive
        receiver._handle_rtp_packet = take
        receiver._handle_rtcp_packet = nothing
        receiver.stop = nothing
        sender: Any = self._transceiver.sender
        sender.send = nothing
        sender.stop = nothing

    def _hear(self, packet: RtpPacket) -> None:
        if self._caller.arrived is not None:
            self._caller.arrived(packet.timestamp)
        if self._ended or packet.payload_type != self._voice.type or self._phone.schedule.now <= 0:
            return
        try:
            pcm = self._voice.decode(packet.payload)
        except ValueError as error:
            self._phone.complain(f"Opus: {error}")
            return
        self._silent = self._silent + 1 if level(pcm) < SILENT_DB else 0
        now = self._loop.time()
        begins = max(now, self._begins + FRAME_SECONDS)
        if self._silent > SILENT_FRAMES:
            begins = now
        else:
            self._phone.hear(pcm)
        self._begins = begins
        if now - self._reported >= REPORT_SECONDS:
            self._reported = now
            age_ms = 1000 * (now - begins)
            told = {"type": "played", "rtp": packet.timestamp, "age_ms": round(age_ms, 2)}
            self.say(told, self._reports)

    # --- for the phone ---------------------------------------------------------------------------

    def send(self, payload: bytes, start: int) -> None:
        """Send a frame of the caller's sound."""
        packet = self._voice.packet(payload, start)
        loses = self._caller.loses
        if loses is None or not loses(start * 50 // self._caller.rate):
            _now(self._transceiver.sender.transport._send_rtp(packet))

    def press(self, key: str) -> None:
        """Send a key."""
        self.say({"type": "keys", "keys": key})

    def passed(self, marks: Sequence[str]) -> None:
        """RTP has no marks."""

    def hang_up(self) -> None:
        """End the call; `close` tells the gateway."""
        self._ended = True
        self._loop.call_soon(self._phone.end, "caller", "hung up")

    def say(self, message: dict[str, Any], channel: RTCDataChannel | None = None) -> None:
        """Send a message on a data channel, the first if none is named."""
        channel = channel or self._channel
        if channel.readyState == "open":
            channel.send(json.dumps({"v": 1, **message}))

    def _take_message(self, text: Any) -> None:
        try:
            message = parse(text)
        except (TypeError, ValueError):
            message = None
        if not isinstance(message, dict):
            self._phone.complain("the data channel carried no JSON object")
            return
        if self._told is not None:
            self._told(message)
        if message.get("type") == "hello":
            self._phone.known_as = str(message.get("call", ""))
        if message.get("type") == "end" and not self._ended:
            self._ended = True
            self._session = ""
            by = "agent" if message.get("by") == "agent" else "failure"
            self._phone.end(by, str(message.get("reason", "")))  # type: ignore[arg-type]


class _Voice:
    """The caller's Opus, and packets whose numbers follow the caller's own clock."""

    def __init__(self, rate: int, ssrc: int) -> None:
        self.type = 96
        "payload type"
        self.decode = OpusDecoder(rate).decode
        self._encode = OpusEncoder(rate).encode
        self._rate = rate
        self._ssrc = ssrc
        self._sequence = secrets.randbits(15)
        self._origin = secrets.randbits(31)

    def packet(self, pcm: bytes, start: int) -> bytes:
        """Make the packet of the frame that begins at position `start`."""
        sequence = (self._sequence + start * 50 // self._rate) & 0xFFFF
        timestamp = (self._origin + start * (CLOCK // self._rate)) & 0xFFFFFFFF
        return Packet(self.type, sequence, timestamp, self._ssrc, self._encode(pcm)).encode()


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=CONNECT_SECONDS, trust_env=False)


def _said(response: httpx.Response) -> str:
    try:
        problem = parse(response.content)
    except ValueError:
        return ""
    return str(problem.get("title", "")) if isinstance(problem, dict) else ""


def _now(sending: Coroutine[Any, Any, None]) -> None:
    """Run what never waits to its end, without a task."""
    try:
        sending.send(None)
    except (StopIteration, ConnectionError):
        return
    sending.close()
