"""Tries what the operator has set: ports, names, trunks and accounts, for `parley check`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gateway.lines.port import Said
from gateway.lines.sip.accounts import account_of
from gateway.lines.sip.dialogs.core import CallKey, Invited
from gateway.lines.sip.dialogs.register import (
    Register,
    Registered,
    Registration,
    RegistrationEffect,
    RegistrationFailed,
)
from gateway.lines.sip.dialogs.vocabulary import Report
from gateway.lines.sip.message.message import Request, Response
from gateway.lines.sip.network import SipNetwork, token
from gateway.lines.sip.settings import SipSettings, TrunkSettings

PROBE_SECONDS = 3.0
"""For each trunk; one that answers later would not do for calls either."""


def look(settings: SipSettings) -> Iterator[Said]:
    """Return what is found; asks the trunks."""
    problem = settings.problem()
    if problem:
        yield "wrong", problem
    if settings.exposure:
        yield "note", settings.exposure
    yield from asyncio.run(_look(settings))


async def _look(settings: SipSettings) -> list[Said]:
    said: list[Said] = []
    async with asyncio.TaskGroup() as group:
        probe = _Probe(settings)
        try:
            await probe.network.open(group)
        except OSError as error:
            return [("wrong", str(error))]
        bound = (("UDP", settings.udp), ("TCP", settings.tcp), ("TLS", settings.tls))
        ports = ", ".join(f"{name} {port}" for name, port in bound if port is not None)
        said.append(("good", f"will listen on {settings.host}, {ports}"))
        for name, trunk in settings.trunks.items():
            said.append(await probe.trunk(name, trunk))
        await probe.network.close()
    heard = ", ".join(settings.heard) or "everybody"
    answers = f"{len(settings.routes)} routes, else agent {settings.agent or 'by default'}"
    said.append(("good", f"listens to {heard}; {answers}; codecs {', '.join(settings.codecs)}"))
    return said


class _Probe:
    """Asks trunks whether they are there."""

    def __init__(self, settings: SipSettings) -> None:
        self.network = SipNetwork(replace(settings, allow=(), trunks={}, open=True), self)
        self._answers: dict[str, asyncio.Future[Response | None]] = {}
        self._loop = asyncio.get_running_loop()

    async def trunk(self, name: str, trunk: TrunkSettings) -> Said:
        """Return what became of one trunk."""
        if not trunk.proxy:
            return "good", f"trunk {name}: calls from {', '.join(trunk.networks) or 'nowhere'}"
        hops = await self.network.hops(trunk.proxy)
        if not hops:
            return "wrong", f"trunk {name}: {trunk.proxy} leads nowhere (sip.trunks.{name}.proxy)"
        where = f"{hops[0].transport}:{hops[0].host}:{hops[0].port}"
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                if trunk.register:
                    return await self._register(name, trunk, where)
                answer = await self._options(trunk)
        except TimeoutError:
            return "wrong", f"trunk {name}: no answer from {where}"
        if answer is None:
            return "wrong", f"trunk {name}: no answer from {where}"
        return "good", f"trunk {name}: {where} answers ({answer.code} to OPTIONS)"

    async def _options(self, trunk: TrunkSettings) -> Response | None:
        request = Request("OPTIONS", trunk.proxy)
        for header, value in (
            ("Max-Forwards", "70"),
            ("From", f"<sip:parley@{self.network.local_host('192.0.2.1')}>;tag={token()}"),
            ("To", f"<{trunk.proxy}>"),
            ("Call-ID", token()),
            ("CSeq", "1 OPTIONS"),
        ):
            request.headers.set(header, value)
        return await self._ask(token(), request, trunk.proxy)

    async def _register(self, name: str, trunk: TrunkSettings, where: str) -> Said:
        registration = Registration(account_of(trunk, self.network), token)
        effects = registration.begin(self._loop.time())
        said: Said = ("wrong", f"trunk {name}: {where} does not register us")
        while effects:
            said = _registration_said(name, where, effects) or said
            asked = next((one for one in effects if isinstance(one, Register)), None)
            if asked is None:
                break
            answer = await self._ask(asked.label, asked.request, asked.uri)
            effects = registration.answered(asked.label, answer, self._loop.time())
        for effect in registration.leave():
            if isinstance(effect, Register):
                await self._ask(effect.label, effect.request, effect.uri)
        return said

    async def _ask(self, label: str, request: Request, uri: str) -> Response | None:
        future: asyncio.Future[Response | None] = self._loop.create_future()
        self._answers[label] = future
        core = self.network.core
        self.network.post(partial(core.send, label, request, uri))
        return await future

    # --- from the network

    def answered(self, label: str, response: Response | None) -> None:
        """Take an answer."""
        future = self._answers.get(label)
        if future is not None and not future.done():
            future.set_result(response)

    def invited(self, invited: Invited) -> None:
        """Refuse: this is a test."""
        core = self.network.core
        self.network.post(partial(core.refuse, invited.arrived, 480))

    def reported(self, key: CallKey, report: Report) -> None:
        """Nothing is called."""

    def closed(self, key: CallKey) -> None:
        """Nothing is called."""


def _registration_said(name: str, where: str, effects: list[RegistrationEffect]) -> Said | None:
    for effect in effects:
        match effect:
            case Registered(seconds):
                return "good", f"trunk {name}: registered at {where} for {seconds} s"
            case RegistrationFailed(code, reason, _):
                return "wrong", f"trunk {name}: {where} refuses to register us: {code} {reason}"
            case _:
                pass
    return None
