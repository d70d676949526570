"""What the operator decides about the gateway's own pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Who sees the gateway's own page, and what is on it."""

    page: bool = True
    "whether there is a page at `/`, with the widget and the two lines to paste"
    calls: Literal["owner", "open", "off"] = "owner"
    "who sees the latest calls there, words included: who opens the owner's link, all, nobody"
