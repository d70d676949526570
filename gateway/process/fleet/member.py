"""One process of several: its wire to the supervisor, and what it gives to the others."""

from __future__ import annotations

import asyncio
import pickle
import socket
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from gateway.config import Settings
from gateway.doors.owner import Owner
from gateway.lines.port import ForFirst, ForName, ForNewCall, Wire
from gateway.lines.table import LINES
from gateway.plumbing.seat import Seat, leads_to
from gateway.process.fleet.board import Board
from gateway.process.fleet.channel import Channel, receive
from gateway.process.fleet.gathering import Gathering
from gateway.process.fleet.messages import Board as BoardTold
from gateway.process.fleet.messages import (
    Born,
    Changed,
    Down,
    HandOver,
    Named,
    Page,
    Said,
    ShowPage,
    Standing,
    Take,
    Up,
    encode,
    to_process,
)
from gateway.process.fleet.port import Page as OwnPage
from gateway.process.fleet.port import Taken
from gateway.process.signals import Stopping
from gateway.web.door import Sorting


@dataclass(frozen=True, slots=True)
class Birth:
    """What a process is made of."""

    told: Born
    settings: Settings
    owner: Owner
    channel: socket.socket
    http: list[socket.socket]
    "the sockets of the HTTP port"


def await_birth(file: int) -> Birth | None:
    """Wait until the supervisor has work, on its end of a channel; None: it is gone."""
    channel = socket.socket(fileno=file)
    message, files = receive(channel)
    if not message:
        return None
    told = to_process.decode(message)
    assert isinstance(told, Born), "it is the first message"
    settings, owner = pickle.loads(told.made_of)  # of our own supervisor, over a pair of sockets
    return Birth(told, settings, owner, channel, [socket.socket(fileno=one) for one in files])


class Member:
    """Implements `Fleet` for a process that a supervisor has started; made on the running loop."""

    def __init__(self, birth: Birth) -> None:
        told = birth.told
        self.seat = Seat(told.number, told.of, told.began if told.again else 0.0, told.secret)
        self.board = Board(told.of, told.number)
        self.started = told.started
        self.sorting: Sorting | None = self
        self._birth = birth
        self._wires: dict[str, _LineWire] = defaultdict(_LineWire)
        self._taken: Callable[[socket.socket, bytes], object] | None = None
        self._named: Callable[[str], None] = lambda name: None
        self._changed: Callable[[Settings], None] = lambda settings: None
        self._alone = asyncio.Event()
        self._channel = Channel(birth.channel, self._received, self._left)
        self._gathering = Gathering(told.number, self._channel)
        for line, wire in ((line, self._wires[line]) for line in LINES):
            wire.say = partial(self._say, line)

    def sockets(self, settings: Settings) -> list[socket.socket]:
        """Give the sockets that all processes have of the HTTP port."""
        return self._birth.http

    def wire(self, line: str) -> Wire | None:
        """Return the wire to the front of a line, where it has one."""
        return self._wires[line] if LINES[line].front is not None else None

    def serve(self, group: asyncio.TaskGroup, taken: Taken, stop: asyncio.Event) -> None:
        """Take connections from other processes; stop where the supervisor is gone."""
        self._taken = lambda connection, data: group.create_task(taken(connection, data))
        self._alone = stop
        self._gathering.run_in(group)

    def stand(self, standing: Standing) -> None:
        """Tell all others how this process stands."""
        self.board.standings = {**self.board.standings, self.seat.number: standing}
        self._channel.send(encode(standing))

    def named(self, name: str) -> None:
        """Tell all others that a call has this name."""
        self._channel.send(encode(Named(name)))

    def listen(self, named: Callable[[str], None]) -> None:
        """Give the names of others' calls to `named`."""
        self._named = named

    def follow(self, stopping: Stopping, changed: Callable[[Settings], None]) -> None:
        """Go by what the supervisor reads."""
        self._changed = changed

    def up(self, address: str) -> None:
        """Tell that calls can come."""
        self._channel.send(encode(Up(address)))

    def show(self, page: OwnPage) -> None:
        """Have others given this process's metrics by `page`."""
        self._gathering.own = page

    async def page(self, own: OwnPage) -> bytes:
        """Return the metrics of all processes."""
        others = [number for number in self.board.standings if number != self.seat.number]
        return await self._gathering.all(await own(), others)

    # --- for the door ----------------------------------------------------------------------------

    def elsewhere(self, method: str, path: str, headers: Mapping[str, str]) -> int | None:
        """Return the process that a request is for; None: this one."""
        to = self._whose(method, path, headers)
        there = self.board.standings.get(-1 if to is None else to)
        # One that is gone has no calls: what is asked of it is answered here, in the right words.
        return None if to == self.seat.number or there is None or not there.ready else to

    def _whose(self, method: str, path: str, headers: Mapping[str, str]) -> int | None:
        if path.startswith("/calls"):
            return 0  # which keeps the sessions of those who logged in, and the calls' index
        for kind in LINES.values():
            meant = kind.meant(method, path, headers)
            match meant:
                case None:
                    continue
                case ForName(name):
                    return leads_to(name, self.seat.of)
                case ForFirst():
                    return 0
                case ForNewCall():
                    return self.board.choose()
                case _:
                    assert_never(meant)
        return None

    def hand_over(self, to: int, connection: int, data: bytes) -> bool:
        """Hand a connection to another process."""
        return self._channel.send(encode(HandOver(to, data)), [connection])

    # --- from the supervisor ---------------------------------------------------------------------

    def _received(self, message: bytes, files: list[int]) -> None:
        told = to_process.decode(message)
        match told:
            case Take(data):
                connection = socket.socket(fileno=files[0])
                if self._taken is None:
                    connection.close()
                else:
                    self._taken(connection, data)
            case BoardTold(standings):
                self.board.take(standings)
            case Named(name):
                self._named(name)
            case Down(line, said):
                self._wires[line].came(said)
            case ShowPage(to, asked):
                self._gathering.wanted(to, asked)
            case Page(number, asked, text):
                self._gathering.came(number, asked, text)
            case Changed(settings):
                self._changed(pickle.loads(settings))
            case Born():
                pass  # once is enough
            case _:
                assert_never(told)

    def _left(self) -> None:
        """Take that the supervisor is gone: calls may finish, and no new ones come."""
        self._alone.set()

    def _say(self, line: str, message: bytes) -> None:
        self._channel.send(encode(Said(line, message)))


class _LineWire:
    """Implements `Wire`."""

    def __init__(self) -> None:
        self.say: Callable[[bytes], None] = lambda message: None
        self._receive: Callable[[bytes], None] | None = None
        self._early: list[bytes] = []

    def send(self, message: bytes) -> None:
        """Tell the front."""
        self.say(message)

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Give what the front says to `receive`."""
        self._receive = receive
        while self._early:
            receive(self._early.pop(0))

    def came(self, message: bytes) -> None:
        """Take what the front says."""
        if self._receive is None:
            self._early.append(message)
        else:
            self._receive(message)
