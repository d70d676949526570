"""Files that hold personal data: made so that nobody but their owner, or its group, reads them.

Only what is made here gets these modes: an operator who changed a file's or a folder's mode meant
it. The umask may take away more.
"""

from __future__ import annotations

import os
from pathlib import Path

FILE = 0o600
FOLDER = 0o700
GROUP_READS_FILE = 0o040
GROUP_READS_FOLDER = 0o050


def make_folder(path: Path, group_reads: bool = False) -> None:
    """Make a folder, and those above it, where they are missing; raises OSError."""
    mode = FOLDER | (GROUP_READS_FOLDER if group_reads else 0)
    path.mkdir(mode=mode, parents=True, exist_ok=True)


def open_file(path: Path, flags: int, group_reads: bool = False) -> int:
    """Open a file, made where it is missing, and give its descriptor; raises OSError."""
    mode = FILE | (GROUP_READS_FILE if group_reads else 0)
    return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, mode)
