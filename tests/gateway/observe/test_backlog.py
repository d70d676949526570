"""Lines on their way to a disk that refuses: order, bounds, counts."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from gateway.observe.backlog import Backlog, Trouble


@dataclass
class Disk:
    """Takes so many bytes each time it is asked; none: it refuses."""

    takes: list[int] = field(default_factory=list)
    content: bytes = b""

    def write(self, lines: bytes) -> int:
        most = self.takes.pop(0) if self.takes else len(lines)
        taken = lines[:most].rfind(b"\n") + 1
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.content += lines[:taken]
        return taken

    def close(self) -> None:
        pass


def over(trouble: Trouble) -> list[bytes]:
    return [f"over, lost {trouble.lost}\n".encode()]


def test_what_was_refused_comes_first_when_the_disk_is_back() -> None:
    disk = Disk([0, 0])
    backlog = Backlog(disk, lambda: 7.0, over)
    backlog.write([b"one\n", b"two\n"])
    assert (backlog.kept, backlog.trouble) == (2, Trouble("No space left on device", 7.0))
    backlog.write([b"three\n"])
    assert backlog.kept == 3
    backlog.write([])
    assert (backlog.kept, backlog.trouble) == (0, None)
    assert disk.content == b"one\ntwo\nthree\nover, lost 0\n"


def test_past_the_bound_the_newest_are_lost_and_counted() -> None:
    disk = Disk([0] * 6)
    backlog = Backlog(disk, lambda: 0.0, over, bound=12)
    for number in range(6):
        backlog.write([f"line{number}\n".encode()])
    assert (backlog.kept, backlog.lost) == (2, 4)
    backlog.write([b"more\n"])
    assert disk.content == b"line0\nline1\nover, lost 5\n"


@given(
    st.lists(st.lists(st.binary(max_size=5).map(lambda b: b.hex().encode() + b"\n"), max_size=4)),
    st.lists(st.integers(0, 30), max_size=8),
)
def test_no_line_is_lost_or_doubled_whatever_the_disk_takes(
    batches: list[list[bytes]], takes: list[int]
) -> None:
    disk = Disk(takes)
    backlog = Backlog(disk, lambda: 0.0, lambda trouble: [])
    for batch in batches:
        backlog.write(batch)
    disk.takes.clear()
    backlog.close()
    assert disk.content == b"".join(line for batch in batches for line in batch)
