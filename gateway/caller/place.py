"""Placing calls: one, or many at a rate; and what comes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from gateway.caller.measure import measure
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import CallerEvent, CallerLine, Phone
from gateway.caller.plan import CallPlan
from gateway.caller.report import CallReport
from gateway.caller.sip import SipCaller
from gateway.caller.twilio import TwilioCaller
from gateway.caller.webrtc import WebrtcCaller
from gateway.lines.sip.message.address import parse_uri
from gateway.lines.sip.transactions.routing import transport_of
from media.sound_file import write

Watch = Callable[[str, CallerEvent], None]
"""Told of each event as it happens, with the call's id."""


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to call, over which line."""

    line: str
    address: str
    rate: int = 8000
    "samples per second of the line"


def parse_target(text: str) -> Target:
    """Read `twilio:ws://host:port/twilio/stream`, `sip:user@host:port;transport=tcp`, or
    `webrtc:http://host:port/webrtc/AGENT`.

    Raises ValueError saying what is allowed.
    """
    try:
        return _target(text)
    except ValueError as error:
        said = str(error)
        raise ValueError(said if repr(text) in said else f"{text!r}: {said}") from None


def _target(text: str) -> Target:
    line, _, address = text.partition(":")
    if line in ("sip", "sips"):
        SipCaller(text)
        uri = parse_uri(text)
        if transport_of(uri) is None and any(key == "transport" for key in uri.parameters):
            raise ValueError("transport: allowed are udp, tcp and tls")
        return Target("sip", text)
    if line == "webrtc":
        return Target(line, address, WebrtcCaller(address).rate)
    if line != "twilio":
        allowed = "twilio:ws://..., sip:user@host and webrtc:http://..."
        raise ValueError(f"{text!r} names no line that can be called; allowed: {allowed}")
    parts = urlsplit(address)
    _ = parts.port  # raises ValueError where it is none
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError(f"{text!r}: after twilio: comes a ws:// or wss:// address")
    return Target(line, address)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a call is placed, beside what is said in it."""

    agent: str = ""
    webhook: bool = True
    token: str = ""
    auth_token: str = field(default="", repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)
    "sent along with the call, for the agent's variables"
    network: NetworkSettings = field(default_factory=NetworkSettings)
    record: Path | None = None
    "stereo: left what was said, right what was heard"


async def place_call(
    plan: CallPlan, target: Target, options: CallOptions | None = None, watch: Watch | None = None
) -> CallReport:
    """Place one call and measure it."""
    chosen = options or CallOptions()
    line = line_to(target, chosen)
    call_id = line.new_id()
    seen = None if watch is None else lambda event: watch(call_id, event)
    phone = Phone(plan, line.form, chosen.network, seen)
    await line.call(call_id, phone)
    # Other calls of this process must not wait for the arithmetic.
    return await asyncio.to_thread(_finish, phone.known_as or call_id, phone, chosen.record)


def line_to(target: Target, options: CallOptions) -> CallerLine:
    """Choose the line; another kind is another case."""
    match target.line:
        case "twilio":
            return TwilioCaller(
                target.address,
                webhook=options.webhook,
                token=options.token,
                agent=options.agent,
                auth_token=options.auth_token,
                parameters=options.parameters,
            )
        case "sip":
            headers = {f"X-{name}": value for name, value in options.parameters.items()}
            return SipCaller(target.address, headers=headers)
        case "webrtc":
            return WebrtcCaller(target.address, token=options.token)
        case _:
            raise ValueError(f"no line named {target.line!r} can be called")


async def place_calls(
    plan: CallPlan,
    target: Target,
    options: CallOptions,
    calls: int,
    rate: float,
    done: Callable[[CallReport], None],
    watch: Watch | None = None,
) -> None:
    """Place many calls, `rate` a second, each with its own chances; `done` takes each report."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def one(number: int) -> None:
        own = replace(
            options,
            network=replace(options.network, seed=options.network.seed + number),
            record=None if options.record is None else _numbered(options.record, number, calls),
        )
        done(await place_call(plan, target, own, watch))

    async with asyncio.TaskGroup() as group:
        for number in range(calls):
            await asyncio.sleep(start + number / rate - loop.time())
            group.create_task(one(number))


def _numbered(path: Path, number: int, calls: int) -> Path:
    return path if calls == 1 else path.with_stem(f"{path.stem}-{number + 1}")


def _finish(call_id: str, phone: Phone, record: Path | None) -> CallReport:
    """Measure a call that is over, and write its recording."""
    by, reason = phone.outcome or ("failure", "never ended")
    figures = measure(phone.tape)
    if record is not None:
        try:
            _write(record, phone)
        except OSError as error:
            phone.complain(f"the recording was not written: {error}")
    late = phone.schedule.lateness
    return CallReport(
        call_id=call_id,
        answered=phone.answered or (by != "failure" and bool(late)),
        ended_by=by,
        reason=reason,
        greeting=figures.greeting,
        turns=figures.turns,
        cut_ins=figures.cut_ins,
        audio_after_clear_seconds=figures.audio_after_clear_seconds,
        missing_or_late_frames=figures.missing_or_late_frames,
        late_p99=figures.late_p99,
        seconds=phone.tape.end / phone.tape.form.rate,
        problems=tuple(phone.problems),
        caller_late_p99=float(np.percentile(late, 99)) if late else 0.0,
    )


def _write(path: Path, phone: Phone) -> None:
    """Write what was said (left) and what was heard (right), on one clock."""
    tape = phone.tape
    heard = np.frombuffer(tape.heard_pcm(), dtype="<i2")
    last = phone.mouth.said[-1].start + len(phone.mouth.said[-1].payload) if phone.mouth.said else 0
    both = np.zeros((max(len(heard), last), 2), dtype=np.int16)
    both[: len(heard), 1] = heard
    for piece in phone.mouth.said:
        samples = np.frombuffer(tape.form.decode(piece.payload), dtype="<i2")
        both[piece.start : piece.start + len(samples), 0] = samples
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, both, tape.form.rate)
