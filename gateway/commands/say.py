"""`parley say`: speaks with the embedded voice, the way a call would, into a file."""

from __future__ import annotations

import argparse
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import (
    add_config,
    add_json,
    complain,
    print_json,
    settings,
    sound_file,
)
from gateway.plumbing.wire_json import clean

if TYPE_CHECKING:
    from gateway.backends.cascade.ports import Voice

NAME = "say"
HELP = "speak with the embedded voice, into a file"

RATES = (8000, 16000, 24000, 48000)


@dataclass(frozen=True, slots=True)
class SaidWord:
    """One word as it was written."""

    word: str
    start: float
    "seconds from the first sample"
    end: float


@dataclass(frozen=True, slots=True)
class Report:
    """What was said."""

    rate: int
    seconds: float
    first_audio: float
    "seconds until the first clause was there; the models had been loaded"
    words: tuple[SaidWord, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("text", metavar="TEXT")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT.wav")
    parser.add_argument(
        "--rate", type=int, choices=RATES, default=24000, help="8000 is what a telephone gets"
    )
    add_json(parser)
    add_config(parser)


async def speak(voice: Voice, text: str, rate: int) -> tuple[Report, bytes]:
    """Speak a text clause by clause; give what was said and its sound.

    Raise OSError when the voice fails.
    """
    begun = time.monotonic()
    first = 0.0
    pcm = bytearray()
    words: list[SaidWord] = []
    async for chunk in voice.speak(_tokens(text), rate):
        first = first or time.monotonic() - begun
        offset = len(pcm) / 2 / rate
        words += [
            SaidWord(each.text, round(each.start + offset, 3), round(each.end + offset, 3))
            for each in chunk.words
        ]
        pcm += chunk.pcm
    return Report(rate, round(len(pcm) / 2 / rate, 3), round(first, 3), tuple(words)), bytes(pcm)


async def _tokens(text: str) -> AsyncIterator[str]:
    """Return a text as a language model would: a word at a time, with the space before it."""
    rest = text
    while rest:
        space = rest.find(" ", 1)
        token, rest = (rest, "") if space < 0 else (rest[:space], rest[space:])
        yield token


def run(args: argparse.Namespace) -> int:
    """Speak the text; give 1 where there is no voice, nothing to say or no file to say it into."""
    import asyncio

    import numpy as np

    from gateway.backends.cascade.voices.local import LocalVoice
    from inference.runtime import Runtime
    from media.sound_file import write

    chosen = settings(args)
    try:
        sound_file("-o", args.output)
    except (OSError, ValueError) as error:
        complain(str(error))
        return 1 if isinstance(error, OSError) else 2
    runtime = Runtime(chosen.runtime)
    try:
        voice = LocalVoice(runtime)
        voice.load()
        report, pcm = asyncio.run(speak(voice, clean(args.text), args.rate))
        if not pcm:
            complain("there is nothing to say in that text")
            return 1
        write(args.output, np.frombuffer(pcm, np.int16), args.rate)
    except OSError as error:
        complain(f"{args.output}: {error.strerror}" if error.strerror else str(error))
        return 1
    except (RuntimeError, ValueError) as error:
        complain(str(error))
        return 1
    finally:
        runtime.close()
    if args.json:
        print_json(report)
    else:
        print(
            f"{args.output}: {report.seconds:.2f} s at {report.rate} Hz, {len(report.words)} words,"
            f" the first sound after {report.first_audio:.3f} s"
        )
    return 0
