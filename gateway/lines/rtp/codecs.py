"""Which codecs a description can name, by number or by name (RFC 3551, table 4)."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.lines.rtp.sdp import Media


@dataclass(frozen=True, slots=True)
class Codec:
    """One codec as descriptions and packets know it."""

    name: str
    number: int
    "payload type we offer it with"
    wire: str
    "encoding name, clock rate and channels, as in rtpmap"
    clock: int
    "RTP clock in Hz"
    rate: int
    "samples per second of the sound of a call that begins with it"
    parameters: str = ""
    "fmtp that we offer"


CODECS = {
    "pcmu": Codec("pcmu", 0, "PCMU/8000", 8000, 8000),
    "pcma": Codec("pcma", 8, "PCMA/8000", 8000, 8000),
    # RFC 3551, section 4.5.2: the clock of G.722 is 8000 by mistake, and has to stay so.
    "g722": Codec("g722", 9, "G722/8000", 8000, 16000),
    # RFC 7587: always 48000 and two channels in the description. Voices speak at 24000.
    "opus": Codec("opus", 96, "opus/48000/2", 48000, 24000, "useinbandfec=1"),
}

_STATIC = {0: "pcmu", 8: "pcma", 9: "g722"}


def codec_named(encoding: str) -> Codec | None:
    """Find a codec by its rtpmap value, such as `PCMU/8000`."""
    wanted = encoding.lower().removesuffix("/1")
    return next((codec for codec in CODECS.values() if codec.wire.lower() == wanted), None)


def _maps(media: Media) -> dict[int, str]:
    maps: dict[int, str] = {}
    for value in media.all("rtpmap"):
        number, _, encoding = value.partition(" ")
        if number.isascii() and number.isdigit() and int(number[:4]) < 128:
            maps[int(number)] = encoding.strip()
    return maps


def remote_formats(media: Media) -> list[tuple[int, Codec]]:
    """Return the codecs of a media line that are known here, in its order.

    A static number needs no rtpmap (RFC 3551, section 6); a number that an rtpmap names is what
    the rtpmap says.
    """
    maps = _maps(media)
    found: list[tuple[int, Codec]] = []
    for text in media.formats:
        if not (text.isascii() and text.isdigit() and int(text[:4]) < 128):
            continue
        number = int(text)
        encoding = maps.get(number)
        static = CODECS.get(_STATIC.get(number, ""))
        codec = codec_named(encoding) if encoding is not None else static
        if codec is not None:
            found.append((number, codec))
    return found


KEYS_CLOCK = 8000
"""Of the events that everybody has; some have no others, beside whatever codec."""


def keys_format(media: Media, clock: int) -> tuple[int, int] | None:
    """Return the payload type of telephone-event and its clock.

    That is the sound's clock (RFC 4733, section 2.1), else the one that everybody has.
    """
    maps = _maps(media)
    for wanted in (clock, KEYS_CLOCK):
        for number, encoding in maps.items():
            same = encoding.lower().removesuffix("/1") == f"telephone-event/{wanted}"
            if same and str(number) in media.formats:
                return number, wanted
    return None
