"""Two softphones by other authors call, press keys, hold, and are hung up on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
import soundfile

from gateway.lines.sip.leg import SipLeg
from tests.peers.sip.baresip import baresip
from tests.peers.sip.harness import needs, party_of, served
from tests.peers.sip.linphone import linphone
from tests.peers.sip.phones import loudest
from tests.support.certificates import certificate
from tests.support.sip_answers import Parties, Party, tone

pytestmark = needs("baresip", "linphonec")


def sound_of(party: Party) -> np.ndarray:  # type: ignore[type-arg]
    """Return the last second of what a party heard."""
    return np.frombuffer(bytes(party.heard), dtype="<i2")[-8000:]


def leg_of(party: Party) -> SipLeg:
    """Return the leg as what it is."""
    assert isinstance(party.leg, SipLeg)
    return party.leg


async def heard_keys(party: Party, wanted: str) -> None:
    """Wait for keys."""
    async with asyncio.timeout(10):
        while party.keys != wanted:
            party.happened.clear()
            await party.happened.wait()


async def test_baresip_talks_keys_holds_and_hangs_up(tmp_path: Path) -> None:
    async with (
        served(Parties(sound=tone(440, 1.0))) as it,
        baresip(tmp_path / "phone") as phone,
    ):
        await phone.command("dial", f"sip:bot@127.0.0.1:{it.port}")
        party = await party_of(it)
        await phone.saw("CALL_ESTABLISHED")
        await asyncio.sleep(1.5)
        assert abs(loudest(sound_of(party)) - 600) < 5
        for key in "5#":
            await phone.command("sndcode", key)
            await asyncio.sleep(0.3)
            await phone.command("sndcode", "\x04")
        await heard_keys(party, "5#")
        await phone.command("hold")
        await asyncio.sleep(0.7)
        assert not leg_of(party).stream.hears
        assert not sound_of(party)[-800:].any()
        await phone.command("resume")
        await asyncio.sleep(1.5)
        assert abs(loudest(sound_of(party)) - 600) < 5
        await phone.command("hangup")
        async with asyncio.timeout(5):
            await party.gone.wait()
    heard = phone.heard()
    assert abs(loudest(heard[4000:12000]) - 440) < 5


@pytest.mark.parametrize(
    ("codec", "wire", "plays", "rate"),
    [("g722", "G722/8000/1", (16000, 1), 16000), ("opus", "opus/48000/2", (48000, 2), 24000)],
)
async def test_baresip_talks_in_wideband(
    codec: str, wire: str, plays: tuple[int, int], rate: int, tmp_path: Path
) -> None:
    """The phone hears a tone that the telephone band has no room for, and we hear the phone."""

    async with (
        served(Parties(sound=tone(5000, 1.0, rate)), codecs=(codec,)) as it,
        baresip(
            tmp_path / "phone",
            sound=plays,
            account=f";regint=0;audio_codecs={wire}",
            settings=[f"module {codec}.so"],
        ) as phone,
    ):
        await phone.command("dial", f"sip:bot@127.0.0.1:{it.port}")
        party = await party_of(it)
        await phone.saw("CALL_ESTABLISHED")
        await asyncio.sleep(2.0)
        assert party.leg.info.rate == rate
        heard = np.frombuffer(bytes(party.heard), dtype="<i2")[-rate:]
        assert abs(loudest(heard, rate) - 600) < 10
        await phone.command("hangup")
        async with asyncio.timeout(5):
            await party.gone.wait()
    path = sorted((tmp_path / "phone").glob("dump*dec.wav"))[0]
    samples, recorded = soundfile.read(path, dtype="int16", always_2d=True)
    middle = samples[recorded // 2 : recorded * 3 // 2, 0]
    assert abs(loudest(middle, recorded) - 5000) < 10


@pytest.mark.parametrize("transport", ["tcp", "tls"])
async def test_baresip_over_streams(transport: str, tmp_path: Path) -> None:
    secure = ";mediaenc=srtp-mand" if transport == "tls" else ""
    account = f";regint=0;audio_codecs=PCMA/8000/1{secure}"

    pem = certificate(tmp_path)
    options = {"udp": None, transport: 0, "certificate": pem, "authorities": pem}
    async with (
        served(Parties(sound=tone(440, 1.0)), **options) as it,
        baresip(tmp_path / "phone", account=account, pem=pem) as phone,
    ):
        port = it.line.network.port(transport)  # type: ignore[arg-type]
        await phone.command("dial", f"sip:bot@127.0.0.1:{port};transport={transport}")
        party = await party_of(it)
        await phone.saw("CALL_ESTABLISHED")
        await asyncio.sleep(1.5)
        assert abs(loudest(sound_of(party)) - 600) < 5
        stream = leg_of(party).stream
        assert stream.secure.active is (transport == "tls")
        party.leg.hang_up("done")
        await phone.saw("CALL_CLOSED")
    assert abs(loudest(phone.heard()[4000:12000]) - 440) < 5


async def test_plain_sound_is_refused_where_srtp_is_required(tmp_path: Path) -> None:
    async with (
        served(srtp="required", srtp_without_tls=True) as it,
        baresip(tmp_path / "phone") as phone,
    ):
        await phone.command("dial", f"sip:bot@127.0.0.1:{it.port}")
        closed = await phone.saw("CALL_CLOSED")
        assert "488" in str(closed["param"])


async def test_linphone_talks_keys_and_hangs_up(tmp_path: Path) -> None:
    async with (
        served(Parties(sound=tone(440, 1.0))) as it,
        linphone(tmp_path) as phone,
    ):
        await phone.type(f"call sip:bot@127.0.0.1:{it.port}")
        party = await party_of(it)
        await phone.said("Media streams established")
        await asyncio.sleep(1.5)
        assert abs(loudest(sound_of(party)) - 600) < 5
        await phone.type("7")
        await heard_keys(party, "7")
        await phone.type("pause")
        await phone.said("paused")
        assert not leg_of(party).stream.hears
        await phone.type("resume")
        await phone.said("Media streams established", times=2)
        await asyncio.sleep(1.5)
        assert abs(loudest(sound_of(party)) - 600) < 5
        await phone.type("terminate")
        async with asyncio.timeout(5):
            await party.gone.wait()
    assert abs(loudest(phone.heard()[4000:12000]) - 440) < 5


async def test_linphone_is_hung_up_on(tmp_path: Path) -> None:
    async with served() as it, linphone(tmp_path) as phone:
        await phone.type(f"call sip:bot@127.0.0.1:{it.port}")
        party = await party_of(it)
        await phone.said("Media streams established")
        party.leg.hang_up("done")
        await phone.said("ended")
