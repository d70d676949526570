"""`docs/observability.md` tells every metric."""

from __future__ import annotations

from tools.metrics_page import PAGE, page


def test_the_page_tells_every_metric() -> None:
    text = PAGE.read_text("utf-8")
    assert text == page(text), "run: make fix"
