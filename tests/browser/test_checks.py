"""The checks themselves: each notices the fault that it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Browser, browser, opened

GOOD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>t</title>
<style>body { margin: 0; background: #fff; color: #000; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }
svg { display: block; width: 100%; } path { stroke: #06c; } a { color: inherit; }</style></head>
<body><nav aria-label="Contents"><a href="#part">Part</a></nav><main>
<section aria-labelledby="part"><h2 id="part">Part</h2><figure>
<svg role="img" id="plot" height="90" aria-labelledby="a" aria-describedby="b">
<title id="a">A plot</title><desc id="b">It rises.</desc>
<path d="M5 50L200 10"/><text x="5" y="80" fill="#999">low</text>
<text x="200" y="80" fill="#999">high</text></svg>
<table><caption>Numbers</caption><tr><th>x</th></tr></table></figure></section>
</main></body></html>"""

# What is put in the place of what, and the check that must see it, at 360 pixels in the dark.
FAULTS = {
    "wide": ("<figure>", "<figure><div style='width: 500px'>wide</div>", "overflow(360)"),
    "left": ("<figure>", "<figure><p style='margin-left: -60px'>left</p>", "overflow(360)"),
    "crossed text": ('x="200" y="80"', 'x="8" y="82"', "crowded()"),
    "cut text": ('x="200" y="80"', 'x="350" y="80"', "crowded()"),
    "no line": ('d="M5 50L200 10"', 'd=""', "undrawn()"),
    "stray line": ("L200 10", "L200 -40", "undrawn()"),
    "hidden": ('id="plot"', 'id="plot" style="display: none"', "undrawn()"),
    "grey text": (">Part</h2>", "><span style='color: #555'>Part</span></h2>", "faint(4.5)"),
    "grey drawn text": ('fill="#999">low', 'fill="#333">low', "faint(4.5)"),
    "grey line": ("stroke: #06c", "stroke: #333", "pale(3)"),
    "glimmer": ("stroke: #06c", "stroke: #06c; stroke-opacity: 0.4", "pale(3)"),
    "no numbers": ("<table>", "</figure><table>", "untabled()"),
    "no such part": ('href="#part"', 'href="#parts"', "dead()"),
}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def written(folder: Path, old: str = "", new: str = "") -> Path:
    assert old in GOOD
    page = folder / "page.html"
    page.write_text(GOOD.replace(old, new) if old else GOOD, encoding="utf-8")
    return page


def test_a_good_page_passes(chromium, tmp_path: Path) -> None:
    with opened(chromium, written(tmp_path), 360, dark=True) as tab:
        for _, _, check in FAULTS.values():
            assert tab.ask(f"checks.{check}") == []
        assert tab.requests() == [tab.url] and tab.complaints() == []
        assert ("image", "A plot", "It rises.") in tab.accessible()
        assert ("table", "Numbers") in [one[:2] for one in tab.accessible()]
        assert tab.ask("checks.brightness()") < 0.02


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(chromium, tmp_path: Path, fault: str) -> None:
    old, new, check = FAULTS[fault]
    with opened(chromium, written(tmp_path, old, new), 360, dark=True) as tab:
        assert tab.ask(f"checks.{check}") != []


def test_a_blocked_script_is_a_complaint(chromium, tmp_path: Path) -> None:
    page = written(tmp_path, "<nav", "<script>alert(1)</script><nav")
    with opened(chromium, page, 360) as tab:
        assert "Content Security Policy" in tab.complaints()[0]


def test_an_error_of_a_script_is_a_complaint(chromium, tmp_path: Path) -> None:
    page = written(tmp_path, "default-src 'none'", "script-src 'unsafe-inline'")
    page.write_text(page.read_text().replace("<nav", "<script>nothing()</script><nav"))
    with opened(chromium, page, 360) as tab:
        assert "nothing is not defined" in tab.complaints()[0]


def test_what_leaves_the_page_is_a_request(chromium, tmp_path: Path) -> None:
    page = written(tmp_path, "default-src 'none'", "img-src *")
    picture = "<img src='http://example.com/a.png' alt='a'><nav"
    page.write_text(page.read_text().replace("<nav", picture))
    with opened(chromium, page, 360) as tab:
        assert tab.requests() == [tab.url, "http://example.com/a.png"]
        assert tab.complaints()


def test_what_has_no_name_has_none(chromium, tmp_path: Path) -> None:
    page = written(tmp_path, ' aria-labelledby="a" aria-describedby="b"', "")
    markup = page.read_text().replace('<title id="a">A plot</title>', "")
    page.write_text(markup.replace("<caption>Numbers</caption>", ""))
    with opened(chromium, page, 360) as tab:
        assert not [one for one in tab.accessible() if one[0] in ("image", "table") and one[1]]


def test_a_page_without_a_dark_side_is_bright(chromium, tmp_path: Path) -> None:
    with opened(
        chromium, written(tmp_path, "(prefers-color-scheme: dark)", "print"), 360, dark=True
    ) as tab:
        assert tab.ask("checks.brightness()") > 0.9
