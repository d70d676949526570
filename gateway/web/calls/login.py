"""Who somebody is that asks for calls, and how they begin and end a session."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Collection

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gateway.doors import table
from gateway.doors.attempts import Attempts
from gateway.doors.judgement import Doors
from gateway.doors.passwords import NOBODY, matches
from gateway.doors.people import COOKIE, OWNER, People, Person, User, known_as
from gateway.doors.table import Door, Who
from gateway.plumbing.wire_json import decode
from gateway.web.settings import WebSettings

LARGEST = 4096
"""Bytes of a name and a password."""

PRIVATE = {"Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"}


class Credentials(msgspec.Struct, forbid_unknown_fields=True):
    """What somebody logs in with."""

    name: str
    password: str


_CREDENTIALS = msgspec.json.Decoder(Credentials)


class Login:
    """Judges requests for calls."""

    def __init__(
        self, settings: WebSettings, doors: Doors, wall: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._doors = doors
        self._wall = wall
        self._people = People(
            {name: User(one.role, one.password) for name, one in settings.users.items()},
            # Without an owner, a session is this process's alone.
            doors.key("sessions of the call browser") or secrets.token_bytes(32),
            settings.session_hours * 3600,
            settings.proxy_header,
            settings.proxy_secret,
        )
        self._attempts = Attempts()
        self._trying = asyncio.Lock()

    def routes(self) -> list[BaseRoute]:
        """Return the routes of a session."""
        return [
            Route("/calls/session", self.say, methods=["GET", "HEAD"]),
            Route("/calls/session", self.begin, methods=["POST"]),
            Route("/calls/session", self.end, methods=["DELETE"]),
        ]

    def person(self, request: Request) -> Person | None:
        """Return who asks."""
        if self._doors.is_owner(request.headers):
            return Person(OWNER, "acts")
        return self._people.person(request.headers, self._wall())

    def lets(self, door: Door, request: Request) -> bool:
        """Return whether a request comes in by one of the browser's doors."""
        if self._settings.calls == "off":
            return False
        known: Collection[Who] = known_as(self._people.person(request.headers, self._wall()))
        if self._settings.calls == "open":
            known = (*known, "setting")
        return self._doors.judge(door, request.headers, known) is not None

    def say(self, request: Request) -> Response:
        """Tell somebody who they are here, and what they may."""
        person = self.person(request)
        document = {
            "name": "" if person is None else person.name,
            "sees": self.lets(table.CALL_LIST, request),
            "acts": self.lets(table.CALL_ACT, request),
            "passwords": any(one.password for one in self._settings.users.values()),
            "web.calls": self._settings.calls,
        }
        return JSONResponse(document, headers=PRIVATE)

    async def begin(self, request: Request) -> Response:
        """Begin a session, for a password or for the owner's token."""
        person, wait = await self._shown(request)
        if person is None:
            headers = {**PRIVATE, "Retry-After": str(math.ceil(wait))} if wait else PRIVATE
            said = "Too many tries; wait a minute." if wait else "Name or password is wrong."
            return JSONResponse({"title": said}, 429 if wait else 401, headers)
        answer = JSONResponse({"name": person.name, "acts": person.role == "acts"}, headers=PRIVATE)
        answer.set_cookie(
            COOKIE,
            self._people.session(person.name, self._wall()),
            max_age=self._people.seconds,
            path="/calls",
            # Of its own page a browser says truly how it came; what a proxy forwards, anybody says.
            secure=request.headers.get("origin", "").startswith("https://"),
            httponly=True,
            samesite="strict",
        )
        return answer

    def end(self, request: Request) -> Response:
        """End a session in this browser."""
        answer = JSONResponse({}, headers=PRIVATE)
        if self._doors.judge(table.LOG_OUT, request.headers) is not None:
            answer.delete_cookie(COOKIE, path="/calls", httponly=True, samesite="strict")
        return answer

    async def _shown(self, request: Request) -> tuple[Person | None, float]:
        """Return who logs in, or how long they are to wait."""
        if self._doors.judge(table.LOG_IN, request.headers) == "owner":
            return Person(OWNER, "acts"), 0.0
        if self._doors.refusal(table.LOG_IN, request.headers) == "foreign page":
            return None, 0.0
        try:
            given = decode(_CREDENTIALS, await _body(request))
        except ValueError:
            return None, 0.0
        async with self._trying:  # one at a time: each takes a tenth of a second of a processor
            if wait := self._attempts.wait(self._wall()):
                return None, wait
            user = self._people.users.get(given.name, User("sees"))
            right = await asyncio.to_thread(matches, given.password, user.password or NOBODY)
            if right and user.password:
                return Person(given.name, user.role), 0.0
            self._attempts.failed(self._wall())
        return None, 0.0


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise ValueError("a name and a password are shorter")
    return body
