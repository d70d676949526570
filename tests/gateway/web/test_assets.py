"""The widget's files: small, cached, whole."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from gateway.web.assets import FOLDER, widget_assets, widget_routes
from tests.support.virtual_time import run

WIDGET = FOLDER / "widget"
MOST = 25 * 1024
"""Bytes, compressed: what a page pays for the widget."""


def get(path: str, **headers: str) -> httpx.Response:
    """Ask for a file as a browser does."""

    async def work() -> httpx.Response:
        transport = httpx.ASGITransport(Starlette(routes=widget_routes()))
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.get(path, headers=named)

    return run(work())


def test_the_widget_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    scripts = {path: one for path, one in widget_assets().items() if path.endswith(".js")}
    whole = sum(len(one.packed) for one in scripts.values())
    with capsys.disabled():
        print(f"\nthe widget has {whole / 1024:.1f} KB compressed, of {MOST / 1024:.0f} KB")
    assert len(scripts) == 5
    assert whole < MOST


def test_a_file_is_compressed_and_cached() -> None:
    response = get("/widget.js", Accept_Encoding="gzip, br")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["content-encoding"] == "gzip"
    assert "max-age=300" in response.headers["cache-control"]
    assert "stale-while-revalidate" in response.headers["cache-control"]
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.content == (WIDGET / "widget.js").read_bytes()
    plain = get("/widget.js", Accept_Encoding="identity")
    assert "content-encoding" not in plain.headers
    assert plain.content == response.content


def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    tag = get("/widget.js").headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = get("/widget.js", If_None_Match=known)
        assert (again.status_code, again.content) == (304, b"")
    assert get("/widget.js", If_None_Match='"other"').status_code == 200


def test_what_the_widget_imports_is_served() -> None:
    for path in [path for path in widget_assets() if path.endswith(".js")]:
        for wanted in re.findall(r'from "(\./[^"]+)"', get(path).text):
            assert get(str(httpx.URL("http://gateway" + path).join(wanted))).status_code == 200


def test_the_packed_form_is_the_same_in_every_process() -> None:
    one, other = widget_assets()["/widget.js"], widget_assets()["/widget.js"]
    assert one.packed == other.packed
    assert gzip.decompress(one.packed) == one.body


# --- the npm package -----------------------------------------------------------------------------


def test_the_package_holds_what_it_names() -> None:
    package = json.loads((WIDGET / "package.json").read_text())
    for name in [*package["files"], package["main"], package["types"]]:
        assert (WIDGET / name).exists(), name
    assert package["exports"]["."]["default"] == "./widget.js"


def labels() -> dict[str, dict[str, str]]:
    """Read the widget's words, by language."""
    text = (WIDGET / "widget/labels.js").read_text()
    found: dict[str, dict[str, str]] = {}
    for language, body in re.findall(r"^const (\w\w) = \{\n(.*?)^\};", text, re.M | re.S):
        found[language] = dict(re.findall(r'^  (\w+): "(.*)",$', body, re.M))
    return found


def test_every_language_has_every_word() -> None:
    known = labels()
    assert set(known) == {"en", "de", "fr", "es"}
    for language, words in known.items():
        assert set(words) == set(known["en"]), language
        assert all(words.values()), language


def test_every_failure_has_its_words_and_its_type() -> None:
    words = labels()["en"]
    kinds = set(re.findall(r'new Failure\("(\w+)"', _sources()))
    kinds |= set(re.findall(r'Error: "(\w+)"', _sources()))
    refusals = _python("gateway/lines/webrtc/access.py")
    kinds |= set(re.findall(r'^    "(\w+)": \d\d\d,$', refusals, re.M))
    kinds |= {"busy", "draining", "unknown_agent", "lost", "gone"}
    assert len(kinds) > 15
    types = (WIDGET / "parley-widget.d.ts").read_text()
    for kind in kinds:
        assert kind in words, kind
        assert f'"{kind}"' in types, kind


def _sources() -> str:
    return "\n".join(path.read_text() for path in sorted(WIDGET.rglob("*.js")))


def _python(path: str) -> str:
    return (Path(__file__).parents[3] / path).read_text()


def test_text_is_never_read_as_markup() -> None:
    """What callers and models say goes into the page as text; markup is the widget's own icons."""
    lines = [line for line in _sources().splitlines() if "innerHTML" in line]
    assert len(lines) == 2
    assert all("html" in line or "MIC" in line for line in lines)
