"""`parley transcribe`: recognises recordings with the embedded recogniser."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

if TYPE_CHECKING:
    from media.frame import Samples

NAME = "transcribe"
HELP = "recognise recordings with the embedded recogniser"

PHONE_RATE = 8000
"""Recordings are heard as a telephone would bring them."""

Recognise: TypeAlias = "Callable[[Samples, int, tuple[str, ...]], str]"
"""Gives the words of one turn: samples, their rate, words that are likely."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was heard in one recording."""

    file: str
    text: str
    seconds: float
    "length of the recording"
    cost_ms: float
    "processor time"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="WAV", help="mono, any usual rate")
    parser.add_argument(
        "--hint", action="append", default=[], metavar="WORDS", help="words that are likely"
    )
    parser.add_argument(
        "--wide", action="store_true", help="hear it whole, not as a telephone does"
    )
    add_json(parser)
    add_config(parser)


def transcribe(
    recognise: Recognise, path: Path, hints: Sequence[str] = (), rate: int = PHONE_RATE
) -> Report:
    """Recognise one recording; raise OSError or ValueError where it cannot be read."""
    import numpy as np

    from gateway.caller.sound import load

    sound = load(path, rate)
    begun = time.process_time()
    text = recognise(np.frombuffer(sound.pcm, "<i2"), rate, tuple(hints))
    cost = 1000 * (time.process_time() - begun)
    return Report(str(path), text, round(sound.seconds, 3), round(cost, 1))


def run(args: argparse.Namespace) -> int:
    """Recognise each recording; give 1 where one could not be read."""
    from gateway.backends.cascade.recognisers.moonshine import Moonshine
    from gateway.backends.cascade.recognisers.moonshine_model import RATE
    from inference.runtime import Runtime

    runtime = Runtime(settings(args).runtime)
    failed = False
    try:
        recogniser = Moonshine(runtime)
        recogniser.load()
        for path in args.files:
            try:
                rate = RATE if args.wide else PHONE_RATE
                report = transcribe(recogniser.write, path, args.hint, rate)
            except (OSError, ValueError) as error:
                complain(str(error))
                failed = True
                continue
            if args.json:
                print_json(report)
            else:
                print(f"{path}: {report.text}" if len(args.files) > 1 else report.text)
    except RuntimeError as error:  # a model is missing or wrong, or there is no runtime
        complain(str(error))
        return 1
    finally:
        runtime.close()
    return 1 if failed else 0
