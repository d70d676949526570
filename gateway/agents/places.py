"""Where in a file a mistake stands: the line it was found in, and the column of the name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from gateway.plumbing.toml_file import Mistake, TomlError
from inference.errors import as_error, in_words


class AgentError(ValueError):
    """An agent's file is not as it should be; its text is for the operator, one line a mistake."""

    def __init__(self, file: Path, text: str, mistakes: tuple[Mistake, ...]) -> None:
        self.file = file
        self.mistakes = mistakes
        super().__init__("\n".join(_line(file, text, each) for each in mistakes))


def placed(file: Path, error: TomlError) -> AgentError:
    """Return a file's mistakes their lines and columns."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    return AgentError(file, text, error.mistakes)


def error_of(file: Path, raised: BaseException) -> AgentError:
    """Return whatever was raised while an agent was made as a mistake of its file."""
    if isinstance(raised, AgentError):
        return raised
    said = in_words(as_error(raised))
    return AgentError(file, "", (Mistake("", 0, f"cannot be used: {said}"),))


def _line(file: Path, text: str, mistake: Mistake) -> str:
    if not mistake.line:
        return f"{file}: {mistake.said}"
    column = column_of(text, mistake)
    about = f"{mistake.path}: " if mistake.path else ""
    return f"{file}:{mistake.line}:{column}: {about}{mistake.said}"


def column_of(text: str, mistake: Mistake) -> int:
    """Find the column of the name that a mistake is about, counted from 1."""
    lines = text.splitlines()
    if not 0 < mistake.line <= len(lines):
        return 1
    line = lines[mistake.line - 1]
    if not mistake.path:  # the text is not TOML; its parser knows where it stopped
        return _syntax_column(text)
    for name in reversed(re.findall(r"[\w-]+", re.sub(r"\[\d+\]", "", mistake.path))):
        found = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line)
        if found:
            return found.start() + 1
    return len(line) - len(line.lstrip()) + 1


def _syntax_column(text: str) -> int:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"column (\d+)", str(error))
        return int(found[1]) if found else 1
    return 1
