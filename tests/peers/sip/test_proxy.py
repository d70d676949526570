"""Calls through Kamailio with Record-Route and rtpengine, over UDP, TCP and TLS with SRTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.lines.sip.dialing import DialOrder
from gateway.lines.sip.settings import TrunkSettings
from tests.peers.sip.baresip import baresip
from tests.peers.sip.harness import needs, party_of, served
from tests.peers.sip.phones import loudest
from tests.peers.sip.proxy import proxy
from tests.peers.sip.test_phones import heard_keys, leg_of, sound_of
from tests.support.certificates import certificate
from tests.support.sip_answers import Parties, tone

pytestmark = needs("kamailio", "rtpengine", "baresip")


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
async def test_a_call_through_the_proxy(transport: str, tmp_path: Path) -> None:
    secure = transport == "tls"

    pem = certificate(tmp_path)
    options: dict[str, Any] = {"udp": None, transport: 0}
    if secure:
        options |= {"certificate": pem, "authorities": pem, "srtp": "required"}
    async with served(Parties(sound=tone(440, 1.0)), **options) as it:
        port = it.line.network.port(transport)  # type: ignore[arg-type]
        async with proxy(
            tmp_path / "proxy",
            pem,
            f"sip:127.0.0.1:{port};transport={transport}",
            "RTP/SAVP ICE=remove DTLS=off" if secure else "RTP/AVP ICE=remove",
        ) as via:
            encrypt = ";mediaenc=srtp-mand" if secure else ""
            account = f";regint=0;audio_codecs=PCMU/8000/1{encrypt}"
            async with baresip(tmp_path / "phone", account=account, pem=pem) as phone:
                at = via.tls if secure else via.port
                await phone.command("dial", f"sip:x@127.0.0.1:{at};transport={transport}")
                party = await party_of(it)
                await phone.saw("CALL_ESTABLISHED")
                await asyncio.sleep(1.5)
                assert abs(loudest(sound_of(party)) - 600) < 5
                assert leg_of(party).stream.secure.active is secure
                await phone.command("sndcode", "9")
                await heard_keys(party, "9")
                await phone.command("hold")
                await asyncio.sleep(0.7)
                assert not leg_of(party).stream.hears
                await phone.command("resume")
                await asyncio.sleep(0.7)
                assert leg_of(party).stream.hears
                party.leg.hang_up("done")
                await phone.saw("CALL_CLOSED")
            assert abs(loudest(phone.heard()[4000:12000]) - 440) < 5
            async with asyncio.timeout(5):
                while len(it.line.network.core):  # noqa: ASYNC110  (there is no event)
                    await asyncio.sleep(0.05)  # BYE went through both hops and was answered


async def test_registered_called_and_calling(tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    async with proxy(tmp_path / "proxy", pem, "sip:127.0.0.1:9", "RTP/AVP ICE=remove") as via:
        trunk = TrunkSettings(
            proxy=f"sip:127.0.0.1:{via.port}",
            username="bot",
            password="secret",
            aor="sip:bot@example.test",
            register=True,
        )
        account = (
            f"<sip:alice@example.test>;auth_pass=secret;regint=300;answermode=auto"
            f';outbound="sip:127.0.0.1:{via.port}";audio_codecs=PCMU/8000/1'
        )
        async with (
            served(Parties(sound=tone(440, 1.0)), trunks={"pbx": trunk}) as it,
            baresip(tmp_path / "phone", account=account) as phone,
        ):
            await phone.printed("200 OK")
            async with asyncio.timeout(10):
                while it.line.standing().state != "ready":  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            # Found by its registration, through the registrar.
            await phone.command("dial", "sip:bot@example.test")
            party = await party_of(it)
            await asyncio.sleep(1.0)
            assert abs(loudest(sound_of(party)) - 600) < 5
            await phone.command("hangup")
            async with asyncio.timeout(5):
                await party.gone.wait()
            # And the other way, with a challenge by the proxy.
            outcome = await it.line.dialler.dial(DialOrder("sip:alice@example.test", trunk="pbx"))
            assert outcome.outcome == "answered"
            party = await party_of(it)
            await asyncio.sleep(1.0)
            assert abs(loudest(sound_of(party)) - 600) < 5
            party.leg.hang_up("done")
            await phone.saw("CALL_CLOSED")
            it.line.drain()
            async with asyncio.timeout(5):
                while not it.line.standing().said.endswith("pbx: gone"):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
