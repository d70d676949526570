"""Offers of browsers, and the answers to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from aiortc.sdp import SessionDescription
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.webrtc.offer import (
    Agreed,
    Fingerprint,
    IceParameters,
    Ours,
    UnacceptableError,
    read_fragment,
    read_offer,
    write_answer,
    write_fragment,
)

CHROME = (Path(__file__).parent / "chrome.sdp").read_bytes()
"""What Chromium 156 offers for a microphone and a data channel."""

CODECS = ("opus", "pcmu", "pcma")
OURS = Ours(
    session=77,
    ice=IceParameters(
        "uf" * 4,
        "pw" * 12,
        ("1 1 udp 2130706431 203.0.113.1 40000 typ host",),
    ),
    fingerprints=(Fingerprint("sha-256", "AA:BB"),),
    ssrc=1234,
    cname="WR1",
    rate=24000,
)


def changed(old: str, new: str) -> bytes:
    text = CHROME.decode()
    assert old in text
    return text.replace(old, new).encode()


def test_what_a_browser_offers_is_understood() -> None:
    agreed = read_offer(CHROME, CODECS)
    assert agreed.codec.name == "opus"
    assert agreed.payload_type == 111
    assert agreed.keys == (110, 48000)
    assert agreed.channel_mid == "1"
    assert agreed.channel_port == 5000
    assert agreed.receives
    assert agreed.ice.ufrag == "hdCQ"
    assert agreed.fingerprints[0].digest == "sha-256"
    sections = [(one.kind, one.mid, one.taken) for one in agreed.sections]
    assert sections == [("audio", "0", True), ("application", "1", True)]


def test_the_first_codec_wanted_here_is_used() -> None:
    agreed = read_offer(CHROME, ("pcma", "opus"))
    assert (agreed.codec.name, agreed.payload_type, agreed.keys) == ("pcma", 8, (126, 8000))


def test_a_whip_client_is_only_listened_to() -> None:
    agreed = read_offer(changed("a=sendrecv", "a=sendonly"), CODECS)
    assert not agreed.receives
    assert b"a=recvonly" in write_answer(agreed, OURS)


def test_the_answer_is_read_by_another_implementation() -> None:
    answer = write_answer(read_offer(CHROME, CODECS), OURS)
    read = SessionDescription.parse(answer.decode())
    sound, channel = read.media
    assert sound.kind == "audio"
    assert sound.direction == "sendrecv"
    assert sound.rtcp_mux
    assert [codec.mimeType for codec in sound.rtp.codecs] == ["audio/opus", "audio/telephone-event"]
    assert sound.rtp.codecs[0].parameters["useinbandfec"] == 1
    assert sound.rtp.codecs[0].parameters["maxplaybackrate"] == 24000
    assert sound.dtls is not None
    assert sound.dtls.role == "server"
    assert [(one.ip, one.port) for one in sound.ice_candidates] == [("203.0.113.1", 40000)]
    assert sound.ice_candidates_complete
    assert sound.ice.usernameFragment == OURS.ice.ufrag
    assert sound.ssrc[0].ssrc == 1234
    assert channel.kind == "application"
    assert channel.sctp_port == 5000
    assert read.group[0].items == ["0", "1"]


def test_sections_are_answered_in_the_order_of_the_offer() -> None:
    head, _, rest = CHROME.decode().partition("m=audio")
    first, _, second = rest.partition("m=application")
    sound, channel = "m=audio" + first, "m=application" + second
    agreed = read_offer((head + channel + sound).encode(), CODECS)
    kinds = [
        one.kind for one in SessionDescription.parse(write_answer(agreed, OURS).decode()).media
    ]
    assert kinds == ["application", "audio"]


VIDEO = "m=video {} UDP/TLS/RTP/SAVPF 96 97\r\na=mid:v\r\na=recvonly\r\na=rtpmap:96 VP8/90000\r\n"


@pytest.mark.parametrize("port", [0, 9])
@pytest.mark.parametrize("bundle", ["0 v 1", "v 0 1", "0 1"])
def test_a_section_that_is_no_sound_is_refused_in_its_place(port: int, bundle: str) -> None:
    text = CHROME.decode().replace("\n", "\r\n").replace("\r\r", "\r")
    text = text.replace("m=application", VIDEO.format(port) + "m=application")
    agreed = read_offer(text.replace("BUNDLE 0 1", f"BUNDLE {bundle}").encode(), CODECS)
    answer = write_answer(agreed, OURS).decode()
    assert "m=video 0 UDP/TLS/RTP/SAVPF 96 97\r\n" in answer
    assert "a=group:BUNDLE 0 1\r\n" in answer
    read = SessionDescription.parse(answer)
    assert [one.kind for one in read.media] == ["audio", "video", "application"]
    assert [one.port != 0 for one in read.media] == [True, False, True]


def test_sound_that_leans_on_the_transport_of_a_camera_is_taken() -> None:
    """The most bundled policy: port 0 and bundle-only, and what is shared said once."""
    head, _, sound = CHROME.decode().partition("m=audio")
    sound, _, _ = sound.partition("m=application")
    kept = [
        one for one in sound.splitlines() if not one.startswith(("a=ice-", "a=fing", "a=setup"))
    ]
    shared = [one for one in sound.splitlines() if one.startswith(("a=ice-", "a=fing", "a=setup"))]
    leaning = "m=audio" + "\n".join(kept).replace(" 9 UDP", " 0 UDP", 1) + "\na=bundle-only\n"
    camera = VIDEO.format(9) + "\n".join(shared) + "\n"
    offer = head.replace("BUNDLE 0 1", "BUNDLE v 0") + camera + leaning
    agreed = read_offer(offer.encode(), CODECS)
    assert agreed.ice.ufrag == "hdCQ"
    assert agreed.fingerprints[0].digest == "sha-256"


def test_one_section_needs_no_group_and_is_answered_without_one() -> None:
    text, _, _ = CHROME.decode().partition("m=application")
    lines = [one for one in text.splitlines() if not one.startswith("a=group")]
    agreed = read_offer("\n".join(lines).encode(), CODECS)
    assert b"BUNDLE" not in write_answer(agreed, OURS)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a=sendrecv", "a=recvonly", "must send"),
        ("a=rtcp-mux\n", "", "rtcp-mux"),
        ("UDP/TLS/RTP/SAVPF", "RTP/AVP", "DTLS-SRTP"),
        ("BUNDLE 0 1", "LS 0 1", "BUNDLE"),
        ("m=audio", "m=video", "audio"),
        ("a=setup:actpass", "a=setup:passive", "setup"),
        ("m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8", "m=audio 9 UDP/TLS/RTP/SAVPF 63 9", "codecs"),
    ],
)
def test_what_makes_no_call_is_unacceptable(old: str, new: str, said: str) -> None:
    with pytest.raises(UnacceptableError, match=said):
        read_offer(changed(old, new), CODECS)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a=ice-pwd:VeUFsMhwibhS3hA1Y44O4yyp\n", "", "ice-pwd"),
        ("fingerprint:sha-256", "fingerprint:sha-1", "sha-256"),
        ("m=audio 9", "m=audio nine", "port"),
    ],
)
def test_what_is_no_offer_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        read_offer(changed(old, new), CODECS)
    assert not isinstance(refused.value, UnacceptableError)


@given(st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_garbage_is_refused_and_nothing_else_happens(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_offer(body, CODECS)


@given(st.data())
def test_an_offer_with_a_line_changed_is_taken_or_refused(data: st.DataObject) -> None:
    lines = CHROME.decode().split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(
        st.just("") | st.text(max_size=30) | st.just(lines[at][: len(lines[at]) // 2])
    )
    try:
        agreed = read_offer("\n".join(lines).encode("utf-8", "replace"), CODECS)
    except ValueError:
        return
    assert isinstance(agreed, Agreed)
    SessionDescription.parse(write_answer(agreed, OURS).decode())


def test_an_offer_without_a_channel_is_a_call_too() -> None:
    alone = CHROME.decode().partition("m=application")[0].replace("BUNDLE 0 1", "BUNDLE 0")
    agreed = read_offer(alone.encode(), CODECS)
    assert agreed.channel_mid is None
    assert len(SessionDescription.parse(write_answer(agreed, OURS).decode()).media) == 1


def test_a_change_of_ice_is_read_and_written() -> None:
    body = (
        b"a=ice-ufrag:EsAw\r\na=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y\r\nm=audio 9 X 0\r\na=mid:0\r\n"
        b"a=candidate:1 1 udp 2 192.0.2.1 9 typ host\r\n"
    )
    fragment = read_fragment(body)
    assert fragment.ufrag == "EsAw"
    assert fragment.candidates == ("1 1 udp 2 192.0.2.1 9 typ host",)
    again = read_fragment(write_fragment("0", OURS.ice))
    assert (again.ufrag, again.password) == (OURS.ice.ufrag, OURS.ice.password)
    assert again.candidates == OURS.ice.candidates


@pytest.mark.parametrize("body", [b"", b"a=ice-ufrag:ab\r\n", b"a=ice-ufrag:EsAw\r\na=ice-pwd:x"])
def test_a_change_without_credentials_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="ice-ufrag"):
        read_fragment(body)


def test_an_answer_names_v6_addresses_too() -> None:
    ours = replace(
        OURS, ice=replace(OURS.ice, candidates=("1 1 udp 9 2001:db8::1 40000 typ host",))
    )
    answer = write_answer(read_offer(CHROME, CODECS), ours).decode()
    assert "c=IN IP6 2001:db8::1" in answer
