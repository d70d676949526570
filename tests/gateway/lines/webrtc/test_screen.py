"""Messages wait for a page that does not take any yet, and come in their order."""

from __future__ import annotations

import json

from gateway.lines.webrtc.screen import MESSAGES_KEPT, Screen


class Line:
    """A data channel that opens when the test says so."""

    def __init__(self) -> None:
        self.open = False
        self.sent: list[dict[str, object]] = []

    def send(self, text: str) -> bool:
        if self.open:
            self.sent.append(json.loads(text))
        return self.open


def test_what_came_before_the_channel_is_sent_when_it_opens() -> None:
    line = Line()
    screen = Screen(line.send)
    screen.caption(1, "Good")
    screen.caption(1, "Good morning")
    screen.flush()
    assert line.sent == []
    line.open = True
    screen.caption(1, "Good morning to you")
    assert line.sent == []  # what waits goes first
    screen.flush()
    assert [one["text"] for one in line.sent] == ["Good", "Good morning", "Good morning to you"]
    screen.end("goodbye")
    assert line.sent[-1] == {"v": 1, "type": "end", "by": "agent", "reason": "goodbye"}


def test_a_page_that_never_listens_fills_no_memory() -> None:
    line = Line()
    screen = Screen(line.send)
    for number in range(3 * MESSAGES_KEPT):
        screen.caption(number, "word")
    line.open = True
    screen.flush()
    assert len(line.sent) == MESSAGES_KEPT
    assert line.sent[-1]["id"] == 3 * MESSAGES_KEPT - 1
