"""The documentation site: made without a warning, whole, and at home without a network."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from tests.browser.chromium import Browser, browser, opened
from tests.support import REPOSITORY

LOOKED_AT = (
    *("index.html", "getting-started.html", "reference/commands.html", "results.html"),
    "pipeline.html",
)
WIDTHS = (360, 1440)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without running its notebooks, which `make docs` does."""
    return make_site(tmp_path_factory.mktemp("site"), "-D", "nb_execution_mode=off")


def make_site(folder: Path, *more: str) -> Path:
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", *more]
    argv = [*sphinx, "-d", str(folder / "doctrees"), REPOSITORY / "docs", str(folder / "html")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Links(HTMLParser):
    """What a page links to, and the anchors in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.add(found.get("id") or "")
        if tag == "a" and found.get("href"):
            self.targets.append(str(found["href"]))
        if tag in ("script", "link", "img", "iframe"):
            self.loaded.append(str(found.get("src") or found.get("href") or ""))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    return {page.resolve(): Links(page) for page in site.rglob("*.html")}


def test_every_link_leads_somewhere(site: Path, pages: dict[Path, Links]) -> None:
    broken = []
    for page, links in pages.items():
        for target in links.targets:
            if "://" in target or target.startswith("mailto:"):
                continue
            path, _, anchor = unquote(target).partition("#")
            found = (page.parent / path).resolve() if path else page
            anchors = pages[found].anchors if found in pages else {anchor}
            if not found.exists() or (anchor and anchor not in anchors):
                broken.append(f"{page.relative_to(site.resolve())}: {target}")
    assert len(pages) > 20
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Links]) -> None:
    loaded = [one for links in pages.values() for one in links.loaded]
    assert [one for one in loaded if one.startswith(("http:", "https:", "//"))] == []


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("name", LOOKED_AT)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_quiet_and_as_wide_as_its_screen(
    chromium: Browser, site: Path, name: str, width: int
) -> None:
    with opened(chromium, site / name, width, dark=width == WIDTHS[0]) as tab:
        assert [url for url in tab.requests() if not url.startswith(("file:", "data:"))] == []
        assert tab.complaints() == []
        assert tab.ask("document.documentElement.scrollWidth") == width


def test_the_search_works_offline(chromium: Browser, site: Path) -> None:
    count = "document.querySelectorAll('#search-results li').length"
    with opened(chromium, site / "search.html", 1440) as tab:
        tab.ask("Search.performSearch('readout')")
        # Results come one after another.
        end = time.monotonic() + 30
        while (found := tab.ask(count)) <= 3 and time.monotonic() < end:
            time.sleep(0.05)
    assert found > 3


def test_the_pipeline_gives_what_the_interpreter_gives(
    chromium: Browser, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step by step, every sample leaves after the latency of the core, in its turn."""
    monkeypatch.syspath_prepend(REPOSITORY / "docs")
    view = import_module("pipeline_view")
    design = view.small_design()
    results = design.interpret(np.array(view.SAMPLES))[:, 0].tolist()
    shown = "[...document.querySelectorAll('.pipe-port output')].at(-1).textContent"
    seen = []
    with opened(chromium, site / "pipeline.html", 1440) as tab:
        tab.ask("document.querySelector('[data-do=play]').click()")
        while "before" not in tab.ask("document.querySelector('.pipe-time').textContent"):
            tab.ask("document.querySelector('[data-do=back]').click()")
        for _ in range(design.latency + len(results) + 1):
            seen.append(tab.ask(shown))
            tab.ask("document.querySelector('[data-do=on]').click()")
    assert seen == ["·"] * design.latency + list(map(str, results)) + ["·"]


def test_every_command_and_option_is_on_the_page_of_commands(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for words in ("explore", "emulate", "--max-nodes", "--interface", "--tolerance"):
        assert words in text


@pytest.mark.long
def test_the_notebooks_of_the_site_run(tmp_path: Path) -> None:
    html = make_site(tmp_path, "-D", "nb_execution_mode=force")
    assert "0 mismatches" in (html / "tutorials" / "fault-classifier.html").read_text()
