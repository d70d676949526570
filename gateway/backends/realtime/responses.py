"""The responses of a session: which is wanted, which is alive, which was given up.

At most one response of the conversation is alive at a time, so a new one waits for the end of the
one being cancelled; but never for longer than a moment, since a server that hangs says nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from gateway.backends.realtime import wire

PATIENCE_SECONDS = 0.6
"""How long the end of a response that is given up is waited for, and how soon one that was refused
since another is active is asked for again, where no event says that it is over."""


@dataclass(slots=True)
class Response:
    """One answer of the model, asked for or begun by the server."""

    reply: int
    utterance: int
    "for its first item; 0 once used"
    id: str = ""
    void: bool = False
    by_server: bool = False
    "the server begins it by itself, since it decides about turns"
    tools: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    "of the functions it calls, by item"


class Responses:
    """Decides when a response is asked for; gives what is sent for it."""

    def __init__(self, rate: int) -> None:
        """`rate` is the line's."""
        self.alive: Response | None = None
        self._wanted: deque[Response] = deque()
        self._patience = int(PATIENCE_SECONDS * rate)
        self._waited = 0
        "samples of the caller's sound since a response waits for the end of another"
        self._gone: deque[str] = deque(maxlen=8)
        "those that were given up and have not ended"

    @property
    def busy(self) -> bool:
        """One is alive, or wanted."""
        return self.alive is not None or bool(self._wanted)

    def want(self, response: Response) -> list[str]:
        """Ask for a response as soon as may be."""
        self._wanted.append(response)
        return [] if response.by_server else self._next()

    def cancel(self, reply: int) -> list[str]:
        """Return a reply up."""
        self._wanted = deque(one for one in self._wanted if one.reply != reply)
        alive = self.alive
        if alive is None or alive.reply != reply or alive.void:
            return []
        alive.void, self._waited = True, 0
        return [wire.write("response.cancel", **({"response_id": alive.id} if alive.id else {}))]

    def pass_time(self, samples: int) -> list[str]:
        """Ask for what is wanted although nothing says that what was before it is over."""
        if not self._wanted or not (self.alive is None or self.alive.void):
            return []
        self._waited += samples
        if self._waited < self._patience:
            return []
        self._waited = 0
        if self.alive is not None:
            self._gone.append(self.alive.id)
        self.alive = None
        return self._next()

    def created(self, body: wire.ResponseBody) -> list[str]:
        """The server has begun one: the one that is asked for, or one that was given up by now."""
        if self.alive is None and self._wanted and self._wanted[0].by_server:
            self.alive = self._wanted.popleft()
        alive = self.alive
        of = (body.metadata or {}).get("reply")
        late = of is not None and (alive is None or of != str(alive.reply))
        if alive is not None and not alive.id and not late:
            alive.id = body.id
        if late or (alive is not None and alive.void and alive.id == body.id):
            return [wire.write("response.cancel", response_id=body.id)]
        return []

    def done(self, body: wire.ResponseBody) -> Response | None:
        """Return the one that is over; None: it was alive for nobody."""
        alive = self.alive
        if alive is None or alive.id not in ("", body.id) or body.id in self._gone:
            return None
        self.alive = None
        return alive

    def refused(self, error: wire.ApiError) -> Response | None:
        """Return the one whose request was refused for good; None: it is asked again, or is none
        of ours."""
        alive = self.alive
        if alive is None or not error.event_id or error.event_id != f"reply-{alive.reply}":
            return None
        self.alive, self._waited = None, 0
        if error.code != "conversation_already_has_active_response":
            return alive
        if not alive.void:
            self._wanted.appendleft(alive)  # it is made again when that one is over
        return None

    def go_on(self) -> list[str]:
        """Ask for what waited for something that is over."""
        return self._next()

    def _next(self) -> list[str]:
        if self.alive is not None or not self._wanted or self._wanted[0].by_server:
            return []
        alive = self.alive = self._wanted.popleft()
        alive.id, self._waited = "", 0
        metadata = {"reply": str(alive.reply)}
        event_id = f"reply-{alive.reply}"
        return [wire.write("response.create", event_id=event_id, response={"metadata": metadata})]
