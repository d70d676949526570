"""What is used of aiortc and aioice beside their public names is still there, and still as it was.

When one of these fails after an upgrade, look at the places that tools/shape.toml names.
"""

from __future__ import annotations

import inspect

from aioice import Connection
from aiortc import RTCPeerConnection
from aiortc.rtcrtpreceiver import RTCRtpReceiver

from gateway.lines.webrtc.peer import _Path
from gateway.lines.webrtc.transports import RTCCertificate, RTCDtlsTransport


async def test_who_begins_the_handshake_can_be_chosen_and_its_keys_can_be_had() -> None:
    path = _Path()
    dtls = RTCDtlsTransport(path, [RTCCertificate.generateCertificate()])  # type: ignore[arg-type]
    dtls._set_role("server")
    assert dtls._role == "server"
    assert dtls._rx_srtp is None, "no key before the handshake"
    assert dtls._tx_srtp is None
    begin = inspect.getsource(RTCDtlsTransport._setup_srtp)
    assert "self._rx_srtp = Session(" in begin
    assert "self._tx_srtp = Session(" in begin


async def test_the_chosen_pair_and_the_sockets_of_an_agent_can_be_had() -> None:
    agent = Connection(ice_controlling=False)
    assert agent._nominated == {}, "by component"
    assert agent._protocols == []
    source = inspect.getsource(Connection)
    assert "self._nominated[pair.component] = pair" in source
    assert "for protocol in self._protocols" in source, "they are closed with the agent"


async def test_the_media_path_of_aiortc_can_be_replaced() -> None:
    """What the caller of `parley call` puts in its place."""
    pc = RTCPeerConnection()
    try:
        transceiver = pc.addTransceiver("audio", direction="sendrecv")
        assert isinstance(transceiver.sender._ssrc, int)
        assert transceiver._codecs == [], "none before the answer"
        dtls = transceiver.receiver.transport
        assert isinstance(dtls.transport._connection, Connection)
        assert tuple(inspect.signature(dtls._register_rtp_receiver).parameters) == (
            "receiver",
            "parameters",
        )
        assert inspect.iscoroutinefunction(dtls._send_rtp)
    finally:
        await pc.close()
    assert tuple(inspect.signature(RTCRtpReceiver._handle_rtp_packet).parameters) == (
        "self",
        "packet",
        "arrival_time_ms",
    )
    assert inspect.iscoroutinefunction(RTCRtpReceiver._handle_rtcp_packet)
