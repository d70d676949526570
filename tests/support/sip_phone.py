"""A telephone on SIP by hand, which shares nothing with ours but the sockets of the machine.

It writes and reads the few messages of one call as text, talks and listens in G.711, keeps what it
hears, and can put the call on hold in each of the ways there are.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from media.codec import WireForm, wire_form

PCMU: WireForm = wire_form("pcmu", 8000)
FRAME = 160
BUFFER_SECONDS = 0.04
"""What arrives is heard so much later; on hold, what waits there is thrown away."""

How = Literal["sendonly", "inactive", "0.0.0.0"]

MUSIC = PCMU.encode(
    np.rint(9000 * np.sin(2 * np.pi * 350 * np.arange(FRAME) / 8000)).astype("<i2").tobytes()
)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, take: Any) -> None:
        self.datagram_received = lambda data, addr: take(data)


@dataclass
class _Dialog:
    """What every request of the call says."""

    target: str
    to: str = "<sip:agent@127.0.0.1>"
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    tag: str = field(default_factory=lambda: secrets.token_hex(4))
    sequence: int = 0


class _Sound:
    """The telephone's microphone and speaker, 20 ms at a time."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, bytes]] = []
        self.into_hold = 0
        self.held = ""
        self.waiting: list[bytes] = []
        self.socket: Any = None
        self.far = ("", 0)
        self.ssrc = secrets.token_bytes(4)
        self._loop = asyncio.get_running_loop()
        self._begun = 0.0
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Send from now on."""
        self._begun = self._loop.time()
        self._tick()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.socket.close()

    def hold(self, how: str) -> None:
        """From now on nobody listens; what is in the buffer is never heard."""
        now = self._loop.time()
        self.heard = [(when, pcm) for when, pcm in self.heard if when <= now]
        self.held = how

    def take(self, data: bytes) -> None:
        """Take a packet."""
        if data[1] & 0x7F != 0:
            return
        if self.held:
            self.into_hold += 1
        else:
            self.heard.append((self._loop.time() + BUFFER_SECONDS, PCMU.decode(data[12:])))

    def _tick(self) -> None:
        spoken = self.waiting.pop(0) if self.waiting else PCMU.silence(FRAME)
        if self.held in ("", "sendonly"):
            head = bytes([0x80, 0]) + (self._number & 0xFFFF).to_bytes(2, "big")
            head += (self._number * FRAME).to_bytes(4, "big") + self.ssrc
            self.socket.sendto(head + (MUSIC if self.held else spoken), self.far)
        self._number += 1
        self._timer = self._loop.call_at(self._begun + self._number * 0.02, self._tick)


class SipPhone:
    """Places one call, or answers one."""

    def __init__(self, port: int) -> None:
        """`port` is the gateway's, on UDP."""
        self.gone = asyncio.Event()
        self.answered = asyncio.Event()
        self.reason = ""
        "of the gateway's BYE"
        self._far = ("127.0.0.1", port)
        self._dialog = _Dialog(f"sip:agent@127.0.0.1:{port}")
        self._responses: asyncio.Queue[str] = asyncio.Queue()
        self._socket: Any = None
        self._sound = _Sound()
        self._past: list[_Sound] = []
        "streams of before the sound was taken elsewhere"

    # --- what a person does

    async def call(self, how: How | None = None) -> None:
        """Call and wait until somebody answers; `how`: the call begins on hold."""
        await self._open()
        if how is None:
            await self._offer("sendrecv", "127.0.0.1")
        else:
            await self.hold(how)
        self._sound.begin()

    async def wait(self) -> str:
        """Be there for one call, which is answered at once; give the address to be called at."""
        await self._open()
        host, port = self._socket.get_extra_info("sockname")[:2]
        return f"sip:machine@{host}:{port}"

    async def _open(self) -> None:
        loop, home = asyncio.get_running_loop(), ("127.0.0.1", 0)
        self._socket, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._message), home
        )
        self._sound.socket, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._sound.take), home
        )

    def say(self, pcm: bytes) -> None:
        """Speak, while something else may be done."""
        wire = PCMU.encode(pcm)
        self._sound.waiting += [wire[at : at + FRAME] for at in range(0, len(wire), FRAME)]

    async def hold(self, how: How) -> None:
        """Put the call on hold; the line plays music to it where the way of holding has any."""
        self._sound.hold(how)
        if how == "0.0.0.0":
            await self._offer("sendrecv", "0.0.0.0")
        else:
            await self._offer(how, "127.0.0.1")

    async def resume(self) -> None:
        """Take the call back."""
        self._sound.held = ""
        await self._offer("sendrecv", "127.0.0.1")

    async def move(self, host: str, lingers: float | None, silent: float = 0.0) -> None:
        """Take the sound elsewhere, as a switch does that steps out of the way.

        The old stream is music of another source, which goes on for `lingers` seconds; None: for
        good. The new one begins after `silent` seconds.
        """
        loop, old = asyncio.get_running_loop(), self._sound
        self._sound = new = _Sound()
        new.socket, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(new.take), (host, 0))
        new.far, old.held = old.far, "sendonly"
        self._past.append(old)
        if lingers is not None:
            loop.call_later(lingers, old.close)
        await self._offer("sendrecv", host)
        loop.call_later(silent, new.begin)

    def hang_up(self) -> None:
        """End the call."""
        self._dialog.sequence += 1
        self._send("BYE")

    def close(self) -> None:
        """Let the sockets go."""
        for sound in (*self._past, self._sound):
            sound.close()
        self._socket.close()

    # --- what is left of it

    @property
    def sounds(self) -> bool:
        """Whether the agent is heard now."""
        return bool(self._sound.heard) and any(self._sound.heard[-1][1])

    @property
    def into_hold(self) -> int:
        """Packets of sound that came while the call was on hold."""
        return self._sound.into_hold

    def recording(self) -> bytes:
        """Return all that was heard, one frame behind the other."""
        return b"".join(pcm for _, pcm in self._sound.heard)

    # --- messages

    async def _offer(self, direction: str, host: str) -> None:
        dialog = self._dialog
        dialog.sequence += 1
        self._send("INVITE", self._described(direction, host))
        async with asyncio.timeout(10):
            while (response := await self._responses.get()).startswith("SIP/2.0 1"):
                pass
        assert response.startswith("SIP/2.0 200"), response
        dialog.to = _header(response, "To")
        dialog.target = _header(response, "Contact").strip("<>")
        self._sound.far = _sound_port(response)
        self._send("ACK")

    def _described(self, direction: str, host: str) -> str:
        port = self._sound.socket.get_extra_info("sockname")[1]
        return (
            f"v=0\r\no=- 7 {self._dialog.sequence} IN IP4 127.0.0.1\r\ns=-\r\n"
            f"c=IN IP4 {host}\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\na={direction}\r\n"
        )

    def _send(self, method: str, body: str = "") -> None:
        host, port = self._socket.get_extra_info("sockname")[:2]
        dialog = self._dialog
        lines = [
            f"{method} {dialog.target} SIP/2.0",
            f"Via: SIP/2.0/UDP {host}:{port};branch=z9hG4bK{secrets.token_hex(6)}",
            f"From: <sip:visitor@{host}>;tag={dialog.tag}",
            f"To: {dialog.to}",
            f"Call-ID: {dialog.id}",
            f"CSeq: {dialog.sequence} {method}",
            f"Contact: <sip:visitor@{host}:{port}>",
            "Max-Forwards: 70",
            *(["Content-Type: application/sdp"] if body else []),
            f"Content-Length: {len(body)}",
        ]
        self._socket.sendto(("\r\n".join(lines) + "\r\n\r\n" + body).encode(), self._far)

    def _answer(self, request: str) -> None:
        copied = [
            line
            for line in request.split("\r\n\r\n")[0].split("\r\n")[1:]
            if line.split(":")[0] in ("Via", "From", "To", "Call-ID", "CSeq")
        ]
        host, port = self._socket.get_extra_info("sockname")[:2]
        body, head = "", []
        if request.startswith("INVITE "):
            body = self._described("sendrecv", "127.0.0.1")
            copied = [f"{one};tag=m1" if one.startswith("To:") else one for one in copied]
            head = [f"Contact: <sip:machine@{host}:{port}>", "Content-Type: application/sdp"]
        ok = ["SIP/2.0 200 OK", *copied, *head, f"Content-Length: {len(body)}"]
        self._socket.sendto(("\r\n".join(ok) + "\r\n\r\n" + body).encode(), self._far)

    def _message(self, data: bytes) -> None:
        text = data.decode()
        if text.startswith("SIP/2.0 "):
            self._responses.put_nowait(text)
            return
        if text.startswith("ACK "):
            return
        self._answer(text)
        if text.startswith("INVITE "):
            self._sound.far = _sound_port(text)
            self._sound.begin()
            self.answered.set()
        if text.startswith("BYE "):
            self.reason = _header(text, "Reason")
            self.gone.set()


def _sound_port(message: str) -> tuple[str, int]:
    found = re.search(r"m=audio (\d+)", message)
    assert found is not None
    return ("127.0.0.1", int(found[1]))


def _header(message: str, name: str) -> str:
    for line in message.split("\r\n"):
        if line.lower().startswith(f"{name.lower()}:"):
            return line.partition(":")[2].strip()
    return ""
