"""The parent of several processes: binds, starts, watches and restarts them.

It holds no call, loads no model and answers no request: what it does for calls is to hand on what
came to one process and is for another, and to keep the sockets that all share.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Literal, assert_never

import structlog
import uvloop

from gateway.config import Settings
from gateway.doors.owner import Owner
from gateway.lines.port import Front, FrontNeeds
from gateway.lines.table import LINES
from gateway.plumbing.fence import fenced_task
from gateway.plumbing.seat import Seat
from gateway.process.fleet.board import Board
from gateway.process.fleet.messages import (
    AskPages,
    Born,
    Changed,
    Down,
    GivePage,
    HandOver,
    Named,
    Page,
    Said,
    ShowPage,
    Standing,
    Take,
    Up,
    encode,
    to_supervisor,
)
from gateway.process.fleet.messages import Board as BoardTold
from gateway.process.fleet.port import http_sockets
from gateway.process.fleet.restarts import Restarts
from gateway.process.fleet.worker import Worker, closed, how
from gateway.process.reloading import adopted, differences, tell
from gateway.process.rereading import Reread, Rereading
from gateway.process.signals import Stopping

BOARD_SECONDS = 0.25

BACKLOG = 2048
"""Connections that wait to be taken, also while every process is being started again."""

log = structlog.get_logger("fleet")


def count(wanted: int | Literal["auto"]) -> int:
    """Return how many processes there are to be: of the cores that this one may use, if need be."""
    return max(1, len(os.sched_getaffinity(0)) - 1) if wanted == "auto" else wanted


def supervise(
    settings: Settings, owner: Owner, of: int, ready: Callable[[str], None], reread: Reread
) -> int:
    """Serve with so many processes until SIGTERM or SIGINT, then drain; give the exit status."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().set_task_factory(fenced_task)
        try:
            return runner.run(_supervise(settings, owner, of, ready, reread))
        except* OSError as failures:
            failure: BaseException = failures
            while isinstance(failure, BaseExceptionGroup):
                failure = failure.exceptions[0]
            raise failure from None  # a port that is taken, said in one line


async def _supervise(
    settings: Settings, owner: Owner, of: int, ready: Callable[[str], None], reread: Reread
) -> int:
    return await Supervisor(settings, owner, of, ready, reread).run()


class Supervisor:
    """Keeps the processes of one gateway; made on the running loop."""

    def __init__(
        self,
        settings: Settings,
        owner: Owner,
        of: int,
        ready: Callable[[str], None],
        reread: Reread,
    ) -> None:
        self._made_of = settings, owner
        "of which a process is made"
        self._of = of
        self._ready = ready
        self._started = time.time()
        self._secret = Seat().secret
        self._stopping = Stopping.by_signals()
        self._stopping.at_once = self._kill
        rereading = Rereading(reread)
        self._stopping.reread = lambda: rereading.ask(self._changed)
        self._sockets = http_sockets(settings)
        self._workers: dict[int, Worker] = {}
        self._spare: Worker | None = None
        "has imported everything, so that who is lost is back soon"
        self._board = Board(of)
        self._status = 0
        self._fronts = self._make_fronts(settings)

    def _make_fronts(self, settings: Settings) -> dict[str, Front]:
        fronts: dict[str, Front] = {}
        for name, kind in LINES.items():
            chosen = settings.lines[name]
            if kind.front is not None and not kind.off(chosen):
                needs = FrontNeeds(partial(self._say, name), self._board.choose)
                fronts[name] = kind.front(chosen, needs)
        return fronts

    async def run(self) -> int:
        """Serve until stopped, and give the exit status."""
        for one in self._sockets:
            one.listen(BACKLOG)
        async with asyncio.TaskGroup() as group:
            for front in self._fronts.values():
                await front.open(group)
            tasks = [group.create_task(each) for each in (self._tell_board(), self._reload())]
            passing_on = group.create_task(self._pass_signals_on())
            async with asyncio.TaskGroup() as keeping:
                for number in range(self._of):
                    keeping.create_task(self._keep(number))
            for task in (*tasks, passing_on):
                task.cancel()
            for front in self._fronts.values():
                await front.close()
        self._let_spare_go()
        for one in self._sockets:
            one.close()
        return self._status

    # --- the processes ---------------------------------------------------------------------------

    async def _keep(self, number: int) -> None:
        """Have a process of this number, for as long as the gateway serves."""
        restarts, again = Restarts(), False
        loop = asyncio.get_running_loop()
        while not self._stopping.asked.is_set():
            worker, born = self._bear(number, again), loop.time()
            status = await worker.ended()
            calls = self._lost(number)
            if self._stopping.asked.is_set():
                return
            if not worker.ready and not again:  # it has said itself what keeps it from serving
                self._status = status if status > 0 else 1
                self._stopping.asked.set()
                return
            log.error("process_lost", process=number, pid=worker.pid, calls=calls, **how(status))
            again = True
            await self._rest(restarts.wait(loop.time() - born))

    def _bear(self, number: int, again: bool) -> Worker:
        worker, self._spare = self._spare or Worker(self._received), None
        self._workers[number] = worker
        made_of = pickle.dumps(self._made_of)
        told = Born(number, self._of, self._started, time.time(), self._secret, again, made_of)
        worker.tell(encode(told), [one.fileno() for one in self._sockets])
        for front in self._fronts.values():
            front.joined(number)
        return worker

    def _lost(self, number: int) -> int:
        """Take that a process has ended; give how many calls it had."""
        self._workers.pop(number, None)
        standing = self._board.standings.get(number)
        self._board.lost(number)
        for front in self._fronts.values():
            front.lost(number)
        self._show_board()
        return 0 if standing is None else sum(standing.calls.values())

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.asked.wait()
        except TimeoutError:
            pass

    def _let_spare_go(self) -> None:
        if self._spare is not None:
            self._spare.let_go()
            self._spare = None

    # --- what they say ---------------------------------------------------------------------------

    def _received(self, worker: Worker, message: bytes, files: list[int]) -> None:
        number = next((n for n, one in self._workers.items() if one is worker), None)
        if number is None:
            closed(files)
            return
        said = to_supervisor.decode(message)
        match said:
            case Standing():
                before = self._board.standings.get(number)
                self._board.standings = {**self._board.standings, number: said}
                if before is None or before.load != said.load:
                    self._show_board()
            case HandOver(to, data):
                self._hand_over(worker, to, data, files)
            case Said(line, message):
                if line in self._fronts:
                    self._fronts[line].said(number, message)
            case Named():
                self._tell_others(worker, encode(said))
            case AskPages(asked):
                self._tell_others(worker, encode(ShowPage(number, asked)))
            case GivePage(to, asked, text):
                if to in self._workers:
                    self._workers[to].tell(encode(Page(number, asked, text)))
            case Up(address):
                self._up(worker, address)
            case _:
                assert_never(said)

    def _tell_others(self, sender: Worker, message: bytes) -> None:
        for one in self._workers.values():
            if one is not sender and one.ready:
                one.tell(message)

    def _hand_over(self, sender: Worker, to: int, data: bytes, files: list[int]) -> None:
        """Give a connection on; back to where it came from if that cannot be."""
        wanted = self._workers.get(to)
        taker = wanted if wanted is not None and wanted.ready else sender
        taker.tell(encode(Take(data)), files)
        closed(files)

    def _up(self, worker: Worker, address: str) -> None:
        first = not all(one.ready for one in self._workers.values())
        worker.ready = True
        if all(one.ready for one in self._workers.values()) and len(self._workers) == self._of:
            if self._spare is None and not self._stopping.asked.is_set():
                self._spare = Worker(self._received)
            if first:
                self._ready(address)

    def _say(self, line: str, number: int, message: bytes) -> None:
        worker = self._workers.get(number)
        if worker is not None:
            worker.tell(encode(Down(line, message)))

    async def _tell_board(self) -> None:
        while True:
            self._show_board()
            await asyncio.sleep(BOARD_SECONDS)

    def _show_board(self) -> None:
        board = encode(BoardTold(dict(self._board.standings)))
        self._board.take(self._board.standings)
        for worker in self._workers.values():
            if worker.ready:
                worker.tell(board)

    # --- signals ---------------------------------------------------------------------------------

    async def _pass_signals_on(self) -> None:
        await self._stopping.asked.wait()
        self._let_spare_go()
        self._signal(signal.SIGTERM)
        await self._stopping.hurried.wait()
        self._signal(signal.SIGTERM)

    async def _reload(self) -> None:
        while True:
            await self._stopping.reload.wait()
            self._stopping.reload.clear()
            self._signal(signal.SIGHUP)

    def _signal(self, number: int) -> None:
        for worker in self._workers.values():
            worker.signal(number)

    def _changed(self, settings: Settings) -> None:
        """Tell all processes of settings that were read again; those to come are born with them."""
        before, owner = self._made_of
        tell(differences(before, settings))
        self._made_of = adopted(before, settings), owner
        for worker in self._workers.values():
            worker.tell(encode(Changed(pickle.dumps(settings))))

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)
