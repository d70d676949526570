"""The registrations of a line: one for each trunk that wants one, kept fresh on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog

from gateway.lines.sip.dialogs.register import (
    Account,
    Register,
    Registered,
    Registration,
    RegistrationEffect,
    RegistrationFailed,
)
from gateway.lines.sip.message.address import parse_uri
from gateway.lines.sip.message.digest import Credentials
from gateway.lines.sip.message.message import Response
from gateway.lines.sip.network import SipNetwork, token
from gateway.lines.sip.settings import SipSettings, TrunkSettings, secret
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.routing import transport_of

log = structlog.get_logger("sip")


def account_of(trunk: TrunkSettings, network: SipNetwork) -> Account:
    """Return what is registered for a trunk; raises ValueError."""
    proxy = parse_uri(trunk.proxy)
    hop = Hop(transport_of(proxy) or "udp", proxy.host, proxy.port or 5060)
    aor = trunk.aor or f"sip:{trunk.username}@{proxy.host}"
    domain = aor.rpartition("@")[2].partition(";")[0]
    return Account(
        aor,
        f"sip:{domain}",
        network.contact(hop, trunk.username)[1:-1],
        Credentials(trunk.username, secret(trunk.password), trunk.realm),
        trunk.expires,
        trunk.proxy,
    )


class Accounts:
    """Feeds registrations with answers and time."""

    def __init__(self, settings: SipSettings, network: SipNetwork) -> None:
        self._settings = settings
        self._network = network
        self._registrations: dict[str, Registration] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()

    def begin(self) -> None:
        """Register every account that is to be registered."""
        for name, trunk in self._settings.trunks.items():
            if trunk.register:
                registration = Registration(account_of(trunk, self._network), token)
                self._registrations[name] = registration
                self._perform(name, registration.begin(self._loop.time()))

    def lacking(self) -> list[tuple[str, str]]:
        """Name the trunks that do not register us as they should, and say how each stands."""
        states = [(name, one.state) for name, one in self._registrations.items()]
        return [(name, state) for name, state in states if state != "registered"]

    def answered(self, label: str, response: Response | None) -> None:
        """Take an answer; unknown labels are nobody's any more."""
        for name, registration in self._registrations.items():
            self._perform(name, registration.answered(label, response, self._loop.time()))

    def leave(self) -> None:
        """Take all registrations back."""
        for name, registration in self._registrations.items():
            self._perform(name, registration.leave())

    def _perform(self, name: str, effects: Sequence[RegistrationEffect]) -> None:
        core = self._network.core
        for effect in effects:
            match effect:
                case Register(label, request, uri):
                    self._network.post(partial(core.send, label, request, uri))
                case Registered(seconds):
                    log.info("sip_registered", trunk=name, seconds=seconds)
                case RegistrationFailed(code, reason, retry):
                    log.warning(
                        "sip_registration_failed", trunk=name, code=code, reason=reason, retry=retry
                    )
        self._arm(name)

    def _arm(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
        deadline = self._registrations[name].deadline
        if deadline is not None:
            self._timers[name] = self._loop.call_at(deadline, self._tick, name)

    def _tick(self, name: str) -> None:
        self._perform(name, self._registrations[name].tick(self._loop.time()))
