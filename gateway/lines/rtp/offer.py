"""What two sides agree to send each other (RFC 3264): offers, answers and what follows from them.

Knows one audio stream; further media lines of a peer are refused by port 0, in place.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal

from gateway.lines.rtp.codecs import CODECS, KEYS_CLOCK, Codec, keys_format, remote_formats
from gateway.lines.rtp.crypto import OFFERED, SUITES, Crypto, usable
from gateway.lines.rtp.destination import is_nowhere, objection
from gateway.lines.rtp.sdp import MIRROR, Attributes, Description, Direction, Media, Origin

Srtp = Literal["never", "allowed", "required"]
PLAIN = ("RTP/AVP", "RTP/AVPF")
SECURE = ("RTP/SAVP", "RTP/SAVPF")


class NotAcceptable(ValueError):
    """The offer or answer has nothing that can be used: 488."""


@dataclass(frozen=True, slots=True)
class LocalMedia:
    """What this side has to offer."""

    host: str
    "the address that is advertised"
    port: int
    codecs: tuple[str, ...] = ("pcmu", "pcma")
    "in the order of preference"
    srtp: Srtp = "allowed"
    "`required` refuses plain RTP, `never` refuses SRTP"
    ptime_ms: int = 20


@dataclass(frozen=True, slots=True)
class Agreement:
    """What holds after an offer and its answer."""

    codec: Codec
    send_type: int
    "payload type in their description: what we send with"
    receive_types: dict[int, str]
    "payload types that may come in, and the codec each means"
    keys_send: int | None
    "payload type of telephone-event towards them"
    keys_receive: frozenset[int]
    remote: tuple[str, int]
    "where they receive RTP; port 0 cannot be"
    remote_rtcp: tuple[str, int]
    rtcp_mux: bool
    direction: Direction
    "ours: whether we send and receive"
    ptime_ms: int = 20
    "how much sound they want in a packet"
    send_key: Crypto | None = None
    receive_key: Crypto | None = None
    noise_types: frozenset[int] = field(default=frozenset((13,)))
    "payload types of comfort noise (RFC 3389)"
    keys_clock: int = KEYS_CLOCK
    "of telephone-event towards them; not always that of the sound beside it"


class Negotiation:
    """The descriptions of one dialog, and what they add up to."""

    def __init__(
        self, local: LocalMedia, session: int, random_bytes: Callable[[int], bytes]
    ) -> None:
        self._local = local
        self._random = random_bytes
        self._session = session
        self._version = 0
        self._wish: Direction = "sendrecv"
        self._description: Description | None = None
        "ours, as last sent"
        self._pending: Description | None = None
        "our offer that is not answered"
        self._answered: tuple[Description, bytes] | None = None
        "our first offer and its answer, while no other followed"
        self._sent_keys: dict[str, bytes] = {}
        "our own key for each suite: the same in every description, so that contexts live on"
        self.agreed: Agreement | None = None

    @property
    def offering(self) -> bool:
        """Whether an offer of ours waits for its answer."""
        return self._pending is not None

    def wish(self, direction: Direction) -> None:
        """Say what our next offer or answer should allow."""
        self._wish = direction

    # --- our offer

    def offer(self) -> bytes:
        """Return an offer: the first, or the present state again with our wish (section 8)."""
        if self._description is None:
            media: tuple[Media, ...] = (self._first_offer(),)
        else:
            media = tuple(
                _with_direction(item, self._wish) if item.port else item
                for item in self._description.media
            )
        self._pending = self._describe(media)
        return self._pending.encode()

    def accept(self, body: bytes) -> Agreement:
        """Take the answer to our offer; raises `NotAcceptable`, and then nothing has changed."""
        offer, self._pending = self._pending, None
        if offer is None:
            raise NotAcceptable("an answer came without an offer")
        answer = _parse(body)
        for ours, theirs in zip(offer.media, answer.media, strict=False):
            if ours.port and theirs.port and theirs.kind == "audio":
                agreement = self._agree(ours, theirs, answer, answering=False)
                first = self._description is None
                self._answered = (offer, body) if first else None
                self._description = offer
                self.agreed = agreement
                return agreement
        raise NotAcceptable("the answer refuses the audio stream")

    def amend(self, body: bytes) -> Agreement | None:
        """Take a further answer to our first offer, as gateways give that ring elsewhere first.

        None: it says nothing new. Raises `NotAcceptable`, and then nothing has changed.
        """
        if self._answered is None or not body or body == self._answered[1]:
            return None
        before, kept = self._description, self._answered
        self._pending, self._description = kept[0], None
        try:
            return self.accept(body)
        except NotAcceptable:
            self._description, self._answered = before, kept
            raise

    def fork(self) -> Negotiation:
        """Return an independent copy, for another branch that answers the same offer."""
        return copy(self)

    def withdraw(self) -> None:
        """Forget an offer that was refused (RFC 3261, section 14.1)."""
        self._pending = None

    # --- their offer

    def answer(self, body: bytes) -> bytes:
        """Answer an offer; raises `NotAcceptable`, and then nothing has changed."""
        offer = _parse(body)
        chosen = self._choose(offer)
        if chosen is None:
            raise NotAcceptable("no audio stream with a common codec")
        index, codec, number = chosen
        theirs = offer.media[index]
        ours = self._answer_media(offer, theirs, codec, number)
        agreement = self._agree(ours, theirs, offer, answering=True)
        media = tuple(ours if at == index else _refused(m) for at, m in enumerate(offer.media))
        self._description = self._describe(media)
        self._answered = None
        self.agreed = agreement
        return self._description.encode()

    def _choose(self, offer: Description) -> tuple[int, Codec, int] | None:
        """Find the first audio line and its first codec that we have, in the offerer's order."""
        for index, media in enumerate(offer.media):
            if media.kind != "audio" or not media.port or not self._transportable(media):
                continue
            for number, codec in remote_formats(media):
                # The rate of a call's sound stays what it was when it began.
                same = self.agreed is None or codec.rate == self.agreed.codec.rate
                if codec.name in self._local.codecs and same:
                    return index, codec, number
        return None

    def _transportable(self, media: Media) -> bool:
        keys = usable(media.all("crypto"))
        if media.protocol in SECURE:
            return bool(keys) and self._local.srtp != "never"
        return media.protocol in PLAIN and (self._local.srtp != "required" or bool(keys))

    def _answer_media(self, offer: Description, theirs: Media, codec: Codec, number: int) -> Media:
        formats, attributes = _codec_lines([(number, codec)])
        event = keys_format(theirs, codec.clock)
        if event is not None:
            formats.append(str(event[0]))
            attributes += _keys_lines(*event)
        ptime = _ptime(theirs, self._local.ptime_ms)
        attributes.append(("ptime", str(ptime)))
        if theirs.get("rtcp-mux") is not None:
            attributes.append(("rtcp-mux", None))
        keys = usable(theirs.all("crypto"))
        if keys and self._local.srtp != "never":
            # RFC 4568, section 5.1.2: one line, with the tag and suite of the chosen one.
            key = Crypto(keys[0].tag, keys[0].suite, self._key(keys[0].suite))
            attributes.append(("crypto", str(key)))
        attributes.append((_meet(self._wish, _direction(offer, theirs)), None))
        return Media(
            "audio", self._local.port, theirs.protocol, tuple(formats), "", tuple(attributes)
        )

    # --- both

    def _first_offer(self) -> Media:
        numbered = [(CODECS[name].number, CODECS[name]) for name in self._local.codecs]
        formats, attributes = _codec_lines(numbered)
        clocks = sorted({codec.clock for _, codec in numbered})
        for number, clock in zip((101, 110), clocks, strict=False):
            # RFC 4733, section 2.1: an event stream has the clock of the audio beside it.
            formats.append(str(number))
            attributes += _keys_lines(number, clock)
        attributes.append(("ptime", str(self._local.ptime_ms)))
        attributes.append(("rtcp-mux", None))
        secure = self._local.srtp == "required"
        if secure:
            attributes += [
                ("crypto", str(Crypto(tag, suite, self._key(suite))))
                for tag, suite in enumerate(OFFERED, 1)
            ]
        attributes.append((self._wish, None))
        protocol = "RTP/SAVP" if secure else "RTP/AVP"
        return Media("audio", self._local.port, protocol, tuple(formats), "", tuple(attributes))

    def _describe(self, media: tuple[Media, ...]) -> Description:
        host = self._local.host
        description = Description(Origin(self._session, self._version, host), host, media)
        if self._description is not None and media != self._description.media:
            # RFC 3264, section 8: the version grows by one with every change, and only then.
            self._version += 1
            description = description.with_version(self._version)
        return description

    def _key(self, suite: str) -> bytes:
        return self._sent_keys.setdefault(suite, self._random(SUITES[suite]))

    def _agree(
        self, ours: Media, theirs: Media, remote: Description, *, answering: bool
    ) -> Agreement:
        host = remote.host_of(theirs)
        if not host:
            raise NotAcceptable("the description has no address")
        reports = _rtcp_address(host, theirs)
        problem = objection(host) or objection(reports[0])
        if problem:
            raise NotAcceptable(problem)
        mine = dict(remote_formats(ours))
        chosen = next(
            ((number, codec) for number, codec in remote_formats(theirs) if codec in mine.values()),
            None,
        )
        if chosen is None:
            raise NotAcceptable("no common codec")
        number, codec = chosen
        send_key, receive_key = _keys_of(ours, theirs, self._local.srtp)
        mux = ours.get("rtcp-mux") is not None and theirs.get("rtcp-mux") is not None
        their_direction = _direction(remote, theirs)
        wish = self._wish if answering else _direction_of_media(ours)
        receives = {**dict(_static()), **{n: c.name for n, c in mine.items()}}
        receives.setdefault(number, codec.name)  # some send with the type they receive
        events = (keys_format(ours, codec.clock), keys_format(theirs, codec.clock))
        return Agreement(
            codec,
            number,
            receives,
            events[1][0] if events[1] is not None else None,
            frozenset(event[0] for event in events if event is not None),
            (host, theirs.port),
            (host, theirs.port) if mux else reports,
            mux,
            _meet(wish, their_direction),
            _ptime(theirs, self._local.ptime_ms),
            send_key,
            receive_key,
            keys_clock=events[1][1] if events[1] is not None else codec.clock,
        )


def _static() -> list[tuple[int, str]]:
    """The two laws of G.711 are always understood: their numbers cannot mean anything else."""
    return [(0, "pcmu"), (8, "pcma")]


def _parse(body: bytes) -> Description:
    try:
        return Description.parse(body)
    except ValueError as error:
        raise NotAcceptable(str(error)) from error


def _refused(media: Media) -> Media:
    """Refuse a media line in its place (RFC 3264, section 6)."""
    return Media(media.kind, 0, media.protocol, media.formats)


def _codec_lines(
    numbered: list[tuple[int, Codec]],
) -> tuple[list[str], list[tuple[str, str | None]]]:
    formats: list[str] = []
    attributes: list[tuple[str, str | None]] = []
    for number, codec in numbered:
        formats.append(str(number))
        attributes.append(("rtpmap", f"{number} {codec.wire}"))
        if codec.parameters:
            attributes.append(("fmtp", f"{number} {codec.parameters}"))
    return formats, attributes


def _keys_lines(number: int, clock: int) -> list[tuple[str, str | None]]:
    return [("rtpmap", f"{number} telephone-event/{clock}"), ("fmtp", f"{number} 0-16")]


def _ptime(media: Media, ours: int) -> int:
    """Return how many milliseconds they want in a packet: 10 to 60, in steps of 10."""
    asked = media.get("ptime") or ""
    wanted = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 5 else ours
    most = media.get("maxptime") or ""
    if most.isascii() and most.isdigit() and len(most) < 5:
        wanted = min(wanted, int(most))
    return max(10, min(60, wanted // 10 * 10))


def _direction(description: Description, media: Media) -> Direction:
    """Return their direction; address 0.0.0.0 is the hold of RFC 2543 (RFC 3264, section 8.4)."""
    direction = description.direction_of(media)
    if is_nowhere(description.host_of(media)):
        return "sendonly" if direction in ("sendrecv", "sendonly") else "inactive"
    return direction


def _direction_of_media(media: Media) -> Direction:
    return Description(Origin(0, 0, ""), "", (media,)).direction_of(media)


def _meet(wish: Direction, theirs: Direction) -> Direction:
    """Return our direction: what we wish and they allow (RFC 3264, section 6.1)."""
    allowed = MIRROR[theirs]
    sends = wish in ("sendrecv", "sendonly") and allowed in ("sendrecv", "sendonly")
    hears = wish in ("sendrecv", "recvonly") and allowed in ("sendrecv", "recvonly")
    if sends:
        return "sendrecv" if hears else "sendonly"
    return "recvonly" if hears else "inactive"


def _with_direction(media: Media, direction: Direction) -> Media:
    kept: Attributes = tuple(item for item in media.attributes if item[0] not in MIRROR)
    return replace(media, attributes=(*kept, (direction, None)))


def _rtcp_address(host: str, media: Media) -> tuple[str, int]:
    """Return where RTCP goes: `a=rtcp` (RFC 3605), or the next port."""
    port, *address = (media.get("rtcp") or "").split()[:4] or [""]
    if port.isascii() and port.isdigit() and 0 < int(port[:6]) <= 65535:
        return (address[2] if len(address) == 3 else host, int(port))
    return host, min(media.port + 1, 65535)


def _keys_of(ours: Media, theirs: Media, srtp: Srtp) -> tuple[Crypto | None, Crypto | None]:
    """Pair the crypto lines; raises `NotAcceptable` when security was asked for and is missing."""
    their_keys = usable(theirs.all("crypto"))
    for own in usable(ours.all("crypto")):
        for other in their_keys:
            if (own.tag, own.suite) == (other.tag, other.suite):
                return own, other
    if srtp == "required" or theirs.protocol in SECURE:
        raise NotAcceptable("no common way to encrypt")
    return None, None
