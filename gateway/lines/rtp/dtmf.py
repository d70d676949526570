"""How keys travel beside sound (RFC 4733, section 2): read once each, written at a human pace."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from gateway.lines.keypad import KEYS

VOLUME = 10
"""-10 dBm0, what telephones send."""
LONGEST = 0xFFFF
"""Duration field; longer events go on in a new segment (section 2.5.1.3)."""
REMEMBERED = 8
"""Timestamps of past keys; a packet that is reordered comes a few packets late, not a few keys."""
REPEATS = 3
"""Section 2.5.1.4: the last packet is sent three times."""


class KeyReader:
    """Says each key once: a key is a timestamp, whatever markers and ends were lost."""

    def __init__(self) -> None:
        self._seen: deque[int] = deque(maxlen=REMEMBERED)
        self._last: tuple[int, int, int] | None = None
        "event, timestamp and duration"

    def read(self, timestamp: int, payload: bytes) -> str | None:
        """Take an event packet; give the key when it is a new one."""
        if len(payload) < 4:
            return None
        event, duration = payload[0], int.from_bytes(payload[2:4], "big")
        if timestamp in self._seen:
            if self._last is not None and self._last[1] == timestamp:
                self._last = (event, timestamp, max(duration, self._last[2]))
            return None
        last = self._last
        self._seen.append(timestamp)
        self._last = (event, timestamp, duration)
        if last is not None and last[0] == event:
            gap = (timestamp - last[1]) & 0xFFFFFFFF
            # A segment begins exactly where the full duration of the one before it ended.
            if gap == LONGEST and last[2] > LONGEST - 4000:
                return None
        return KEYS[event] if event < len(KEYS) else None


@dataclass(slots=True)
class _Press:
    event: int
    begun: int
    "timestamp"
    passed: int = 0
    "units of the clock"
    ends: int = 0
    "end packets sent"


@dataclass(frozen=True, slots=True)
class KeyPacket:
    """What is to be sent now."""

    payload: bytes
    timestamp: int
    marker: bool


class KeyWriter:
    """Presses keys one after the other, each long enough to be understood."""

    def __init__(self, clock: int, length: float, gap: float) -> None:
        """`length` and `gap` are seconds."""
        self._seconds = length, gap
        self.tune(clock)
        self._waiting: deque[int] = deque(maxlen=64)
        self._press: _Press | None = None
        self._rest = 0

    def tune(self, clock: int) -> None:
        """Count in another clock from now on; a key that is being pressed ends in the old one."""
        length, gap = self._seconds
        self._step = clock // 50
        "units of the clock in 20 ms"
        self._length = max(2 * self._step, round(length * clock))
        self._gap = max(self._step, round(gap * clock))

    def press(self, keys: str) -> None:
        """Queue keys; what is no key (a comma, a blank) is left out."""
        self._waiting.extend(KEYS.index(key) for key in keys.upper() if key in KEYS)

    @property
    def busy(self) -> bool:
        """Whether a key is being pressed or waits."""
        return self._press is not None or bool(self._waiting)

    def tick(self, timestamp: int) -> KeyPacket | None:
        """Return the packet of this 20 ms, in place of sound; None: sound may go."""
        if self._press is None:
            if self._rest > 0:
                self._rest -= self._step
                return None
            if not self._waiting:
                return None
            self._press = _Press(self._waiting.popleft(), timestamp)
        press = self._press
        first = press.passed == 0
        press.passed = min(press.passed + self._step, self._length, LONGEST)
        ending = press.passed >= min(self._length, LONGEST)
        if ending:
            press.ends += 1
            if press.ends >= REPEATS:
                self._press = None
                self._rest = self._gap
        second = VOLUME | (0x80 if ending else 0)
        payload = bytes((press.event, second)) + press.passed.to_bytes(2, "big")
        return KeyPacket(payload, press.begun, first)
