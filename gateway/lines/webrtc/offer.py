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
class Agreed:
    """What both ends can do."""

    codec: Codec
    payload_type: int
    keys_type: int | None
    "payload type of pressed keys"
    channel_mid: str | None
    "None: the page has no data channel"
    channel_port: int
    receives: bool
    "the page wants to hear the agent; one that only sends is a WHIP client"
    ice: IceParameters
    fingerprints: tuple[Fingerprint, ...]
    sections: tuple[tuple[str, str], ...]
    "kind and mid of every section of the offer, in its order"


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
    channel = next((m for m in offer.media if m.kind == "application"), None)
    _check_bundle(offer)
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
        tuple((m.kind, m.get("mid") or str(number)) for number, m in enumerate(offer.media)),
    )


def _one(offer: Description, kind: str) -> Media:
    found = [media for media in offer.media if media.kind == kind]
    if len(found) != 1:
        raise UnacceptableError(f"{len(found)} {kind} sections; there must be one")
    if any(media.kind not in ("audio", "application") for media in offer.media):
        raise UnacceptableError("only sound and a data channel are taken")
    media = found[0]
    if media.get("rtcp-mux") is None:
        raise UnacceptableError("a=rtcp-mux is missing")
    if not media.protocol.endswith("TLS/RTP/SAVPF"):
        raise UnacceptableError(f"{media.protocol} is not DTLS-SRTP")
    return media


def _check_bundle(offer: Description) -> None:
    bundle = next((v for k, v in offer.attributes if k == "group" and v), None) or ""
    kind, *mids = bundle.split()
    wanted = [m.get("mid") for m in offer.media]
    if len(offer.media) > 1 and (kind != "BUNDLE" or not set(wanted) <= set(mids)):
        raise UnacceptableError("all sections must be in one BUNDLE group")


def _choose(audio: Media, codecs: Sequence[str]) -> tuple[Codec, int]:
    offered = remote_formats(audio)
    for name in codecs:
        for number, codec in offered:
            if codec.name == name:
                return codec, number
    raise UnacceptableError(f"none of the codecs {', '.join(codecs)} is offered")


def _attribute(offer: Description, media: Media, name: str) -> str | None:
    """Give an attribute of a section, or of the session where the section has none."""
    value = media.get(name)
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
    lines = media.all("fingerprint") or [
        value for key, value in offer.attributes if key == "fingerprint" and value
    ]
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
    mids = " ".join(mid for _, mid in agreed.sections)
    host, port = _default(ours.ice)
    common = (
        ("ice-ufrag", ours.ice.ufrag),
        ("ice-pwd", ours.ice.password),
        *(("fingerprint", f"{one.digest} {one.value}") for one in ours.fingerprints),
        ("setup", "passive"),
    )
    places = tuple(("candidate", one) for one in ours.ice.candidates)
    ends: Attributes = (*places, ("end-of-candidates", None))
    media = tuple(
        Media("audio", port, "UDP/TLS/RTP/SAVPF", _formats(agreed), host, attributes)
        if kind == "audio"
        else Media(
            "application",
            port,
            "UDP/DTLS/SCTP",
            ("webrtc-datachannel",),
            host,
            (
                ("mid", mid),
                *common,
                ("sctp-port", str(CHANNEL_PORT)),
                ("max-message-size", str(MESSAGE_MOST)),
            ),
        )
        for kind, mid in agreed.sections
        for attributes in [(("mid", mid), *common, *_sound(agreed, ours), *ends)]
    )
    return Description(
        Origin(ours.session, 2, "0.0.0.0"),
        host,
        media,
        (("group", f"BUNDLE {mids}"), ("msid-semantic", " WMS *")),
    ).encode()


def _default(ice: IceParameters) -> tuple[str, int]:
    """Give the address of the first candidate, for the lines that are there for old times' sake."""
    for candidate in ice.candidates:
        parts = candidate.split()
        return parts[4], int(parts[5])
    return "0.0.0.0", 9


def _formats(agreed: Agreed) -> tuple[str, ...]:
    keys = () if agreed.keys_type is None else (str(agreed.keys_type),)
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
    if agreed.keys_type is not None:
        lines += [
            ("rtpmap", f"{agreed.keys_type} telephone-event/{codec.clock}"),
            ("fmtp", f"{agreed.keys_type} 0-15"),
        ]
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
