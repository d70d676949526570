"""What a gateway that serves all its lines loads of other people's code, in its own process."""

from __future__ import annotations

import subprocess
import sys

SERVES = """
import asyncio, sys
import gateway.process.serve
from dataclasses import replace
from gateway.config import Settings
from gateway.doors.judgement import Doors, Keys
from gateway.lines.port import LineNeeds
from gateway.lines.rtp.codecs import CODECS
from gateway.lines.rtp.coder import coder_for
from gateway.lines.sip.settings import SipSettings
from gateway.process.lines import Lines

async def main():
    base = Settings()
    sip = SipSettings(enabled=True, codecs=("opus", "g722", "pcmu"))
    Lines(replace(base, lines={**base.lines, "sip": sip}), LineNeeds(None, "", Doors(Keys()), None))

asyncio.run(main())
for codec in CODECS.values():
    coder = coder_for(codec, 8000)
    coder.decode(coder.encode(bytes(320)))
print([line for line in open("/proc/self/maps") if "libx26" in line or "libavcodec" in line])
print([name for name in ("av", "aiortc") if name in sys.modules])
"""

WHOLE = """
import gateway.lines.webrtc.peer, sys
assert "aiortc" not in sys.modules and "av" not in sys.modules
import aiortc, aiortc.rtcdtlstransport
print(aiortc.RTCPeerConnection.__name__, "av" in sys.modules)
"""


def run(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


def test_a_gateway_with_every_line_and_codec_loads_no_code_under_the_gpl() -> None:
    assert run(SERVES)[-2:] == ["[]", "[]"]


def test_who_imports_aiortc_afterwards_gets_all_of_it() -> None:
    assert run(WHOLE) == ["RTCPeerConnection True"]
