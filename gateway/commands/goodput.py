"""`parley goodput`: how many calls a server takes before callers feel it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.goodput_options import (
    add_course,
    add_limits,
    add_processes,
)
from gateway.commands.shared.options import (
    add_config,
    add_json,
    complain,
    print_json,
    settings,
)

if TYPE_CHECKING:
    from gateway.caller.sound import Recording
    from gateway.config import Settings
    from gateway.goodput.curve import Point
    from gateway.goodput.sweep import Trial

NAME = "goodput"
HELP = "find how many calls a server takes before callers feel it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "target",
        nargs="?",
        default="",
        help="twilio:ws://HOST:PORT/PATH or sip:USER@HOST:PORT; without: a gateway of one's own, "
        "by the settings of -c",
    )
    add_course(parser)
    add_limits(parser)
    add_processes(parser)
    parser.add_argument("--plot", type=Path, metavar="OUT.svg", help="draw the curve")
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Sweep the rates; give 1 where one was invalid or none was good enough, 2 for wrong use."""
    from gateway.goodput.server import ServerFailed

    try:
        chosen = _prepared(args)
        with _server(args, chosen) as (target, server, log):
            return _measured(args, chosen, target, server, log)
    except ValueError as error:
        complain(str(error))
        return 2
    except (OSError, ServerFailed) as error:
        complain(str(error))
        return 2 if isinstance(error, FileNotFoundError) else 1


def _prepared(args: argparse.Namespace) -> Settings:
    """Look for mistakes before anything is started; raise ValueError or OSError."""
    from gateway.caller.place import parse_target
    from gateway.doors.owner import known_owner
    from gateway.goodput.machine import pin, processor_seconds

    known_owner()
    if args.target:
        parse_target(args.target)
        for flag, given in (
            ("--server-cores", args.server_cores),
            ("--processes", args.processes > 1),
        ):
            if given:
                raise ValueError(f"{flag} is for a gateway of one's own: leave out {args.target}")
    elif args.server_pid or args.log:
        raise ValueError("--server-pid and --log are for a server that runs: name its address")
    if args.plot is not None and args.plot.suffix != ".svg":
        raise ValueError(f"--plot: {args.plot} does not end in .svg")
    if args.plot is not None and not args.plot.parent.is_dir():
        raise FileNotFoundError(f"--plot: there is no folder {args.plot.parent}")
    if args.log is not None and not args.log.is_file():
        raise FileNotFoundError(f"--log: {args.log}: no such file")
    for pid in [*args.stand_in, *filter(None, [args.server_pid])]:
        try:
            processor_seconds(pid)
        except OSError:
            raise ValueError(f"there is no process {pid}") from None
    chosen = settings(args)
    sip = chosen.lines["sip"]
    if args.line == "sip" and not (sip.enabled and sip.udp):
        raise ValueError("--line sip: the settings of -c need sip.enabled = true and sip.udp")
    pin(args.cores)
    return chosen


@contextmanager
def _server(
    args: argparse.Namespace, chosen: Settings
) -> Iterator[tuple[str, int | None, Path | None]]:
    """Give whom to call, the process to watch and the log to read."""
    from gateway.goodput.server import log_of, own_server

    if args.target:
        yield args.target, args.server_pid, args.log
        return
    arguments = ["--processes", str(args.processes)]
    arguments += ["-c", str(args.config)] if args.config else []
    with own_server(arguments, args.server_cores) as (process, address):
        target = f"twilio:{address.replace('http', 'ws', 1)}/twilio/stream"
        if args.line == "sip":
            target = f"sip:bot@127.0.0.1:{chosen.lines['sip'].udp}"
        yield target, process, log_of(chosen.log.path)


def _measured(
    args: argparse.Namespace,
    chosen: Settings,
    target: str,
    server: int | None,
    log: Path | None,
) -> int:
    """Sweep, and say what came of it."""
    import asyncio

    import uvloop

    from gateway.goodput import plot, report
    from gateway.goodput.curve import capacity
    from gateway.goodput.machine import allow_files, machine
    from gateway.goodput.sweep import sweep

    allow_files()
    trial = _trial(args, chosen, target, server, log)
    out = sys.stderr if args.json else sys.stdout
    here, said, left_out = machine(), _said(args), _left_out(target, server, log)
    for line in (*report.head(target, here, said), *left_out):
        print(line, file=out, flush=True)

    def done(point: Point) -> None:
        share = "no turns" if point.good is None else f"{point.good:.1%} of turns good"
        print(f"  {point.rate:g} calls/s: {share}", file=out, flush=True)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        points = runner.run(sweep(trial, done))
    if args.json:
        print_json(report.document(target, here, said, points, args.good, left_out))
    else:
        print("\n".join(report.told(points, args.good)))
    if args.plot is not None:
        args.plot.write_text(plot.draw(target, {"good turns": points}, args.good))
    invalid = any(not each.valid for each in points)
    return 1 if invalid or capacity(points, args.good) is None else 0


def _trial(
    args: argparse.Namespace,
    chosen: Settings,
    target: str,
    server: int | None,
    log: Path | None,
) -> Trial:
    """Make of the arguments what is tried; raise ValueError or OSError."""
    import os

    from gateway.caller.place import CallOptions, line_to, parse_target
    from gateway.goodput.callers import Habits
    from gateway.goodput.judging import Limits
    from gateway.goodput.log_claims import LogTail
    from gateway.goodput.sweep import Course, Trial, Watched

    called = parse_target(target)
    secret = os.environ.get("TWILIO_AUTH_TOKEN", "")
    return Trial(
        line_to(called, CallOptions(agent=args.agent, auth_token=secret)),
        Course(args.rates, args.length, args.seconds, args.settle, args.seed, args.good),
        Habits(_sounds(args, chosen, called.rate), args.cut_ins, args.pause),
        Limits(
            response=args.response,
            stop_delay=args.stop_delay,
            late=args.late,
            missing=args.missing,
            heard_error=args.heard_error,
            late_after=args.late_after,
            answer=args.answer,
        ),
        Watched(
            server,
            {f"stand-in {pid}": pid for pid in args.stand_in},
            tuple(args.limiter) or ("capacity",),
        ),
        None if log is None else LogTail(log),
    )


def _sounds(args: argparse.Namespace, chosen: Settings, rate: int) -> Sequence[Recording]:
    """Load what callers say, or have it said; raise ValueError or OSError."""
    import asyncio

    from gateway.caller.sound import load

    if args.say:
        return [load(path, rate) for path in args.say]
    from gateway.backends.cascade.voices.local import LocalVoice
    from gateway.goodput.speech import spoken
    from inference.runtime import Runtime

    runtime = Runtime(chosen.runtime)
    try:
        voice = LocalVoice(runtime)
        voice.load()
        return asyncio.run(spoken(voice, rate))
    finally:
        runtime.close()


def _said(args: argparse.Namespace) -> dict[str, str]:
    """Say by which settings is measured."""
    return {
        "length": f"{args.length} s (mean {args.length.mean:.1f})",
        "measured": f"{args.seconds:g} s after {args.settle:g}",
        "seed": str(args.seed),
        "cut-ins": f"{args.cut_ins:.0%}",
        "response": f"{args.response:g} s",
        "stop delay": f"{args.stop_delay:g} s",
        "late": f"{args.late:.1%} of frames over {1000 * args.late_after:g} ms",
        "missing": f"{args.missing:.1%}",
        "heard error": f"{args.heard_error:g} s",
        "answer": f"{args.answer:g} s",
        "target": f"{args.good:.0%}",
        "server cores": ",".join(map(str, args.server_cores)) or "any",
        "processes": str(args.processes),
    }


def _left_out(target: str, server: int | None, log: Path | None) -> list[str]:
    """Say what cannot be known of this server."""
    said = []
    if log is None:
        said.append("heard error left out: what the server believes is not known (--log FILE)")
    if server is None:
        said.append("server's processor time left out: its process is not known (--server-pid PID)")
    if target.startswith("sip"):
        said.append("on SIP no mark says where an utterance begins: heard error is by silences")
    return said
