"""Whether a call may come in, and to whom: trunks, users, routes and what the gateway can take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.lines.rtp.offer import Srtp
from gateway.lines.sip.dialogs.vocabulary import Over
from gateway.lines.sip.identity import called_number, caller_of
from gateway.lines.sip.message.digest import Challenges, Unproved
from gateway.lines.sip.message.message import Request, call_id, clean
from gateway.lines.sip.settings import SipSettings, TrunkSettings, secret
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.layer import RequestArrived
from gateway.lines.sip.transport.guard import Guard
from gateway.log_events import CallRefusedLogged
from gateway.ports import CallTaker, Refusal


@dataclass(frozen=True, slots=True)
class Verdict:
    """The call may come."""

    agent: str
    srtp: Srtp
    trunk: str = ""
    user: str = ""
    "who proved to be who they say"


@dataclass(frozen=True, slots=True)
class Rejection:
    """The call may not come."""

    code: int
    why: str
    headers: tuple[tuple[str, str], ...] = ()
    claimed: str = ""
    "the user that somebody failed to prove to be"
    attempt: bool = False
    "they tried, and failed"
    cause: str = ""
    "in one word, for the log; empty: it is only asked for proof"
    agent: str | None = None
    "who would have answered"


class Admission:
    """Judges calls; knows no sockets."""

    def __init__(
        self,
        settings: SipSettings,
        answer: CallTaker,
        default_agent: str,
        ids: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._answer = answer
        self._default = default_agent
        realm = settings.domain or settings.advertised or "parley"
        self._guard = Guard(settings.heard)
        self._challenges = Challenges(
            realm, {name: secret(word) for name, word in settings.users.items()}, ids
        )

    def judge(self, request: Request, hop: Hop, now: float) -> Verdict | Rejection:
        """Return whether a call may come in."""
        found = self._settings.trunk_of(hop.host)
        name, trunk = found if found else ("", None)
        user = ""
        if trunk is None and self._settings.users:
            proof = self._challenges.check(request, now)
            if isinstance(proof, Unproved):
                asked = self._challenges.challenge(request, now)
                cause = "unproven" if proof.attempt else ""
                return Rejection(401, proof.why, asked, proof.claimed, proof.attempt, cause)
            user = proof
        elif trunk is None and not self._named(hop.host):
            return Rejection(403, "an address that nobody named calls", cause="forbidden")
        srtp = self._srtp(hop, trunk)
        if srtp is None:
            return Rejection(
                488, "SRTP is required, and keys may only come over TLS", cause="encryption"
            )
        agent = self._settings.agent_for(
            called_number(request, self._settings.registered_users), trunk
        )
        if agent is None:
            return Rejection(404, "no route for this number", cause="no_route")
        agent = agent or self._default
        refusal = self._answer.admit(agent)
        if refusal is not None:
            return rejection(refusal, agent)
        return Verdict(agent, srtp, name, user)

    def refused(self, arrived: RequestArrived, why: Rejection) -> CallRefusedLogged:
        """Say for the log which call was not taken."""
        request = arrived.request
        return CallRefusedLogged(
            line="sip",
            direction="inbound",
            cause=why.cause,
            said=why.why or None,
            agent=why.agent,
            caller=caller_of(request, trusted=False),
            callee=called_number(request, self._settings.registered_users),
            host=arrived.hop.host,
            known_as=clean(call_id(request)),
            code=why.code or None,
        )

    def _named(self, host: str) -> bool:
        """Whether somebody may call from here who proves nothing.

        Heard are also those to whom we sent requests: a registrar calls from where it answers.
        """
        registered = any(trunk.register for trunk in self._settings.trunks.values())
        return registered or self._guard.allows(host)

    def _srtp(self, hop: Hop, trunk: TrunkSettings | None) -> Srtp | None:
        """Decide about encryption; None: it is needed and cannot be."""
        wanted = (trunk.srtp if trunk else None) or self._settings.srtp
        if hop.transport == "tls" or self._settings.srtp_without_tls:
            return wanted
        # RFC 4568, section 7: keys are only as secret as the signalling that carries them.
        return None if wanted == "required" else "never"


def cause_of(over: Over) -> str:
    """Say in a word why a call that was let in ended before it was up."""
    # RFC 3261, section 21.4.26, and its siblings: no media in common.
    return "media" if over.code in (415, 488, 606) else over.outcome


CAUSES = {
    "calls": "as many calls as may be",
    "late": "sound would come late",
    "connecting": "too many calls are being set up",
    "ports": "no media port is left",
}


def rejection(refusal: Refusal, agent: str) -> Rejection:
    """Say a refusal in SIP's words."""
    headers: tuple[tuple[str, str], ...] = ()
    if refusal.retry_after:
        headers = (("Retry-After", str(refusal.retry_after)),)
    if refusal.cause:
        # RFC 3261, section 20.43: 399 is for whatever a person or a log is to be told.
        headers += (("Warning", f'399 parley "{CAUSES[refusal.cause]}"'),)
    cause = refusal.cause or refusal.kind
    match refusal.kind:
        case "busy" if not refusal.retry_after:
            return Rejection(486, refusal.text or "busy", headers, cause=cause, agent=agent)
        case "busy" | "draining":
            return Rejection(503, refusal.text or refusal.kind, headers, cause=cause, agent=agent)
        case "unknown_agent":
            return Rejection(404, refusal.text or "no such agent", cause=cause, agent=agent)
        case "forbidden":
            return Rejection(403, refusal.text or "forbidden", cause=cause, agent=agent)
