"""One call from a page, from the offer to the last packet: the shell around peer and leg."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.events import CallerGone, CallerKey, CallInfo
from gateway.lines.rtp.session import Numbers, SessionSettings
from gateway.lines.webrtc.ice import Hosts, Ice
from gateway.lines.webrtc.leg import WebrtcLeg
from gateway.lines.webrtc.offer import Agreed, Fragment, IceParameters, Ours, write_answer
from gateway.lines.webrtc.peer import Peer, Taker
from gateway.lines.webrtc.settings import WebrtcSettings
from gateway.lines.webrtc.stream import PageStream
from gateway.lines.webrtc.transports import RTCCertificate
from gateway.lines.webrtc.watch import Limits
from gateway.ports import Free

GOODBYE_SECONDS = 0.4
"""How long the last message has to reach the page before the connection closes: two round trips
of a bad path."""

CLOSE_SECONDS = 3.0
"""Within which a connection is closed, whatever its far side does."""

HUNG_UP = "caller hung up"
"""Why a call ends whose page needs no goodbye."""

RESTARTS_MOST = 50
"""In one call; a page that begins anew more often than that is broken."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that was let in."""

    info: CallInfo
    agreed: Agreed
    hosts: Hosts
    limits: Limits
    free: Free
    "gives back the place that is kept for the call until it is up"


class PageSession:
    """Connects one page and keeps it connected."""

    def __init__(
        self,
        wanted: Wanted,
        settings: WebrtcSettings,
        certificate: RTCCertificate,
        begin: Callable[[WebrtcLeg], None],
    ) -> None:
        """`begin` is told of the leg once sound can flow."""
        self.info = wanted.info
        self.leg: WebrtcLeg | None = None
        self.restarts = 0
        self.ice: IceParameters | None = None
        "ours, as the page knows them"
        self._wanted = wanted
        self._settings = settings
        self._begin = begin
        self._over = asyncio.Event()
        self._reason: tuple[str, bool] = ("", False)
        self._group: asyncio.TaskGroup | None = None
        self._loop = asyncio.get_running_loop()
        self._log = structlog.get_logger("webrtc").bind(call_id=wanted.info.call_id)
        wall = time.time() - self._loop.time()
        self._stream = PageStream(
            wanted.agreed,
            settings.rate,
            Numbers(secrets.randbits(32), secrets.randbits(15), secrets.randbits(32)),
            SessionSettings(self.info.call_id, wall, settings.bitrate),
            secrets.randbelow,
        )
        taker = Taker(self._rtp, self._rtcp, self._text, self._alive, self._lost)
        self.peer = Peer(wanted.hosts, settings.ports, certificate, wanted.agreed, taker)

    # --- what signalling asks for --------------------------------------------------------------

    async def answer(self) -> bytes:
        """Open the sockets and write the answer; raises OSError."""
        self.ice = await self.peer.open()
        ours = Ours(
            secrets.randbits(62),
            self.ice,
            self.peer.fingerprints,
            self._stream.ssrc,
            self.info.call_id,
            self.info.rate,
        )
        return write_answer(self._wanted.agreed, ours)

    async def restart(self, fragment: Fragment) -> IceParameters | None:
        """Begin ICE anew; None where this call cannot any more; raises OSError."""
        if self._group is None or self._over.is_set() or self.restarts >= RESTARTS_MOST:
            return None
        self.restarts += 1
        ice, parameters = await self.peer.restart()
        if self._over.is_set():
            await ice.close()  # the call ended meanwhile
            return None
        self.ice = parameters
        remote = IceParameters(fragment.ufrag, fragment.password, fragment.candidates)
        self._group.create_task(self._take_over(ice, remote))
        return parameters

    async def learn(self, fragment: Fragment) -> None:
        """Take candidates that the page found later."""
        await self.peer.learn(fragment.candidates)

    def end(self, reason: str, failure: bool = False) -> None:
        """Take the call down."""
        if not self._over.is_set():
            self._reason = (reason, failure)
            self._over.set()

    # --- its life --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Connect, carry, and leave nothing behind."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._last())
                if not await self._connect():
                    raise _Over
                self._group = group
                group.create_task(self._open_channel())
        except* _Over:
            pass
        finally:
            self._group = None
            if self.leg is not None:
                self.leg.notice(CallerGone(*self._reason))
                self._log.info("call_over", reason=self._reason[0], **self._quality())
            await self.close()

    async def _last(self) -> None:
        """Wait for the end, which may come before the connection is up, and stop all else."""
        await self._over.wait()
        self._group = None
        if self.leg is not None and self._reason[0] != HUNG_UP:
            await asyncio.sleep(GOODBYE_SECONDS)
        raise _Over

    async def _connect(self) -> bool:
        """Bring the connection up; the call begins with it."""
        try:
            async with asyncio.timeout(self._settings.connect_seconds):
                await self.peer.connect()
        except (ConnectionError, TimeoutError) as error:
            self._log.info("connection_failed", reason=str(error) or "no way was found in time")
            return False
        if self._over.is_set():
            return False
        page = self._wanted.agreed.channel_mid is not None
        limits = self._wanted.limits
        self.leg = WebrtcLeg(self.info, self._stream, self.peer, limits, self.end, page)
        self._log.info("connected", codec=self._wanted.agreed.codec.name)
        self._wanted.free()
        self._begin(self.leg)
        return True

    def _quality(self) -> dict[str, float | None]:
        """Return how the sound came and went, in seconds and shares."""
        quality = self._stream.quality(self._loop.time())
        figures = {
            "received": quality.received,
            "lost": quality.lost,
            "late": quality.late,
            "concealed": quality.concealed,
            "jitter": quality.jitter,
            "far_loss": quality.far_loss,
            "round_trip": quality.round_trip,
        }
        return {name: None if one is None else round(one, 4) for name, one in figures.items()}

    async def _open_channel(self) -> None:
        await self.peer.opened.wait()
        if self.leg is not None:
            self.leg.greet()

    async def _take_over(self, ice: Ice, remote: IceParameters) -> None:
        try:
            async with asyncio.timeout(self._settings.connect_seconds):
                moved = await self.peer.takes_over(ice, remote)
        except TimeoutError:
            moved = False
        self._log.info("ice_restarted" if moved else "ice_restart_failed")

    async def close(self) -> None:
        """Let sockets and keys go."""
        self._wanted.free()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.peer.close()
        except (TimeoutError, ConnectionError) as error:
            self._log.warning("close_failed", reason=repr(error))

    # --- what the peer brings --------------------------------------------------------------------

    def _rtp(self, packet: bytes) -> None:
        key = self._stream.receive(packet, self._loop.time())
        if key is not None and self.leg is not None:
            self.leg.notice(CallerKey(key))

    def _rtcp(self, packet: bytes) -> None:
        self._stream.receive_report(packet, self._loop.time())

    def _text(self, text: str) -> None:
        if self.leg is not None:
            self.leg.take_text(text)

    def _alive(self) -> None:
        if self.leg is not None:
            self.leg.alive()

    def _lost(self) -> None:
        self.end(HUNG_UP)


class _Over(Exception):
    """Ends a session's task group."""
