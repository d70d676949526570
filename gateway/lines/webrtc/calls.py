"""The calls of web pages: who is let in, and every call from its offer to its last packet."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.events import CallInfo
from gateway.lines.webrtc.access import Access, Admitted, Caller, Denied
from gateway.lines.webrtc.ice import Hosts
from gateway.lines.webrtc.leg import WebrtcLeg
from gateway.lines.webrtc.offer import Agreed
from gateway.lines.webrtc.peer import Certificates
from gateway.lines.webrtc.session import PageSession, Wanted
from gateway.lines.webrtc.settings import WebrtcSettings
from gateway.lines.webrtc.tokens import Passes
from gateway.lines.webrtc.watch import Limits
from gateway.log_events import CallRefusedLogged
from gateway.plumbing.fence import is_stop
from gateway.plumbing.seat import ALONE, Seat
from gateway.ports import CallTaker, Refusal

log = structlog.get_logger("webrtc")


@dataclass(frozen=True, slots=True)
class Opened:
    """A call that was answered."""

    name: str
    "unguessable: it is in the address that the page ends the call with"
    session: PageSession
    answer: bytes


class PageCalls:
    """Lets calls in and runs them; made on the running loop."""

    def __init__(
        self,
        settings: WebrtcSettings,
        answer: CallTaker,
        default_agent: str,
        seat: Seat = ALONE,
    ) -> None:
        self.settings = settings
        self._answer = answer
        self._default_agent = default_agent
        self._seat = seat
        self._certificates = Certificates()
        key = settings.token_key or seat.secret
        # Whose it is decides where it is used: calls spread over all processes.
        passes = Passes(key, settings.token_seconds, seat.draw_anywhere, seat.since)
        self.access = Access(settings, passes)
        self.sessions: dict[str, PageSession] = {}
        "by the unguessable part of their address"
        self._group: asyncio.TaskGroup | None = None
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def run(self, ready: Callable[[], None]) -> None:
        """Carry calls until `stop`, then end those that are left."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            ready()
            await self._stop.wait()
            self._group = None
            for session in self.sessions.values():
                session.end("gateway stopped")

    def stop(self) -> None:
        """Let `run` end."""
        self._stop.set()

    def now(self) -> float:
        """Return the loop's time."""
        return self._loop.time()

    # --- for signalling ------------------------------------------------------------------------

    def agent(self, name: str) -> str:
        """Return the agent that is meant by a path."""
        return self._default_agent if name == "default" else name

    def knows(self, agent: str) -> bool:
        """Return whether there is such an agent."""
        return self._answer.knows(agent)

    def missed(self, call: CallRefusedLogged) -> None:
        """Write down a call that is not taken."""
        self._answer.missed(call)

    def busy(self, agent: str) -> Refusal | None:
        """Return why there can be no call for an agent now."""
        if self._group is None:
            return Refusal("draining", 5, "The gateway is being restarted.")
        pending = sum(1 for one in self.sessions.values() if one.leg is None)
        if pending >= self.settings.pending:
            return Refusal("busy", 5, "All lines are busy.", "connecting")
        return self._answer.admit(agent)

    def admit(self, caller: Caller, agent: str) -> Admitted | Denied:
        """Let a caller in, or not."""
        return self.access.admit(caller, agent, self.now(), time.time())

    async def open(self, admitted: Admitted, agreed: Agreed, origin: str, hosts: Hosts) -> Opened:
        """Answer a call; raises OSError where no port is to be had."""
        name = self._seat.draw()
        try:
            session = self._session(admitted, agreed, origin, hosts)
            self.sessions[name] = session
            answer = await self._answered(session)
        except BaseException:
            self.sessions.pop(name, None)
            self.access.undo(admitted)
            raise
        assert self._group is not None
        self._group.create_task(self._carry(name, session, admitted))
        log.info("call_answered", call_id=session.info.call_id, agent=session.info.agent)
        return Opened(name, session, answer)

    def _session(
        self, admitted: Admitted, agreed: Agreed, origin: str, hosts: Hosts
    ) -> PageSession:
        grant, codec = admitted.grant, agreed.codec
        opus = codec.name == "opus"
        info = CallInfo(
            call_id="WR" + secrets.token_hex(12),
            line="webrtc",
            agent=grant.agent,
            caller=grant.caller,
            rate=self.settings.rate if opus else codec.rate,
            codec="l16" if opus else codec.name,
            negotiated=codec.name,
            variables={"origin": origin, **grant.metadata},
            page={"origin": origin, "metadata": grant.metadata} if origin else {},
        )
        seconds = min(self.settings.call_seconds, grant.seconds or self.settings.call_seconds)
        limits = Limits(seconds, self.settings.goodbye, self.settings.away_seconds)
        # Before anything is waited for: offers that come together count each other.
        wanted = Wanted(info, agreed, hosts, limits, self._answer.take())
        return PageSession(wanted, self.settings, self._certificates.current(), self._begin)

    async def _answered(self, session: PageSession) -> bytes:
        """Write the answer, or leave nothing of the session behind."""
        try:
            answer = await session.answer()
            if self._group is None:
                raise OSError("the gateway was stopped meanwhile")
        except BaseException:
            await session.close()
            raise
        return answer

    def _begin(self, leg: WebrtcLeg) -> None:
        self._answer.begin(leg)

    async def _carry(self, name: str, session: PageSession, admitted: Admitted) -> None:
        try:
            await session.run()
        except BaseException as raised:  # fence: one broken call must not touch the others
            if is_stop(raised):
                raise
            log.exception("session_broke", call_id=session.info.call_id)
        finally:
            self.sessions.pop(name, None)
            self.access.release(admitted)
