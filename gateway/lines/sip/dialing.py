"""How a call is placed: through which trunk, to which address, as whom, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gateway.events import CallInfo
from gateway.lines.rtp.codecs import Codec
from gateway.lines.sip.dialogs.vocabulary import Established, Over, Rang, Report
from gateway.lines.sip.identity import number_of
from gateway.lines.sip.message.address import host_reference, parse_uri, quote
from gateway.lines.sip.message.digest import Credentials
from gateway.lines.sip.message.message import clean
from gateway.lines.sip.settings import SipSettings, TrunkSettings, secret

CallOutcome = Literal[
    "answered",
    "busy",
    "no_answer",
    "refused",
    "not_found",
    "cancelled",
    "timeout",
    "failed",
    "unavailable",
]


@dataclass(frozen=True, slots=True)
class DialOrder:
    """A call that is to be placed."""

    target: str
    "a number, which goes through a trunk, or a SIP URI"
    agent: str = ""
    "who talks; empty: the default"
    trunk: str = ""
    "empty: the first that has a proxy"
    caller_id: str = ""
    "user part of From; empty: the trunk's"
    display_name: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    "told to the agent"
    headers: Mapping[str, str] = field(default_factory=dict)
    "put on the INVITE; names begin with `X-`"


@dataclass(frozen=True, slots=True)
class DialOutcome:
    """What came of a placed call."""

    outcome: CallOutcome
    call_id: str
    code: int = 0
    "last SIP status, 0 where there was none"
    reason: str = ""
    early_media: bool = False
    "sound came before the answer: an announcement, perhaps"


@dataclass(frozen=True, slots=True)
class Route:
    """Where a call goes, and as whom."""

    target: str
    "Request-URI"
    first: str
    "URI that is sent to"
    local: str
    "our name-addr"
    credentials: tuple[Credentials, ...]
    trunk: str
    user: str
    "ours, as it stands in `local`"


def find_route(order: DialOrder, settings: SipSettings, host: str) -> Route:
    """Decide where a call goes; raises ValueError in words for the operator.

    `host` is our own, for From.
    """
    name, trunk = _trunk(order, settings)
    target = order.target.strip()
    if ":" in target and parse_uri(target).scheme in ("sip", "sips"):
        first = trunk.proxy if trunk and trunk.proxy and order.trunk else target
    else:
        if trunk is None:
            raise ValueError(f"{target!r} is a number, and no trunk with a proxy is configured")
        number = number_of(target) if target.startswith("tel:") else target
        if not all(char.isalnum() or char in "+*#-._" for char in number) or not number:
            raise ValueError(f"{target!r} is neither a number nor a SIP URI")
        proxy = parse_uri(trunk.proxy)
        target = trunk.proxy.replace(f"{proxy.scheme}:", f"{proxy.scheme}:{number}@", 1)
        first = trunk.proxy
    user = order.caller_id or (trunk.caller_id or trunk.username if trunk else "") or "parley"
    shown = f"{quote(clean(order.display_name))} " if order.display_name else ""
    domain = settings.domain or (_domain(trunk) if trunk else "") or host_reference(host)
    credentials: tuple[Credentials, ...] = ()
    if trunk is not None and trunk.username:
        credentials = (Credentials(trunk.username, secret(trunk.password), trunk.realm),)
    for key in order.headers:
        if not key.lower().startswith("x-") or not key.replace("-", "").isalnum():
            raise ValueError(f"header {key!r}: names begin with X-")
    local = f"{shown}<sip:{user}@{domain}>"
    return Route(target, first, local, credentials, name, user)


def _trunk(order: DialOrder, settings: SipSettings) -> tuple[str, TrunkSettings | None]:
    if order.trunk:
        if order.trunk not in settings.trunks:
            raise ValueError(f"there is no trunk named {order.trunk!r}")
        return order.trunk, settings.trunks[order.trunk]
    found = ((name, one) for name, one in settings.trunks.items() if one.proxy)
    return next(found, ("", None))


def _domain(trunk: TrunkSettings) -> str:
    """Return the domain of a trunk's account."""
    if trunk.aor:
        return trunk.aor.rpartition("@")[2].partition(";")[0]
    return parse_uri(trunk.proxy).host if trunk.proxy else ""


class Placed:
    """A placed call on its way: turns reports into progress and one outcome."""

    def __init__(
        self,
        order: DialOrder,
        identity: str,
        agent: str,
        trunk: str,
        progress: Callable[[str, int], None] | None,
        *,
        screened: bool,
    ) -> None:
        self.outcome: asyncio.Future[DialOutcome] = asyncio.get_running_loop().create_future()
        self._order = order
        self._identity = identity
        self._agent = agent
        self._trunk = trunk
        self._progress = progress
        self.sip_call_id = ""
        "Call-ID, once the call was placed"
        self._early = False
        self._screened = screened

    def describe(self, codec: Codec) -> CallInfo:
        """Describe the call to the agent."""
        variables = dict(self._order.variables)
        if self._trunk:
            variables["trunk"] = self._trunk
        if self.sip_call_id:
            variables["sip_call_id"] = self.sip_call_id
        return CallInfo(
            call_id=self._identity,
            line="sip",
            agent=self._agent,
            caller=number_of(self._order.target) or self._order.target,
            callee=self._order.caller_id,
            rate=codec.rate,
            codec=codec.name if codec.name in ("pcmu", "pcma") else "l16",
            negotiated=codec.name,
            direction="outbound",
            screened=self._screened,
            variables=variables,
        )

    def take(self, report: Report) -> None:
        """Take what the call reports."""
        match report:
            case Rang(code):
                self._early = self._early or code == 183
                if self._progress is not None:
                    self._progress("early_media" if code == 183 else "ringing", code)
            case Established():
                self._end("answered", 200, "")
            case Over(outcome=outcome, code=code, reason=reason):
                self._end("failed" if outcome == "hung_up" else outcome, code, reason)
            case _:
                pass

    def _end(self, outcome: CallOutcome, code: int, reason: str) -> None:
        if not self.outcome.done():
            self.outcome.set_result(DialOutcome(outcome, self._identity, code, reason, self._early))
