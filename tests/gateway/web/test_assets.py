"""The widget's files: small, cached, whole."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from gateway.plumbing.virtual_time import run
from gateway.web.assets import FOLDER, widget_assets, widget_routes

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
    languages = {path: one for path, one in scripts.items() if path.startswith("/widget/labels/")}
    dearest = max(len(one.packed) for one in languages.values())
    fetched = scripts.keys() - languages.keys() - {"/client.js"}
    whole = sum(len(scripts[path].packed) for path in fetched) + dearest
    with capsys.disabled():
        print(f"\nthe widget has {whole / 1024:.1f} KB compressed, of {MOST / 1024:.0f} KB")
    assert len(fetched) == 7
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


@pytest.mark.skipif(shutil.which("npm") is None, reason="not installed: npm")
def test_the_package_is_packed_and_can_be_loaded_where_there_is_no_page(tmp_path: Path) -> None:
    """As a server does that renders pages: nothing is shown there, and nothing may throw."""
    copy = tmp_path / "package"
    shutil.copytree(WIDGET, copy)
    packed = subprocess.run(
        ["npm", "pack", "--json", "--pack-destination", tmp_path],
        cwd=copy, check=True, capture_output=True, text=True,
    )  # fmt: skip
    (told,) = json.loads(packed.stdout)
    held = {one["path"] for one in told["files"]}
    assert {
        "widget.js",
        "client.js",
        "client.d.ts",
        "widget/call.js",
        "widget/labels/pl.js",
    } <= held
    place = tmp_path / "node_modules/@parley/widget"
    place.mkdir(parents=True)
    with tarfile.open(tmp_path / told["filename"]) as archive:
        archive.extractall(place, filter="data")
    for member in place.joinpath("package").iterdir():
        member.rename(place / member.name)
    script = """
        const { ParleyWidget } = await import("@parley/widget");
        const { ParleyCall } = await import("@parley/widget/client");
        console.log(typeof ParleyWidget, new ParleyCall({ server: "https://a.example" }).phase);
    """
    ran = subprocess.run(
        ["node", "--input-type=module", "--eval", script],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.stdout.split() == ["function", "idle"]


def labels() -> dict[str, dict[str, str]]:
    """Read the widget's words, by language."""
    files = {path.stem: path for path in (WIDGET / "widget/labels").glob("*.js")}
    files["en"] = WIDGET / "widget/labels.js"
    words = re.compile(r'^  (\w+): "(.*)",$', re.M)
    return {language: dict(words.findall(path.read_text())) for language, path in files.items()}


def test_every_language_has_every_word() -> None:
    known = labels()
    assert set(known) == {"en", "de", "es", "fr", "it", "nl", "pl", "pt"}
    listed = re.search(r"OTHERS = (\[.*\]);", (WIDGET / "widget/labels.js").read_text())
    assert listed is not None
    assert {"en", *json.loads(listed[1])} == set(known)
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
    """What callers and models say goes into the page as text, and a page may forbid the rest
    (`require-trusted-types-for 'script'`)."""
    sinks = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|\beval\b"
        r"|new Function"
    )
    assert sinks.findall(_sources()) == []
