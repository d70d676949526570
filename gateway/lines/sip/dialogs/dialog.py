"""What two user agents have agreed to call a call (RFC 3261, section 12).

Route sets, tags, targets and sequence numbers; nothing of media, timers or transactions.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.lines.sip.message.address import URI, NameAddr, parse_addresses, parse_uri
from gateway.lines.sip.message.message import (
    Request,
    Response,
    call_id,
    contacts,
    cseq,
    from_of,
    to_of,
)

DialogId = tuple[str, str, str]
"""Call-ID, local tag, remote tag."""


@dataclass(slots=True)
class Dialog:
    """One side's view of a dialog."""

    call_id: str
    local: NameAddr
    "our From or To, with our tag"
    remote: NameAddr
    "theirs, with their tag (which RFC 2543 agents leave out)"
    contact: str
    "our Contact value"
    target: str
    "where requests are addressed: the far side's Contact"
    routes: tuple[str, ...] = ()
    "in the order in which our requests pass them"
    local_sequence: int = 0
    remote_sequence: int | None = None
    early: bool = True

    @property
    def id(self) -> DialogId:
        """Name this dialog."""
        return (self.call_id, self.local.tag, self.remote.tag)

    @classmethod
    def of_callee(cls, request: Request, tag: str, contact: str, sequence: int) -> Dialog:
        """Begin as the one who answers (section 12.1.1); raises ValueError."""
        theirs = contacts(request)
        if len(theirs) > 1:
            raise ValueError("a request that begins a dialog has exactly one Contact")
        # RFC 2543 agents may leave Contact out; then From is all there is.
        target = theirs[0].uri if theirs else from_of(request).uri
        parse_uri(target)
        return cls(
            call_id(request),
            to_of(request).with_tag(tag),
            from_of(request),
            contact,
            target,
            _routes(request),
            local_sequence=sequence,
            remote_sequence=cseq(request).sequence,
        )

    @classmethod
    def of_caller(cls, request: Request, response: Response, contact: str) -> Dialog:
        """Begin as the one who called (section 12.1.2); raises ValueError."""
        theirs = contacts(response)
        return cls(
            call_id(request),
            from_of(request),
            to_of(response),
            contact,
            theirs[0].uri if theirs else request.uri,
            tuple(reversed(_routes(response))),
            local_sequence=cseq(request).sequence,
            early=response.code < 200,
        )

    def confirm(self, response: Response) -> None:
        """Take the route set and target of the 2xx (section 13.2.2.4)."""
        self.early = False
        self.routes = tuple(reversed(_routes(response)))
        self.refresh(response)

    def refresh(self, message: Request | Response) -> None:
        """Take a new remote target (section 12.2.1.2 and 12.2.2)."""
        try:
            theirs = contacts(message)
            if len(theirs) == 1:
                parse_uri(theirs[0].uri)
                self.target = theirs[0].uri
        except ValueError:
            return  # the target that worked so far stays

    def request(self, method: str, *, sequence: int | None = None) -> Request:
        """Build a request of this dialog (section 12.2.1.1); ACK names the sequence it is for."""
        if sequence is None:
            self.local_sequence += 1
            sequence = self.local_sequence
        uri, routes = self._way()
        request = Request(method, uri)
        headers = request.headers
        if routes:
            headers.setlist("Route", routes)
        headers.set("Max-Forwards", "70")
        headers.set("From", str(self.local))
        headers.set("To", str(self.remote))
        headers.set("Call-ID", self.call_id)
        headers.set("CSeq", f"{sequence} {method}")
        if method not in ("ACK", "BYE", "PRACK"):
            headers.set("Contact", self.contact)
        return request

    def _way(self) -> tuple[str, list[str]]:
        """Return Request-URI and Route values, for loose and for strict routers."""
        if not self.routes:
            return self.target, []
        first = NameAddr.parse(self.routes[0])
        if is_loose(first.uri):
            return self.target, list(self.routes)
        # A strict router finds its own URI in the Request-URI, and the target at the end.
        return first.uri, [*self.routes[1:], f"<{self.target}>"]

    @property
    def next_uri(self) -> str:
        """The URI that says where a request is sent first (RFC 3261, section 8.1.2)."""
        return NameAddr.parse(self.routes[0]).uri if self.routes else self.target

    def owns(self, request: Request) -> bool:
        """Return whether a request from the far side carries exactly this dialog's tags."""
        return (
            call_id(request) == self.call_id
            and to_of(request).tag == self.local.tag
            and from_of(request).tag == self.remote.tag
        )

    def in_order(self, request: Request) -> bool:
        """Check and take the sequence number (section 12.2.2); ACK and CANCEL repeat one."""
        sequence = cseq(request).sequence
        if self.remote_sequence is not None and sequence <= self.remote_sequence:
            return False
        self.remote_sequence = sequence
        return True


def is_loose(uri: str) -> bool:
    """Return whether a route's URI has the `lr` parameter."""
    parsed: URI = parse_uri(uri)
    return any(name.lower() == "lr" for name in parsed.parameters)


def _routes(message: Request | Response) -> tuple[str, ...]:
    routes = parse_addresses(message.headers.getlist("Record-Route"))
    for route in routes:
        parse_uri(route.uri)
    return tuple(str(route) for route in routes)


def response_tag(response: Response) -> str:
    """Return the far side's tag, which tells forks apart."""
    return to_of(response).tag
