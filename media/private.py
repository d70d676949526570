"""Files that hold personal data: made so that nobody but their owner, or its group, reads them.

Only what is made here gets these modes: an operator who changed a file's or a folder's mode meant
it. The umask may take away more.
"""

from __future__ import annotations

import errno
import os
import sys
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


def open_nameless(folder: Path, group_reads: bool = False) -> int | None:
    """Open a file that has no name yet; None where the system knows none. Raises OSError."""
    if sys.platform != "linux":
        return None
    mode = FILE | (GROUP_READS_FILE if group_reads else 0)
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return None  # open(2): what kernels and file systems without it say
        raise


def give_name(handle: int, path: Path) -> None:
    """Give a nameless file its name; raises FileExistsError where that is taken, or OSError."""
    # linkat(2): by way of /proc, since no privilege is needed for it. The folder is not looked at.
    os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle, follow_symlinks=True)
