"""How a stream is encrypted with keys from the description (RFC 3711, 4568), by libsrtp."""

from __future__ import annotations

from pylibsrtp import Error, Policy, Session

from gateway.lines.rtp.crypto import Crypto

_PROFILES = {
    "AES_CM_128_HMAC_SHA1_80": Policy.SRTP_PROFILE_AES128_CM_SHA1_80,
    "AES_CM_128_HMAC_SHA1_32": Policy.SRTP_PROFILE_AES128_CM_SHA1_32,
    "AEAD_AES_128_GCM": Policy.SRTP_PROFILE_AEAD_AES_128_GCM,
    "AEAD_AES_256_GCM": Policy.SRTP_PROFILE_AEAD_AES_256_GCM,
}


_TAGS = {
    "AES_CM_128_HMAC_SHA1_80": (10, 10),
    "AES_CM_128_HMAC_SHA1_32": (4, 10),
    "AEAD_AES_128_GCM": (0, 0),
    "AEAD_AES_256_GCM": (0, 0),
}
"""Bytes of the tag behind an identifier, in RTP and RTCP (RFC 3711, 3.1; RFC 7714, 8.2)."""


def _session(key: Crypto, direction: int) -> Session:
    policy = Policy(key=key.key, ssrc_type=direction, srtp_profile=_PROFILES[key.suite])
    # RFC 3711, section 3.3.2: at least 64; 20 ms packets reordered by more than that are useless.
    policy.window_size = 128
    return Session(policy)


class SecureStream:
    """Both directions of one stream; a direction whose key stays the same keeps its context."""

    def __init__(self) -> None:
        self._keys: tuple[Crypto | None, Crypto | None] = (None, None)
        self._out: Session | None = None
        self._in: Session | None = None
        self._named: Crypto | None = None
        "their key, when their packets carry its identifier"

    @property
    def active(self) -> bool:
        """Whether anything is encrypted."""
        return self._out is not None

    def use(self, send: Crypto | None, receive: Crypto | None) -> None:
        """Take the keys of an agreement (RFC 4568, section 7.1.4)."""
        if send != self._keys[0]:
            self._out = _session(send, Policy.SSRC_ANY_OUTBOUND) if send else None
        if receive != self._keys[1]:
            self._in = _session(receive, Policy.SSRC_ANY_INBOUND) if receive else None
        self._named = receive if receive is not None and receive.identifier else None
        self._keys = (send, receive)

    def protect(self, packet: bytes, rtcp: bool = False) -> bytes:
        """Encrypt what goes out."""
        if self._out is None:
            return packet
        protected = self._out.protect_rtcp(packet) if rtcp else self._out.protect(packet)
        return bytes(protected)

    def unprotect(self, packet: bytes, rtcp: bool = False) -> bytes | None:
        """Decrypt what comes in; None when it is not from who has the key, or a repetition."""
        if self._in is None:
            return packet
        if self._named is not None:
            packet = _without_identifier(packet, self._named, rtcp)
        try:
            plain = self._in.unprotect_rtcp(packet) if rtcp else self._in.unprotect(packet)
        except (Error, ValueError):
            return None
        return bytes(plain)


def _without_identifier(packet: bytes, key: Crypto, rtcp: bool) -> bytes:
    """Take out the identifier of the key, which libsrtp's Python side knows nothing of.

    A packet without the right one stays as it is: the key alone decides whether it is believed.
    """
    end = len(packet) - _TAGS[key.suite][rtcp]
    begin = end - len(key.identifier)
    if begin < 12 or packet[begin:end] != key.identifier:
        return packet
    return packet[:begin] + packet[end:]
