"""DTLS, SCTP and the data channel of aiortc, without aiortc's media half.

`import aiortc` loads PyAV, whose wheel carries FFmpeg built with GPL code (libx264, libx265), for a
media path that nobody here takes.
So the three modules that are used are loaded by themselves, into a package that has the library's
files and not its beginning; where its RTP module names PyAV's frame for a function that measures
one, an empty module stands in.
Nothing of this stays behind: who imports aiortc afterwards gets all of it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiortc.rtcdatachannel import RTCDataChannel as RTCDataChannel
    from aiortc.rtcdatachannel import RTCDataChannelParameters as RTCDataChannelParameters
    from aiortc.rtcdtlstransport import RTCCertificate as RTCCertificate
    from aiortc.rtcdtlstransport import RTCDtlsFingerprint as RTCDtlsFingerprint
    from aiortc.rtcdtlstransport import RTCDtlsParameters as RTCDtlsParameters
    from aiortc.rtcdtlstransport import RTCDtlsTransport as RTCDtlsTransport
    from aiortc.rtcsctptransport import RTCSctpCapabilities as RTCSctpCapabilities
    from aiortc.rtcsctptransport import RTCSctpTransport as RTCSctpTransport

_LIBRARY, _MEDIA = "aiortc", "av"


def _load() -> tuple[ModuleType, ModuleType, ModuleType]:
    """Load the modules of the data channel, of DTLS and of SCTP."""
    found = importlib.util.find_spec(_LIBRARY)
    if found is None or found.submodule_search_locations is None:
        raise ModuleNotFoundError("aiortc is not installed")
    before = _put_aside()
    package, media = ModuleType(_LIBRARY), ModuleType(_MEDIA)
    package.__path__ = list(found.submodule_search_locations)
    media.AudioFrame = object  # type: ignore[attr-defined]  # named in an annotation
    sys.modules |= {_LIBRARY: package, _MEDIA: media}
    try:
        # In this order: the first two import each other.
        channel = importlib.import_module("aiortc.rtcdatachannel")
        sctp = importlib.import_module("aiortc.rtcsctptransport")
        dtls = importlib.import_module("aiortc.rtcdtlstransport")
    finally:
        _put_aside()
        sys.modules |= before
    return channel, dtls, sctp


def _put_aside() -> dict[str, ModuleType]:
    """Take both libraries out of what is imported; give what there was of them."""
    names = [name for name in sys.modules if name.partition(".")[0] in (_LIBRARY, _MEDIA)]
    return {name: sys.modules.pop(name) for name in names}


if not TYPE_CHECKING:
    _channel, _dtls, _sctp = _load()
    RTCDataChannel = _channel.RTCDataChannel
    RTCDataChannelParameters = _channel.RTCDataChannelParameters
    RTCCertificate = _dtls.RTCCertificate
    RTCDtlsFingerprint = _dtls.RTCDtlsFingerprint
    RTCDtlsParameters = _dtls.RTCDtlsParameters
    RTCDtlsTransport = _dtls.RTCDtlsTransport
    RTCSctpCapabilities = _sctp.RTCSctpCapabilities
    RTCSctpTransport = _sctp.RTCSctpTransport
