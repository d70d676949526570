"""Places calls: finds the way, waits for what comes of it, and puts the agent on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.lines.sip.admission import rejection
from gateway.lines.sip.desk import Desk, Member
from gateway.lines.sip.dialing import DialOrder, DialOutcome, Placed, Route, find_route
from gateway.lines.sip.dialogs.placing import Dial
from gateway.lines.sip.dialogs.vocabulary import HangUp
from gateway.lines.sip.network import SipNetwork, token
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.toll import Toll
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import CallTaker

Progress = Callable[[str, int], None]
"""Told `ringing` and `early_media`, with the status code."""


class Dialler:
    """The calls that go out."""

    def __init__(
        self,
        settings: SipSettings,
        network: SipNetwork,
        desk: Desk,
        answer: CallTaker,
        default_agent: str,
        toll: Toll,
    ) -> None:
        self.toll = toll
        self.group: asyncio.TaskGroup | None = None
        self._settings = settings
        self._network = network
        self._desk = desk
        self._answer = answer
        self._default = default_agent

    async def dial(self, order: DialOrder, progress: Progress | None = None) -> DialOutcome:
        """Place a call, and wait until it is answered or is not; its agent then talks by itself.

        Raises ValueError for an impossible order.
        A call that is given up (by cancelling this) is cancelled or hung up.
        """
        agent = order.agent or self._settings.agent or self._default
        refusal = self._answer.admit(agent)
        identity = token()
        if refusal is not None:
            refused = rejection(refusal, agent)
            missed = CallRefusedLogged(
                line="sip",
                direction="outbound",
                cause=refused.cause,
                said=refused.why,
                agent=agent,
                callee=order.target,
            )
            self._answer.missed(missed)
            return DialOutcome("unavailable", identity, refused.code, refused.why)
        begun = asyncio.get_running_loop().time()
        outcome = DialOutcome("cancelled", identity, 0, "given up")
        try:
            outcome = await self._dial(order, agent, identity, progress)
        except OSError as error:
            outcome = DialOutcome("failed", identity, 0, str(error))
            raise
        finally:
            self._failed(order, agent, outcome, asyncio.get_running_loop().time() - begun)
        return outcome

    async def _dial(
        self, order: DialOrder, agent: str, identity: str, progress: Progress | None
    ) -> DialOutcome:
        route = self.route(order)
        screened = self._settings.answering_machine
        placed = Placed(order, identity, agent, route.trunk, progress, screened=screened)
        free = self._answer.take()
        try:
            member = await self._place(order, route, placed)
        except BaseException:
            free()
            raise
        if member is None:
            free()
            return DialOutcome("failed", identity, 0, "the address leads nowhere")
        member.free = free
        if placed.outcome.done():
            free()  # it came to nothing while it was placed
        try:
            return await placed.outcome
        except asyncio.CancelledError:
            self._desk.order(member.key, HangUp("given up"))
            raise

    def _failed(self, order: DialOrder, agent: str, outcome: DialOutcome, seconds: float) -> None:
        """Write down a call that was placed and not answered."""
        if outcome.outcome == "answered":
            return
        missed = CallFailedLogged(
            line="sip",
            outcome=outcome.outcome,
            agent=agent,
            caller=order.caller_id or None,
            callee=order.target,
            code=outcome.code or None,
            said=outcome.reason or None,
            seconds=seconds,
        )
        self._answer.missed(missed)

    def place(
        self, order: DialOrder, progress: Progress, done: Callable[[DialOutcome], None]
    ) -> Callable[[], None]:
        """Place a call in the background; gives what takes it back while it is not answered."""

        async def dial() -> None:
            try:
                done(await self.dial(order, progress))
            except (ValueError, OSError) as error:
                done(DialOutcome("failed", "", 0, str(error)))

        if self.group is None:
            raise ValueError("the SIP line does not serve")
        task = self.group.create_task(dial())

        def give_up() -> None:
            task.cancel()

        return give_up

    def route(self, order: DialOrder) -> Route:
        """Return where a call would go; raises ValueError for an impossible order."""
        return find_route(order, self._settings, self._network.local_host("192.0.2.1"))

    async def _place(self, order: DialOrder, route: Route, placed: Placed) -> Member | None:
        hops = await self._network.hops(route.first)
        if not hops:
            return None
        routes = () if route.first == route.target else _as_route(route)
        dial = Dial(
            route.target,
            route.local,
            self._network.contact(hops[0], route.user),
            routes,
            tuple(order.headers.items()),
        )
        member = self._desk.place(
            dial, hops[0], route.credentials, placed.describe, watch=placed.take
        )
        placed.sip_call_id = member.key[0]
        return member


def _as_route(route: Route) -> tuple[str, ...]:
    """Send through an outbound proxy that is not the target's own host."""
    user, _, host = route.target.partition("@")
    if route.first.partition(":")[2] == host and user:
        return ()  # the Request-URI leads there by itself
    return (f"<{route.first};lr>",)
