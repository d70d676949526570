"""One browser's connection: ICE, DTLS, SRTP keys and the data channel, of aiortc and aioice.

Sound does not pass through aiortc: datagrams of RTP are decrypted where they arrive and handed on,
and ours are encrypted and sent at once, without a task or a queue for either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pylibsrtp
import structlog

from gateway.lines.webrtc.ice import Hosts, Ice
from gateway.lines.webrtc.offer import MESSAGE_MOST, Agreed, Fingerprint, IceParameters
from gateway.lines.webrtc.transports import (
    RTCCertificate,
    RTCDataChannel,
    RTCDataChannelParameters,
    RTCDtlsFingerprint,
    RTCDtlsParameters,
    RTCDtlsTransport,
    RTCSctpCapabilities,
    RTCSctpTransport,
)

QUEUE_MOST = 256
"""Datagrams of DTLS that wait; a handshake has ten, and what is dropped is sent again."""

BUFFERED_MOST = 262144
"""Bytes that wait for a page which takes none; more means that it hangs, and captions are lost."""

REPORTS = RTCDataChannelParameters(
    label="played", protocol="parley.1", negotiated=True, id=100, ordered=False, maxRetransmits=0
)
"""The data channel by which a page says what it plays: a report that is lost is not sent again and
holds up no other, and none waits for the channel to be opened."""

CERTIFICATE_LIFE = timedelta(days=1)
"""A certificate is used for so long; it is valid for thirty days."""

log = structlog.get_logger("webrtc")


class Certificates:
    """Keeps the certificate that this process shows, and makes a new one each day."""

    def __init__(self) -> None:
        self._made = datetime.min.replace(tzinfo=UTC)
        self._certificate: RTCCertificate | None = None

    def current(self) -> RTCCertificate:
        """Return the certificate for a new call."""
        now = datetime.now(UTC)
        if self._certificate is None or now - self._made > CERTIFICATE_LIFE:
            self._certificate, self._made = RTCCertificate.generateCertificate(), now
        return self._certificate


@dataclass(frozen=True, slots=True)
class Taker:
    """Who takes what arrives; all are called on the loop and return at once."""

    rtp: Callable[[bytes], None]
    rtcp: Callable[[bytes], None]
    text: Callable[[str], None]
    alive: Callable[[], None]
    "something authenticated arrived"
    closed: Callable[[], None]
    "the page has closed the connection"


class _Path:
    """What aiortc's DTLS takes for an ICE transport: stays when ICE begins anew."""

    role = "controlled"

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE_MOST)
        self.ice: Ice | None = None

    async def _recv(self) -> bytes:
        data = await self.queue.get()
        if data is None:
            raise ConnectionError("closed")
        return data

    async def _send(self, data: bytes) -> None:
        if self.ice is not None:
            self.ice.send_now(data)


class Peer:
    """Connects, carries, restarts and closes; knows nothing of calls."""

    def __init__(
        self,
        hosts: Hosts,
        ports: tuple[int, int],
        certificate: RTCCertificate,
        agreed: Agreed,
        taker: Taker,
    ) -> None:
        self._hosts = hosts
        self._ports = ports
        self._agreed = agreed
        self._taker = taker
        self._path = _Path()
        self._dtls = RTCDtlsTransport(self._path, [certificate])  # type: ignore[arg-type]
        self._dtls._set_role("server")
        self._sctp: RTCSctpTransport | None = None
        self._channel: RTCDataChannel | None = None
        self._restarted: Ice | None = None
        "the ICE agent that will take over once it has found a way"
        self.opened = asyncio.Event()
        "the data channel can be written to"

    # --- its life ----------------------------------------------------------------------------

    @property
    def fingerprints(self) -> tuple[Fingerprint, ...]:
        """Names of our certificate."""
        ours = self._dtls.getLocalParameters().fingerprints
        return tuple(Fingerprint(one.algorithm, one.value) for one in ours)

    async def open(self) -> IceParameters:
        """Open the sockets; raises OSError."""
        self._path.ice = ice = self._agent()
        return await ice.open()

    async def connect(self) -> None:
        """Find a way, shake hands, open the data channel; raises ConnectionError."""
        assert self._path.ice is not None, "open comes first"
        await self._path.ice.check(self._agreed.ice)
        theirs = [RTCDtlsFingerprint(one.digest, one.value) for one in self._agreed.fingerprints]
        await self._dtls.start(RTCDtlsParameters(fingerprints=theirs))
        if self._dtls.state != "connected":
            raise ConnectionError("the DTLS handshake failed")
        self._dtls.on("statechange", self._changed)
        if self._agreed.channel_mid is not None:
            self._sctp = RTCSctpTransport(self._dtls)
            self._sctp.on("datachannel", self._take_channel)
            capabilities = RTCSctpCapabilities(maxMessageSize=MESSAGE_MOST)
            RTCDataChannel(self._sctp, REPORTS).on("message", self._take_message)
            await self._sctp.start(capabilities, self._agreed.channel_port)

    async def restart(self) -> tuple[Ice, IceParameters]:
        """Make a second ICE agent, which takes over once `takes_over` found a way for it."""
        if self._restarted is not None:
            await self._restarted.close()
        self._restarted = ice = self._agent()
        return ice, await ice.open()

    async def takes_over(self, ice: Ice, remote: IceParameters) -> bool:
        """Run the checks of a restart; False where there is no way, or a newer restart."""
        try:
            await ice.check(remote)
        except ConnectionError:
            return False
        if self._restarted is not ice:
            return False
        self._restarted = None
        old, self._path.ice = self._path.ice, ice
        if old is not None:
            await old.close()
        return True

    async def learn(self, candidates: tuple[str, ...]) -> None:
        """Take candidates that the page found later."""
        ice = self._restarted or self._path.ice
        if ice is not None:
            for text in candidates:
                await ice.learn(text)

    async def close(self) -> None:
        """Say goodbye and let everything go."""
        if self._sctp is not None:
            await self._sctp.stop()
        await self._dtls.stop()
        for ice in (self._path.ice, self._restarted):
            if ice is not None:
                await ice.close()
        self._path.ice = self._restarted = None
        if not self._path.queue.full():
            self._path.queue.put_nowait(None)

    def _changed(self) -> None:
        if self._dtls.state in ("closed", "failed"):
            self._taker.closed()

    def _agent(self) -> Ice:
        return Ice(self._hosts, self._ports, self._arrived, self._taker.alive)

    # --- what arrives --------------------------------------------------------------------------

    def _arrived(self, data: bytes) -> None:
        if 127 < data[0] < 192:
            self._media(data)
        elif 19 < data[0] < 64 and not self._path.queue.full():
            self._path.queue.put_nowait(data)

    def _media(self, data: bytes) -> None:
        session = self._dtls._rx_srtp
        if session is None or len(data) < 12:
            return
        try:
            # RFC 5761, section 4: RTCP is told from RTP by its packet type.
            if 192 <= data[1] <= 223:
                self._taker.rtcp(session.unprotect_rtcp(data))
            else:
                self._taker.rtp(session.unprotect(data))
        except pylibsrtp.Error:
            return  # not from who has the key, or a repetition
        self._taker.alive()

    def _take_channel(self, channel: RTCDataChannel) -> None:
        if self._channel is not None:
            return
        self._channel = channel
        channel.on("message", self._take_message)
        self.opened.set()

    def _take_message(self, message: Any) -> None:
        if isinstance(message, str):
            self._taker.text(message)

    # --- what leaves -----------------------------------------------------------------------------

    def send_rtp(self, packet: bytes) -> None:
        """Encrypt and send a packet of sound."""
        session, ice = self._dtls._tx_srtp, self._path.ice
        if session is not None and ice is not None:
            ice.send_now(session.protect(packet))

    def send_rtcp(self, packet: bytes) -> None:
        """Encrypt and send a report."""
        session, ice = self._dtls._tx_srtp, self._path.ice
        if session is not None and ice is not None:
            ice.send_now(session.protect_rtcp(packet))

    @property
    def round_trip(self) -> float | None:
        """Seconds, the shortest of a connectivity check on the present way."""
        return self._path.ice.round_trip if self._path.ice is not None else None

    def send_text(self, text: str) -> bool:
        """Send a message to the page; False where nobody takes any."""
        channel = self._channel
        if channel is None or channel.readyState != "open":
            return False
        if channel.bufferedAmount > BUFFERED_MOST:
            return False
        channel.send(text)
        return True
