"""Pages in a real browser: quiet, whole, and readable on a phone, in the dark, and by ear."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.build import BuildOptions, build
from scm_hw.design import Options
from tests.browser.chromium import Browser, browser, opened
from tests.explore.searches import QUICK, plant_csv
from tests.hw.report_pages import MODELS, reported, with_history
from tests.support import model_arrays, write_model

WIDTHS = (360, 1440)
# WCAG AA: of text, and of what is drawn.
TEXT, DRAWN = 4.5, 3.0

REPORTS: dict[str, tuple[str, str]] = {
    "unrolled": ("regression", "auto"),
    "folded": ("regression", "2x8"),
    "outputs": ("outputs", "auto"),
    "classes": ("classifier", "auto"),
}
# The page that a build without simulations leaves, whose links are to what it has written.
BUILT = "built.html"
PAGES = (*REPORTS, "comparison", "front")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each kind, in a folder with all that it links to."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: _report(folder / name, *how) for name, how in REPORTS.items()}
    found["comparison"] = folder / "comparison.html"
    builds = [str(folder / name) for name in REPORTS]
    assert main(["report", *builds, "--out", str(found["comparison"])]) == 0
    data = plant_csv(folder / "plant.csv")
    words = [data, "--target", "force", "--points", "16", *QUICK, "--jobs", "1"]
    assert main(["explore", *map(str, words), "--out", str(folder / "explored")]) == 0
    return found | {"front": folder / "explored" / "front" / "front.html"}


def _report(folder: Path, kind: str, fold: str) -> Path:
    """A build without its proofs, and then the page that it would have with them."""
    arrays = model_arrays(3, **MODELS[kind])
    if kind == "regression":
        arrays = with_history(arrays, [1] * 7 + [2] * 3)
    model = write_model(folder.with_suffix(".npz"), arrays)
    how = BuildOptions(out=folder, simulators=(), synthesis=False)
    options = Options(fold=fold)
    build(model, boards.get("nexys-a7"), options, build_options=how)
    markup, report, *_ = reported(arrays, options=options, name=folder.name)
    assert (report["fold"] is not None) == (fold != "auto")
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    page = folder / "report.html"
    page.rename(folder / BUILT)
    page.write_text(markup, encoding="utf-8")
    return page


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_asked_for_and_nothing_complained_of(chromium, pages, name: str) -> None:
    with opened(chromium, pages[name], 1440) as tab:
        assert tab.requests() == [tab.url]
        assert tab.complaints() == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(chromium, pages, name: str) -> None:
    built = pages[name].with_name(BUILT)
    with opened(chromium, built if built.exists() else pages[name], 1440) as tab:
        assert tab.ask("checks.dead()") == []
        links = tab.ask("checks.links()")
    files = [link.partition("#")[0] for link in links if not link.startswith("#")]
    assert [file for file in files if not (pages[name].parent / file).is_file()] == []
    assert len(links) > len(files) and (files or name == "comparison")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_it_can_be_read(chromium, pages, name: str, width: int, dark: bool) -> None:
    """As it opens, and with all its numbers unfolded."""
    with opened(chromium, pages[name], width, dark=dark) as tab:
        assert tab.ask(f"checks.overflow({width})") == []
        assert tab.ask("checks.crowded()") == []
        assert tab.ask("checks.undrawn()") == []
        tab.ask("checks.openAll()")
        assert tab.ask(f"checks.overflow({width})") == []
        assert tab.ask(f"checks.faint({TEXT})") == []
        assert tab.ask(f"checks.pale({DRAWN})") == []
        brightness = tab.ask("checks.brightness()")
        assert brightness < 0.02 if dark else brightness > 0.9


@pytest.mark.parametrize("name", PAGES)
def test_a_screen_reader_is_told_all(chromium, pages, name: str) -> None:
    """Every drawing has a name, words and numbers; every table, link and part has its name."""
    with opened(chromium, pages[name], 1440) as tab:
        assert tab.ask("checks.untabled()") == []
        tab.ask("checks.openAll()")
        told = tab.accessible()
        drawings, tables = (
            tab.ask(f"document.querySelectorAll('{what}').length")
            for what in ("svg[role=img]", "table")
        )
    pictures = [one for one in told if one[0] in ("image", "img")]
    assert len(pictures) == drawings > 0
    assert all(name and words and name != words for _, name, words in pictures)
    named = [(role, name) for role, name, _ in told if role in ("table", "link", "region")]
    assert sum(role == "table" for role, _ in named) == tables > 0
    assert all(name for _, name in named)
    assert [role for role, *_ in told if role in ("main", "navigation")] == ["navigation", "main"]
