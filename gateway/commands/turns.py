"""`parley turns`: runs the turn-taking over recordings, faster than real time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import (
    add_config,
    add_json,
    complain,
    number,
    print_json,
    settings,
)

if TYPE_CHECKING:
    from turn.offline_lines import Line

NAME = "turns"
HELP = "run the turn-taking over recordings, faster than real time"

PHONE_RATE = 8000
"""Recordings are heard as a telephone would bring them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="WAV", help="mono, any usual rate")
    parser.add_argument("--profile", metavar="NAME", help="of patience, instead of turn.profile")
    parser.add_argument(
        "--silence",
        type=number(0.05, 30, of="a number of seconds"),
        metavar="SECONDS",
        help="a plain timer instead, to compare with",
    )
    parser.add_argument(
        "--agent-speaking",
        type=_span,
        action="append",
        default=[],
        metavar="FROM-TO",
        help="seconds in which the agent is heard, for overlaps",
    )
    add_json(parser)
    add_config(parser)


def _span(text: str) -> tuple[float, float]:
    first, _, last = text.partition("-")
    try:
        span = float(first), float(last)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not FROM-TO, as in 1.5-4") from None
    if not 0 <= span[0] < span[1] <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} does not go forward, from 0 to 86400")
    return span


def run(args: argparse.Namespace) -> int:
    """Hear each recording; give 1 where one could not be read."""
    import numpy as np

    from gateway.caller.sound import load
    from gateway.commands.shared.offline_models import ears
    from inference.runtime import Runtime
    from turn import offline
    from turn.offline_lines import lines
    from turn.profile import Profile, profile
    from turn.taking import TurnSettings

    chosen = settings(args)
    silence = args.silence or chosen.turn.silence
    try:
        patience = (
            Profile.silence(silence) if silence else profile(args.profile or chosen.turn.profile)
        )
    except ValueError as error:
        complain(f"--profile: {error}")
        return 2
    runtime = Runtime(chosen.runtime)
    failed = False
    try:
        heard_with = ears(runtime, chosen.turn.vad)
        for path in args.files:
            try:
                sound = load(path, PHONE_RATE)
            except (OSError, ValueError) as error:
                complain(str(error))
                failed = True
                continue
            others = [
                each
                for first, last in args.agent_speaking
                for each in offline.agent_speaking(first, last, PHONE_RATE)
            ]
            samples = np.frombuffer(sound.pcm, dtype="<i2")
            found = offline.run(
                samples, PHONE_RATE, heard_with, TurnSettings(patience), others=others
            )
            for line in lines(found):
                _print(str(path), line, args.json)
    finally:
        runtime.close()
    return 1 if failed else 0


def _print(file: str, line: Line, as_json: bool) -> None:
    if as_json:
        document: dict[str, object] = {"file": file, "at": round(line.at, 3), "event": line.event}
        for name in ("probability", "speech_end", "cost_ms"):
            value = getattr(line, name)
            if value is not None:
                document[name] = round(value, 3)
        if line.detail:
            document["detail"] = line.detail
        print_json(document)
        return
    facts = [line.detail] if line.detail else []
    if line.probability is not None:
        facts.append(f"probability {line.probability:.2f}")
    if line.speech_end is not None:
        facts.append(f"{line.at - line.speech_end:.2f} s after speech")
    if line.cost_ms is not None:
        facts.append(f"{line.cost_ms:.0f} ms of processor time")
    name = Path(file).name
    print(
        f"{name}  {line.at:7.2f}  {line.event.replace('_', ' '):<14} {' · '.join(facts)}".rstrip()
    )
