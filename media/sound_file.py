"""Sound files, WAV and FLAC among others: the one place that knows libsndfile."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile


def read(path: Path) -> tuple[npt.NDArray[np.int16], int]:
    """Return the samples, one column a channel, and their rate.

    Raise OSError where the file cannot be read, ValueError where it is no sound.
    """
    try:
        # libsndfile takes no name that is no text, and tells no failure by its name.
        content = io.BytesIO(path.read_bytes())
        samples, rate = soundfile.read(content, dtype="int16", always_2d=True)
    except OSError as error:
        raise OSError(f"{path}: {error.strerror or error}") from None
    except soundfile.LibsndfileError as error:
        raise ValueError(f"{path}: {error.error_string}") from None
    if not len(samples):
        raise ValueError(f"{path}: holds no sound")
    return samples, int(rate)


def write(path: Path, samples: npt.NDArray[np.int16], rate: int) -> None:
    """Write 16-bit samples, as WAV or FLAC by the path's ending; raise OSError."""
    sound = io.BytesIO()
    soundfile.write(sound, samples, rate, subtype="PCM_16", format=path.suffix[1:])
    path.write_bytes(sound.getvalue())
