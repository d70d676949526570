"""Several processes that log to one standard output."""

from __future__ import annotations

import subprocess
import sys

WRITER = """
import sys
from gateway.observe.files import StandardOutput
sink, mark = StandardOutput(), sys.argv[1].encode()
for _ in range(40):
    sink.write((mark * 30_000 + b"\\n") * 2)
"""


def test_no_line_is_torn_by_another_process() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, mark], stdout=reader.stdin)
            for mark in "abc"
        ]
        reader.stdin.close()
        lines = reader.stdout.read().splitlines()
        assert [one.wait() for one in writers] == [0, 0, 0]
    assert len(lines) == 240
    assert {(len(line), len(set(line))) for line in lines} == {(30_000, 1)}
