"""What a browser offers, what of it is taken, and the answer (RFC 8829, 8843; RFC 9725)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.lines.rtp.codecs import Codec, keys_format, remote_formats
from gateway.lines.rtp.sdp import Attributes, Description, Media, Origin

OFFER_MOST = 16384
"""Bytes; a browser's offer of sound and a data channel has 3000 to 6000."""

DIGESTS = ("sha-256", "sha-384", "sha-512")
"""Hashes of certificates that are believed (RFC 8122, section 5, without what is broken)."""

CHANNEL_PORT = 5000
MESSAGE_MOST = 65536
"""Bytes of a data channel message that are taken; ours have some hundred."""


class UnacceptableError(ValueError):
    """The offer is well-formed, and not one that a call can be made of (RFC 9725, section 4.2)."""


@dataclass(frozen=True, slots=True)
class IceParameters:
    """What authenticates connectivity checks, and where they may be sent."""

    ufrag: str
    password: str
    candidates: tuple[str, ...] = ()
    "as in `a=candidate:`, without the name"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Names the certificate of one end."""

    digest: str
    value: str


@dataclass(frozen=True, slots=True)
class Section:
    """One section of an offer, and whether it is taken; the others are refused in their place."""

    kind: str
    mid: str
    taken: bool
    protocol: str
    formats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreed:
    """What both ends can do."""

    codec: Codec
    payload_type: int
    keys: tuple[int, int] | None
    "payload type of pressed keys, and its clock"
    channel_mid: str | None
    "None: the page has no data channel"
    channel_port: int
    receives: bool
    "the page wants to hear the agent; one that only sends is a WHIP client"
    ice: IceParameters
    fingerprints: tuple[Fingerprint, ...]
    sections: tuple[Section, ...]
    "every section of the offer, in its order"
    bundled: bool
    "the offer groups them (RFC 8843)"


@dataclass(frozen=True, slots=True)
class Ours:
    """What we say of ourselves in an answer."""

    session: int
    ice: IceParameters
    fingerprints: tuple[Fingerprint, ...]
    ssrc: int
    cname: str
    rate: int
    "samples per second at which Opus is decoded here: more is not worth sending"


def read_offer(body: bytes, codecs: Sequence[str]) -> Agreed:
    """Decide what is taken of an offer.

    Raises ValueError for what is no offer, UnacceptableError for one that makes no call.
    """
    offer = Description.parse(body)
    audio = _one(offer, "audio")
    channel = next((m for m in offer.media if m.kind == "application" and _is_open(m)), None)
    taken = [media for media in (audio, channel) if media is not None]
    bundle = _check_bundle(offer, taken)
    codec, payload_type = _choose(audio, codecs)
    direction = offer.direction_of(audio)
    if direction not in ("sendrecv", "sendonly"):
        raise UnacceptableError(f"the microphone's section is {direction}; it must send")
    setup = _attribute(offer, audio, "setup") or "actpass"
    if setup not in ("actpass", "active"):
        raise UnacceptableError(f"a=setup is {setup}; it must be actpass or active")
    return Agreed(
        codec,
        payload_type,
        keys_format(audio, codec.clock),
        None if channel is None else channel.get("mid") or "1",
        _channel_port(channel),
        direction == "sendrecv",
        read_ice(offer, audio),
        _fingerprints(offer, audio),
        tuple(
            Section(
                media.kind,
                media.get("mid") or str(number),
                any(media is one for one in taken),
                media.protocol,
                media.formats,
            )
            for number, media in enumerate(offer.media)
        ),
        bool(bundle),
    )


def _one(offer: Description, kind: str) -> Media:
    """Find the section that the call is made of; others, a camera's for one, are not needed."""
    found = [media for media in offer.media if media.kind == kind and _is_open(media)]
    if not found:
        raise UnacceptableError(f"no {kind} section that is open; there must be one")
    media = found[0]
    if media.get("rtcp-mux") is None:
        raise UnacceptableError("a=rtcp-mux is missing")
    if not media.protocol.endswith("TLS/RTP/SAVPF"):
        raise UnacceptableError(f"{media.protocol} is not DTLS-SRTP")
    return media


def _is_open(media: Media) -> bool:
    """Whether a section is not refused already; one with port 0 may lean on another's (8843, 6)."""
    return bool(media.port) or media.get("bundle-only") is not None


def _bundle(offer: Description) -> list[str]:
    """Return the mids of the sections that share one transport."""
    groups = (v.split() for k, v in offer.attributes if k == "group" and v)
    return next((mids for kind, *mids in groups if kind == "BUNDLE"), [])


def _check_bundle(offer: Description, taken: Sequence[Media]) -> list[str]:
    mids = _bundle(offer)
    if len(taken) > 1 and not {media.get("mid") for media in taken} <= set(mids):
        raise UnacceptableError("sound and data channel must be in one BUNDLE group")
    return mids


def _choose(audio: Media, codecs: Sequence[str]) -> tuple[Codec, int]:
    offered = remote_formats(audio)
    for name in codecs:
        for number, codec in offered:
            if codec.name == name:
                return codec, number
    raise UnacceptableError(f"none of the codecs {', '.join(codecs)} is offered")


def _attribute(offer: Description, media: Media, name: str) -> str | None:
    """Return an attribute of a section, of the one whose transport it shares, or of the session."""
    value = media.get(name)
    mids = _bundle(offer)
    if value is None and media.get("mid") in mids:
        first = next((one for one in offer.media if one.get("mid") == mids[0]), media)
        value = first.get(name)
    return value if value is not None else dict(offer.attributes).get(name)


def read_ice(offer: Description, media: Media) -> IceParameters:
    """Read a section's ICE parameters; raises ValueError."""
    ufrag = _attribute(offer, media, "ice-ufrag") or ""
    password = _attribute(offer, media, "ice-pwd") or ""
    # RFC 8839, section 5.4.
    if not (4 <= len(ufrag) <= 256 and 22 <= len(password) <= 256):
        raise ValueError("ice-ufrag or ice-pwd is missing or of the wrong length")
    return IceParameters(ufrag, password, tuple(media.all("candidate"))[:50])


def _fingerprints(offer: Description, media: Media) -> tuple[Fingerprint, ...]:
    lines = media.all("fingerprint")
    if not lines:
        one = _attribute(offer, media, "fingerprint")
        lines = [one] if one else []
    found: list[Fingerprint] = []
    for line in lines:
        digest, _, value = line.partition(" ")
        if digest.lower() in DIGESTS and value.strip():
            found.append(Fingerprint(digest.lower(), value.strip().upper()))
    if not found:
        raise ValueError(f"no fingerprint of {', '.join(DIGESTS)}")
    return tuple(found)


def _channel_port(channel: Media | None) -> int:
    port = (channel.get("sctp-port") or "") if channel is not None else ""
    return int(port) if port.isascii() and port.isdigit() and len(port) < 6 else CHANNEL_PORT


# --- the answer ----------------------------------------------------------------------------------


def write_answer(agreed: Agreed, ours: Ours) -> bytes:
    """Write the answer: `sendrecv` to who wants to hear, since a voice agent answers with sound.

    This is where it is not RFC 9725, whose server only receives.
    """
    mids = " ".join(section.mid for section in agreed.sections if section.taken)
    host, port = _default(ours.ice)
    common = (
        ("ice-ufrag", ours.ice.ufrag),
        ("ice-pwd", ours.ice.password),
        *(("fingerprint", f"{one.digest} {one.value}") for one in ours.fingerprints),
        ("setup", "passive"),
    )
    places = tuple(("candidate", one) for one in ours.ice.candidates)
    ends: Attributes = (*places, ("end-of-candidates", None))
    media: list[Media] = []
    for section in agreed.sections:
        attributes: Attributes = (("mid", section.mid), *common)
        if not section.taken:
            # RFC 8829, section 5.3.1; RFC 3264, section 6: refused in its place.
            refused: Attributes = (("mid", section.mid), ("inactive", None))
            media.append(Media(section.kind, 0, section.protocol, section.formats, host, refused))
        elif section.kind == "audio":
            attributes = (*attributes, *_sound(agreed, ours), *ends)
            media.append(
                Media("audio", port, "UDP/TLS/RTP/SAVPF", _formats(agreed), host, attributes)
            )
        else:
            limits = (("sctp-port", str(CHANNEL_PORT)), ("max-message-size", str(MESSAGE_MOST)))
            attributes = (*attributes, *limits)
            channel = ("webrtc-datachannel",)
            media.append(Media("application", port, "UDP/DTLS/SCTP", channel, host, attributes))
    group: Attributes = (("group", f"BUNDLE {mids}"),) if agreed.bundled else ()
    return Description(
        Origin(ours.session, 2, "0.0.0.0"),
        host,
        tuple(media),
        (*group, ("msid-semantic", " WMS *")),
    ).encode()


def _default(ice: IceParameters) -> tuple[str, int]:
    """Return the address of the first candidate, for lines that are there for old times' sake."""
    for candidate in ice.candidates:
        parts = candidate.split()
        return parts[4], int(parts[5])
    return "0.0.0.0", 9


def _formats(agreed: Agreed) -> tuple[str, ...]:
    keys = () if agreed.keys is None else (str(agreed.keys[0]),)
    return (str(agreed.payload_type), *keys)


def _sound(agreed: Agreed, ours: Ours) -> Attributes:
    codec, number = agreed.codec, agreed.payload_type
    lines: list[tuple[str, str | None]] = [
        ("sendrecv" if agreed.receives else "recvonly", None),
        ("rtcp-mux", None),
        ("rtpmap", f"{number} {codec.wire}"),
    ]
    if codec.name == "opus":
        # RFC 7587, section 6.1: what we decode at, one channel, and copies against loss.
        wanted = f"minptime=10;useinbandfec=1;stereo=0;maxplaybackrate={ours.rate}"
        lines.append(("fmtp", f"{number} {wanted}"))
    if agreed.keys is not None:
        number, clock = agreed.keys
        lines += [("rtpmap", f"{number} telephone-event/{clock}"), ("fmtp", f"{number} 0-15")]
    lines += [("ptime", "20"), ("msid", f"parley {ours.cname}")]
    lines.append(("ssrc", f"{ours.ssrc} cname:{ours.cname}"))
    return tuple(lines)


# --- pieces of it, in PATCH ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a page says in a PATCH (RFC 8840)."""

    ufrag: str
    password: str
    candidates: tuple[str, ...]


def read_fragment(body: bytes) -> Fragment:
    """Read a trickle-ice-sdpfrag; raises ValueError."""
    ufrag = password = ""
    candidates: list[str] = []
    for line in body.decode("utf-8", "replace").splitlines():
        name, _, value = line.removeprefix("a=").partition(":")
        match name:
            case "ice-ufrag":
                ufrag = ufrag or value.strip()
            case "ice-pwd":
                password = password or value.strip()
            case "candidate" if len(candidates) < 50:
                candidates.append(value.strip())
            case _:
                pass  # m= and mid say where it belongs, and there is one transport alone
    if not (4 <= len(ufrag) <= 256 and 22 <= len(password) <= 256):
        raise ValueError("ice-ufrag or ice-pwd is missing or of the wrong length")
    return Fragment(ufrag, password, tuple(candidates))


def write_fragment(mid: str, ice: IceParameters) -> bytes:
    """Write what has changed in an answer after an ICE restart."""
    lines = [
        f"a=ice-ufrag:{ice.ufrag}",
        f"a=ice-pwd:{ice.password}",
        "m=audio 9 UDP/TLS/RTP/SAVPF 0",
        f"a=mid:{mid}",
        *(f"a=candidate:{one}" for one in ice.candidates),
        "a=end-of-candidates",
    ]
    return ("\r\n".join(lines) + "\r\n").encode()
