"""`parley call`: is the caller, and measures at the far end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.commands.shared.options import (
    add_json,
    complain,
    number,
    print_json,
    seconds,
    sound_file,
    whole,
)

if TYPE_CHECKING:
    from gateway.caller.phone import CallerEvent
    from gateway.caller.place import CallOptions, Target
    from gateway.caller.plan import CallPlan
    from gateway.caller.report import CallReport

NAME = "call"
HELP = "be the caller: place calls, play recordings, measure what is heard"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "target",
        help="twilio:ws://HOST:PORT/twilio/stream, sip:USER@HOST:PORT;transport=tcp "
        "or webrtc:http://HOST:PORT/webrtc/AGENT",
    )
    said = parser.add_argument_group("what the caller does, in this order")
    said.add_argument(
        "--say",
        dest="steps",
        action="append",
        metavar="WAV",
        type=lambda text: ("say", Path(text), 0.0),
        help="once the agent is silent: play this, then wait for the reply",
    )
    said.add_argument(
        "--cut-in",
        dest="steps",
        action="append",
        metavar="WAV@SECONDS",
        type=_cut_in,
        help="play this so long after the next reply begins",
    )
    said.add_argument("--key", action="append", metavar="DIGITS@SECONDS", type=_key, default=[])
    said.add_argument("--hang-up-after", type=seconds, metavar="SECONDS")
    said.add_argument(
        "--silence",
        type=seconds,
        default=0.7,
        metavar="SECONDS",
        help="of the agent, after which it is the caller's turn (default 0.7)",
    )
    _add_network(parser)
    door = parser.add_argument_group(
        "getting in", "TWILIO_AUTH_TOKEN, where it is set, signs as Twilio does"
    )
    door.add_argument("--agent", default="", metavar="NAME")
    door.add_argument(
        "--parameter",
        action="append",
        metavar="NAME=VALUE",
        type=_parameter,
        default=[],
        help="sent along with the call, for the agent's variables",
    )
    door.add_argument("--token", default="", help="show this one, and ask no webhook")
    door.add_argument("--no-webhook", action="store_true", help="do not ask /twilio/voice first")
    parser.add_argument(
        "--record", type=Path, metavar="OUT.wav", help="stereo: left sent, right heard"
    )
    add_json(parser)


def _add_network(parser: argparse.ArgumentParser) -> None:
    many = parser.add_argument_group("many at once, and the network as it is")
    many.add_argument("--calls", type=whole(1), default=1, metavar="N")
    many.add_argument(
        "--rate",
        type=number(0, 1000, above=True),
        default=1.0,
        metavar="R",
        help="begun per second",
    )
    many.add_argument("--loss", type=number(0, 99), default=0.0, metavar="PCT")
    many.add_argument("--jitter", type=number(0, 10_000), default=0.0, metavar="MS")
    many.add_argument(
        "--drop-silent-frames", action="store_true", help="send nothing while the caller is silent"
    )
    many.add_argument("--seed", type=whole(0), default=1, metavar="N", help="of loss and jitter")


def _cut_in(text: str) -> tuple[str, Path, float]:
    path, at, after = text.rpartition("@")
    if not at:
        raise argparse.ArgumentTypeError(f"{text!r} has no @SECONDS")
    return "cut_in", Path(path), seconds(after)


def _key(text: str) -> tuple[str, float]:
    digits, at, after = text.rpartition("@")
    if not at or not digits or not set(digits.upper()) <= set("0123456789*#ABCD"):
        raise argparse.ArgumentTypeError(f"{text!r} is not DIGITS@SECONDS")
    return digits.upper(), seconds(after)


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def run(args: argparse.Namespace) -> int:
    """Place the calls; give 1 where one was not answered or failed."""
    import asyncio

    from gateway.caller.place import place_calls

    try:
        target, plan, options = _wanted(args)
    except (ValueError, OSError) as error:
        complain(str(error))
        return 2
    reports: list[CallReport] = []

    def done(report: CallReport) -> None:
        reports.append(report)
        if args.json:
            print_json(report.document())
        else:
            print("\n".join(_told(report)), flush=True)

    watch = None if args.json or args.calls > 1 else _watch
    calling = place_calls(plan, target, options, args.calls, args.rate, done, watch)
    with asyncio.Runner(loop_factory=_loop()) as runner:
        runner.run(calling)
    return 0 if reports and all(report.went_well for report in reports) else 1


def _loop() -> Any:
    import uvloop

    return uvloop.new_event_loop


def _wanted(args: argparse.Namespace) -> tuple[Target, CallPlan, CallOptions]:
    """Make the plan of the arguments; raises ValueError or OSError for what cannot be."""
    import os

    from gateway.caller.network import NetworkSettings
    from gateway.caller.place import CallOptions, parse_target
    from gateway.caller.plan import CallPlan, CutIn, Keys, Say
    from gateway.caller.sound import load
    from gateway.doors.owner import known_owner

    known_owner()  # what is wrong with it is said before anybody is called
    if args.record is not None:
        sound_file("--record", args.record)
    target = parse_target(args.target)
    steps: Sequence[tuple[str, Path, float]] = args.steps or ()
    sounds = {path: load(path, target.rate) for _, path, _ in steps}
    plan = CallPlan(
        steps=tuple(
            Say(sounds[path]) if kind == "say" else CutIn(sounds[path], seconds)
            for kind, path, seconds in steps
        ),
        keys=tuple(Keys(digits, at) for digits, at in args.key),
        hang_up_after=args.hang_up_after,
        silence=args.silence,
    )
    network = NetworkSettings(
        args.loss / 100, args.jitter / 1000, args.drop_silent_frames, args.seed
    )
    options = CallOptions(
        agent=args.agent,
        webhook=not args.no_webhook,
        token=args.token,
        auth_token=os.environ.get("TWILIO_AUTH_TOKEN", ""),
        parameters=dict(args.parameter),
        network=network,
        record=args.record,
    )
    return target, plan, options


WORDS = {
    "answered": "the call is answered",
    "began": "the agent begins to speak",
    "fell": "the agent is silent",
    "said": "the caller says",
    "cut_in": "the caller cuts in with",
    "key": "the caller presses",
    "cleared": "the agent was told to stop",
    "ended": "the call has ended:",
}


def _watch(_call_id: str, event: CallerEvent) -> None:
    print(f"{event.at:7.2f}  {WORDS[event.kind]} {event.detail}".rstrip(), file=sys.stderr)


def _told(report: CallReport) -> list[str]:
    """Tell a report to a person."""
    if not report.answered:
        return [f"{report.call_id}: not answered: {report.reason}"]
    first = report.greeting.first_audio
    greeted = "no greeting" if first is None else f"greeted after {first:.2f} s"
    lines = [
        f"{report.call_id}: {report.seconds:.1f} s, {greeted}, "
        f"ended by {report.ended_by} ({report.reason})"
    ]
    for turn in report.turns:
        answer = (
            "no reply"
            if turn.response is None
            else f"reply after {turn.response:.2f} s, {turn.reply_seconds:.1f} s long"
        )
        early = f", talked into {turn.premature} times" if turn.premature else ""
        lines.append(f"  {turn.speech_end:7.2f}  {turn.said}: {answer}{early}")
    for cut in report.cut_ins:
        if cut.stop_delay is None:
            outcome = "the agent was silent already"
        else:
            verb = "paused" if cut.resumed else "stopped"
            outcome = f"{verb} after {cut.stop_delay:.2f} s, {cut.heard_of_reply:.2f} s heard"
        lines.append(f"  {cut.onset:7.2f}  {cut.said}: cut in, {outcome}")
    lines.append(
        f"  sound after clear {report.audio_after_clear_seconds:.2f} s, "
        f"{report.missing_or_late_frames} frames missing or late, "
        f"99 % within {report.late_p99 * 1000:.1f} ms"
    )
    lines += [f"  against the protocol: {problem}" for problem in report.problems]
    return lines
