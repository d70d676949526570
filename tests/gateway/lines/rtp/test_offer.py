"""Offers and answers: what two sides agree, and what they refuse."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.rtp.crypto import SUITES, Crypto, usable
from gateway.lines.rtp.offer import Agreement, Negotiation, NotAcceptable
from gateway.lines.rtp.sdp import MIRROR, Description
from tests.gateway.lines.sip.support import negotiation

KEY = base64.b64encode(bytes(range(30))).decode()


def description(media: str, *lines: str, host: str = "192.0.2.9") -> bytes:
    text = ["v=0", "o=- 1 1 IN IP4 192.0.2.9", "s=-", f"c=IN IP4 {host}", "t=0 0", media, *lines]
    return "\r\n".join(text).encode() + b"\r\n"


def answered(offer: bytes, it: Negotiation | None = None) -> tuple[Agreement, Description]:
    it = it or negotiation()
    body = it.answer(offer)
    assert it.agreed is not None
    return it.agreed, Description.parse(body)


def test_static_types_need_no_map() -> None:
    agreed, answer = answered(description("m=audio 4000 RTP/AVP 8 0"))
    assert (agreed.codec.name, agreed.send_type) == ("pcma", 8)  # the offerer's order
    assert answer.media[0].formats == ("8",)
    assert agreed.remote == ("192.0.2.9", 4000)
    assert agreed.remote_rtcp == ("192.0.2.9", 4001)


def test_a_map_says_what_a_number_is() -> None:
    agreed, _ = answered(
        description("m=audio 4000 RTP/AVP 100 0", "a=rtpmap:100 PCMA/8000", "a=rtpmap:0 AMR/8000")
    )
    assert (agreed.codec.name, agreed.send_type) == ("pcma", 100)


def test_no_common_codec_is_refused_and_changes_nothing() -> None:
    it = negotiation()
    answered(description("m=audio 4000 RTP/AVP 0"), it)
    with pytest.raises(NotAcceptable):
        it.answer(description("m=audio 4000 RTP/AVP 98", "a=rtpmap:98 AMR/8000"))
    assert it.agreed is not None
    assert it.agreed.codec.name == "pcmu"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"rubbish",
        description("m=audio 0 RTP/AVP 0"),
        description("m=video 4000 RTP/AVP 31"),
        description("m=audio 4000 UDP/TLS/RTP/SAVPF 0"),
        description("m=audio 4000 RTP/AVP 0", host=""),
    ],
)
def test_what_cannot_be_is_refused(body: bytes) -> None:
    with pytest.raises(NotAcceptable):
        negotiation().answer(body)


def test_further_media_are_refused_in_place() -> None:
    offer = description("m=video 5000 RTP/AVP 31", "m=audio 4000 RTP/AVP 0", "m=image 6 udptl t38")
    agreed, answer = answered(offer)
    assert [media.port for media in answer.media] == [0, 6000, 0]
    assert [media.kind for media in answer.media] == ["video", "audio", "image"]
    assert agreed.remote == ("192.0.2.9", 4000)


@pytest.mark.parametrize("theirs", ["sendrecv", "sendonly", "recvonly", "inactive"])
def test_directions_are_mirrored(theirs: str) -> None:
    agreed, answer = answered(description("m=audio 4000 RTP/AVP 0", f"a={theirs}"))
    assert agreed.direction == MIRROR[theirs]  # type: ignore[index]
    assert answer.direction_of(answer.media[0]) == agreed.direction


def test_the_old_hold_by_address() -> None:
    agreed, _ = answered(description("m=audio 4000 RTP/AVP 0", host="0.0.0.0"))
    assert agreed.direction == "recvonly"


@pytest.mark.parametrize(
    ("host", "lines"),
    [
        ("224.2.1.1/127", ()),
        ("255.255.255.255", ()),
        ("phone.example.com", ()),
        ("192.0.2.9", ("a=rtcp:4001 IN IP4 224.2.1.1",)),
    ],
)
def test_what_is_nobody_is_never_sent_to(host: str, lines: tuple[str, ...]) -> None:
    it = negotiation()
    agreed, _ = answered(description("m=audio 4000 RTP/AVP 0"), it)
    body = description("m=audio 5000 RTP/AVP 0", *lines, host=host)
    with pytest.raises(NotAcceptable, match="address"):
        it.answer(body)
    it.offer()
    with pytest.raises(NotAcceptable, match="address"):
        it.accept(body)
    assert it.agreed is agreed


def test_a_direction_of_the_session_counts_where_the_line_has_none() -> None:
    body = description("m=audio 4000 RTP/AVP 0").replace(b"t=0 0", b"t=0 0\r\na=sendonly")
    assert answered(body)[0].direction == "recvonly"


def test_our_hold_meets_theirs() -> None:
    it = negotiation()
    it.wish("sendonly")
    agreed, _ = answered(description("m=audio 4000 RTP/AVP 0", "a=sendonly"), it)
    assert agreed.direction == "inactive"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("a=ptime:30", 30), ("a=ptime:10", 10), ("a=ptime:100", 60), ("a=ptime:x", 20), ("", 20)],
)
def test_packet_length(line: str, wanted: int) -> None:
    agreed, answer = answered(description("m=audio 4000 RTP/AVP 0", *([line] if line else [])))
    assert agreed.ptime_ms == wanted
    assert answer.media[0].get("ptime") == str(wanted)


def test_packets_are_no_longer_than_they_bear() -> None:
    lines = ("a=ptime:40", "a=maxptime:20")
    assert answered(description("m=audio 4000 RTP/AVP 0", *lines))[0].ptime_ms == 20


def test_one_port_for_both_when_offered() -> None:
    agreed, answer = answered(description("m=audio 4000 RTP/AVP 0", "a=rtcp-mux"))
    assert agreed.rtcp_mux
    assert agreed.remote_rtcp == agreed.remote
    assert answer.media[0].get("rtcp-mux") is not None
    agreed, answer = answered(description("m=audio 4000 RTP/AVP 0", "a=rtcp:4500"))
    assert not agreed.rtcp_mux
    assert agreed.remote_rtcp == ("192.0.2.9", 4500)


def test_keys_have_the_number_of_each_side() -> None:
    it = negotiation()
    it.offer()
    answer = description(
        "m=audio 4000 RTP/AVP 8 96", "a=rtpmap:96 telephone-event/8000", "a=rtpmap:8 PCMA/8000"
    )
    agreed = it.accept(answer)
    assert agreed.keys_send == 96
    assert agreed.keys_receive == {96, 101}
    assert agreed.codec.name == "pcma"


def test_keys_beside_opus_may_have_the_clock_that_everybody_has() -> None:
    it = negotiation(codecs=("opus", "pcmu"))
    offer = description(
        "m=audio 4000 RTP/AVP 96 101",
        "a=rtpmap:96 opus/48000/2",
        "a=rtpmap:101 telephone-event/8000",
    )
    agreed, answer = answered(offer, it)
    assert (agreed.codec.name, agreed.keys_send, agreed.keys_clock) == ("opus", 101, 8000)
    assert "101 telephone-event/8000" in answer.media[0].all("rtpmap")


@pytest.mark.parametrize(
    "origin",
    [
        "o=- 103bdb6f 1 IN IP4 192.0.2.7",
        "o=- 0X103bdb6f 1 IN IP4 192.0.2.7",
        "o=Some Long Name 0 0 IN IP4 192.0.2.7",
        "o=",
        "o=- -1 99999999999999999999999999999999999999999999999999 IN IP4 192.0.2.7",
    ],
)
def test_whatever_is_written_into_the_origin_the_call_is_taken(origin: str) -> None:
    offer = description("m=audio 4000 RTP/AVP 0").decode().splitlines()
    (own,) = (line for line in offer if line.startswith("o="))
    for odd in (origin, None):
        lines = [odd if line == own else line for line in offer]
        text = "\r\n".join(line for line in lines if line is not None) + "\r\n"
        assert answered(text.encode())[0].codec.name == "pcmu"


def test_keys_with_another_clock_are_none() -> None:
    lines = ("a=rtpmap:101 telephone-event/16000",)
    assert answered(description("m=audio 4000 RTP/AVP 0 101", *lines))[0].keys_send is None


def test_the_version_grows_with_changes_and_only_then() -> None:
    it = negotiation()
    it.offer()
    it.accept(description("m=audio 4000 RTP/AVP 0"))
    first = Description.parse(it.offer())
    it.withdraw()
    it.wish("sendonly")
    second = Description.parse(it.offer())
    assert (first.origin.version, second.origin.version) == (0, 1)
    assert second.origin.session == first.origin.session
    it.accept(description("m=audio 4000 RTP/AVP 0", "a=recvonly"))
    assert Description.parse(it.offer()).origin.version == 1


def test_an_answer_without_an_offer_is_refused() -> None:
    with pytest.raises(NotAcceptable):
        negotiation().accept(description("m=audio 4000 RTP/AVP 0"))


# --- encryption ----------------------------------------------------------------------------------


def secure(*lines: str, protocol: str = "RTP/SAVP") -> bytes:
    return description(f"m=audio 4000 {protocol} 0", *lines)


def test_the_answer_has_tag_and_suite_of_the_offer_and_its_own_key() -> None:
    offer = secure(
        f"a=crypto:3 F8_128_HMAC_SHA1_80 inline:{KEY}",
        f"a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:{KEY}|2^31",
    )
    agreed, answer = answered(offer)
    (line,) = answer.media[0].all("crypto")
    assert line.startswith("7 AES_CM_128_HMAC_SHA1_80 inline:")
    assert agreed.receive_key is not None
    assert agreed.send_key is not None
    assert agreed.receive_key.key == bytes(range(30))
    assert agreed.send_key.key != agreed.receive_key.key
    assert answer.media[0].protocol == "RTP/SAVP"


def test_our_key_stays_when_they_offer_again() -> None:
    it = Negotiation(negotiation()._local, 1, lambda size: bytes([len(it._sent_keys)] * size))
    offer = secure(f"a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}")
    first, _ = answered(offer, it)
    second, _ = answered(offer, it)
    assert first.send_key == second.send_key


@pytest.mark.parametrize(
    ("offer", "srtp", "wanted"),
    [
        (secure(), "allowed", False),
        (secure(f"a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}"), "never", False),
        (secure(protocol="RTP/AVP"), "required", False),
        (secure(protocol="RTP/AVP"), "allowed", True),
        (secure(f"a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}"), "required", True),
    ],
)
def test_encryption_is_refused_or_demanded(offer: bytes, srtp: str, wanted: bool) -> None:
    it = negotiation(srtp=srtp)
    if wanted:
        assert answered(offer, it)[0].send_key is not None or srtp == "allowed"
    else:
        with pytest.raises(NotAcceptable):
            it.answer(offer)


@pytest.mark.parametrize(
    "line",
    [
        f"1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}|2^31|1:0",
        f"1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}|2^31|999:1",
        f"1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}|2^31|x:4",
        f"1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}|2^31|1:4|2:4",
        f"1 AES_CM_128_HMAC_SHA1_80 inline:{KEY[:-4]}",
        "1 AES_CM_128_HMAC_SHA1_80 inline:***",
        f"1 AES_CM_128_HMAC_SHA1_80 inline:{KEY} UNENCRYPTED_SRTP",
        f"x AES_CM_128_HMAC_SHA1_80 inline:{KEY}",
    ],
)
def test_crypto_lines_that_cannot_be_used(line: str) -> None:
    assert usable([line]) == []


@given(st.sampled_from(sorted(SUITES)), st.integers(0, 999_999_999), st.data())
def test_a_crypto_line_survives_the_wire(suite: str, tag: int, data: st.DataObject) -> None:
    key = data.draw(st.binary(min_size=SUITES[suite], max_size=SUITES[suite]))
    one = Crypto(tag, suite, key, data.draw(st.binary(max_size=8)))
    assert Crypto.parse(str(one)) == one
    assert key.hex() not in repr(one)
    assert str(key) not in repr(one)


# --- any two sides -------------------------------------------------------------------------------

codecs = st.lists(st.sampled_from(["pcmu", "pcma"]), min_size=1, max_size=2, unique=True)


@given(codecs, codecs, st.sampled_from(["never", "allowed", "required"]), st.sampled_from(
    ["never", "allowed", "required"]
))  # fmt: skip
def test_both_sides_agree_or_neither(
    ours: list[str], theirs: list[str], our_srtp: str, their_srtp: str
) -> None:
    near = negotiation(codecs=tuple(ours), srtp=our_srtp)
    far = negotiation(codecs=tuple(theirs), srtp=their_srtp)
    try:
        body = far.answer(near.offer())
    except NotAcceptable:
        assert (
            not set(ours) & set(theirs)
            or {our_srtp, their_srtp} == {"never", "required"}
            or (their_srtp == "required" and our_srtp != "required")
        )
        return
    one, other = near.accept(body), far.agreed
    assert other is not None
    assert one.codec == other.codec
    assert one.direction == MIRROR[other.direction]
    assert (one.send_key, one.receive_key) == (other.receive_key, other.send_key)
    assert one.keys_send in other.keys_receive


@given(st.binary(max_size=300))
def test_no_description_raises_anything_else(body: bytes) -> None:
    it = negotiation()
    for take in (it.answer, it.accept):
        it.offer()
        try:
            take(body)
        except NotAcceptable:
            continue
