"""The page as somebody who watches the call: keeps messages until they can be sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from gateway.lines.webrtc import channel
from gateway.lines.webrtc.showing import Showing
from gateway.log_events import LogEvent

MESSAGES_KEPT = 200
"""For a page whose data channel is not open yet, or takes nothing just now."""


class Screen:
    """A `Witness`: shows the page what the caller heard and what the agent does."""

    def __init__(self, send: Callable[[str], bool]) -> None:
        """`send` gives False where nobody takes a message."""
        self._send = send
        self._showing = Showing()
        self._unsent: deque[str] = deque(maxlen=MESSAGES_KEPT)

    def observe(self, event: LogEvent) -> None:
        """Show what happened."""
        self._tell(self._showing.observe(event))

    def agent_began(self) -> None:
        """Show that the caller hears the agent."""
        self._tell(self._showing.sounding(True))

    def agent_fell(self) -> None:
        """Show that the caller hears the agent no more."""
        self._tell(self._showing.sounding(False))

    def caption(self, utterance: int, text: str) -> None:
        """Show what was heard of an utterance by now."""
        self._tell(self._showing.caption(utterance, text))

    def greet(self, call: str, agent: str, seconds: float) -> None:
        """Tell a page that begins to listen whom it is talking to."""
        hello = channel.Hello(call=call, agent=agent, seconds=seconds)
        self._tell([hello, *self._showing.again()])

    def away(self, is_away: bool) -> None:
        """Show that the connection broke, or is back."""
        self._tell(self._showing.away(is_away))

    def end(self, reason: str) -> None:
        """Say that the agent hung up."""
        self._tell([channel.End(by="agent", reason=reason)])

    def flush(self) -> None:
        """Send what could not be sent before."""
        while self._unsent and self._send(self._unsent[0]):
            self._unsent.popleft()

    def _tell(self, messages: Sequence[channel.Message]) -> None:
        for message in messages:
            text = channel.encode(message)
            if self._unsent or not self._send(text):
                self._unsent.append(text)
