"""Where aimock is, a mock of models' servers that others wrote and `make test` installs."""

from __future__ import annotations

import shutil
from pathlib import Path

BIN = Path(__file__).parents[1] / "peers" / "aimock" / "node_modules" / ".bin"

LLMOCK = shutil.which("llmock", path=str(BIN)) or shutil.which("llmock")
"""The program, None where it is not installed."""
