"""The archive as a process of its own: it reads and computes where no call waits for it.

Questions come on standard input and answers go to standard output, each with its length before it.
It ends when its standard input does.
"""

from __future__ import annotations

import os
import select
import sqlite3
import struct
import sys
import time
from typing import Any, BinaryIO

import msgspec

from gateway.archive.desk import Desk, Places

LENGTH = struct.Struct("<cI")
"""`+` an answer, `?` no such call, `~` none so far, `!` nothing to be asked; bytes that follow."""

NICE = 15
"""Calls come first."""

LOOK_SECONDS = 2.0
"""How often the log is read on, while nobody asks."""


ASKED_SECONDS = 0.1
"""The most that an answer waits for what is new; what is not read by then is told as `behind`."""


SOUGHT_SECONDS = 2.0
"""How long a call that is not known is looked for in what is not read yet."""


class Question(msgspec.Struct):
    """What is asked."""

    name: str
    given: dict[str, Any]


def main(places: Places) -> None:
    """Answer until nobody asks any more."""
    os.nice(NICE)
    desk = Desk(places)
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    busy = True
    while True:
        waiting, _, _ = select.select([asked], [], [], 0.0 if busy else LOOK_SECONDS)
        if waiting:
            # What is new comes first, so that who asks sees it.
            until = time.monotonic() + ASKED_SECONDS
            while desk.read() and time.monotonic() < until:
                pass
            question = _question(asked)
            if question is None:
                break
            _answer(desk, question, answers)
        busy = desk.read()
    desk.close()


def _question(asked: BinaryIO) -> Question | None:
    head = asked.read(4)
    if len(head) < 4:
        return None
    return msgspec.json.decode(asked.read(int.from_bytes(head, "little")), type=Question)


def _found(desk: Desk, question: Question) -> bytes:
    """Answer, after reading on where a call is not known yet."""
    until = time.monotonic() + SOUGHT_SECONDS
    while True:
        try:
            return desk.answer(question.name, question.given)
        except KeyError:
            if time.monotonic() >= until or not desk.read():
                raise


def _answer(desk: Desk, question: Question, answers: BinaryIO) -> None:
    try:
        kind, body = b"+", _found(desk, question)
    except KeyError:
        kind, body = b"~" if desk.behind else b"?", b""
    except (ValueError, sqlite3.Error, OSError) as error:
        kind, body = b"!", str(error).encode()
    answers.write(LENGTH.pack(kind, len(body)) + body)
    answers.flush()


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Places))
