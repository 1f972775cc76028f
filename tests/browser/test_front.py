"""The page of a search answers to limits and to the pointer, and asks the network for nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scm_hw.__main__ import main
from tests.browser.chromium import Browser, Tab, browser, opened
from tests.explore.searches import QUICK, labels_csv, plant_csv

TARGETS = {"rmse": "force", "accuracy": "grade"}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def fronts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("fronts")
    tables = {"rmse": plant_csv(folder / "a.csv"), "accuracy": labels_csv(folder / "b.csv")}
    for score, data in tables.items():
        words = [data, "--target", TARGETS[score], "--points", "12", *QUICK, "--jobs", "1"]
        assert main(["explore", *map(str, words), "--out", str(folder / score)]) == 0
    return {score: folder / score / "front" for score in tables}


@pytest.fixture(params=list(TARGETS))
def front(request: pytest.FixtureRequest, chromium: Browser, fronts: Any) -> Iterator[Any]:
    folder = fronts[request.param]
    result = json.loads((folder / "front.json").read_text())
    with opened(chromium, folder / "front.html", 1280) as tab:
        yield tab, result
        assert tab.requests() == [tab.url] and tab.complaints() == []


def shown(tab: Tab) -> list[str]:
    """The designs that the table of the front shows."""
    rows = "[...document.querySelectorAll('#front-table tbody tr')]"
    return tab.ask(f"{rows}.filter((r) => r.checkVisibility()).map((r) => r.cells[0].textContent)")


def limit(tab: Tab, name: str, value: float) -> None:
    field = f"document.forms.limits.elements.{name}"
    tab.ask(f"{field}.value = '{value!r}'")
    tab.ask(f"{field}.dispatchEvent(new Event('input', {{ bubbles: true }}))")


def called(row: dict[str, Any]) -> str:
    return f"p{row['point']:04d}"


@pytest.mark.parametrize("key", ["lut", "latency_ns", "score"])
def test_a_limit_leaves_out_what_is_beyond_it(front: tuple[Tab, dict[str, Any]], key: str) -> None:
    tab, result = front
    of = {"score": f"held_out_{result['score']}"}.get(key, key)
    rows = result["front"]
    assert shown(tab) == [called(row) for row in rows]
    middle = sorted(row[of] for row in rows)[len(rows) // 2]
    limit(tab, key, middle)
    least = key == "score" and result["score"] == "accuracy"
    kept = [row for row in rows if (row[of] >= middle if least else row[of] <= middle)]
    assert shown(tab) == [called(row) for row in kept]
    commands = "[...document.querySelectorAll('#build-list > li')].filter((e) => !e.hidden).length"
    assert tab.ask(commands) == len(kept)
    told = tab.ask("document.querySelector('#kept').textContent")
    assert told.startswith(f"{len(kept)} of {len(rows)} designs on the front, ")
    dots = "[...document.querySelectorAll('#plot-lut [data-design]')]"
    seen = tab.ask(f"{dots}.filter((e) => e.checkVisibility()).map((e) => e.dataset.design)")
    assert {called(row) for row in kept} <= set(seen)
    assert not {called(row) for row in rows if row not in kept} & set(seen)
    tab.ask("document.forms.limits.reset()")
    tab.ask("new Promise((done) => setTimeout(done, 50))")
    assert shown(tab) == [called(row) for row in rows]


def test_the_pointer_shows_figures_and_the_command(front: tuple[Tab, dict[str, Any]]) -> None:
    tab, result = front
    for row in result["front"]:
        dot = f"document.querySelector('#plot-lut [data-design={called(row)}]')"
        x, y = tab.ask(f"(({{ x, y }}) => [x, y])({dot}.getBoundingClientRect())")
        tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        name, figures, command = tab.ask(
            "['strong', 'span', 'code']"
            ".map((e) => document.querySelector(`#detail ${e}`).textContent)"
        )
        (same,) = [one for one in result["front"] if called(one) == name]
        # Of designs in one place, one is shown.
        assert same["lut"] == row["lut"]
        assert f"{same['lut']:,} LUT, {same['latency_ns']:,g} ns" in figures
        assert command == same["build"]
        assert tab.ask(f"{dot}.ownerDocument.querySelectorAll('path.chosen').length") == 2


def test_the_keyboard_steps_through_the_front(front: tuple[Tab, dict[str, Any]]) -> None:
    tab, result = front
    tab.ask("document.querySelector('#detail').focus()")
    names = []
    for _ in result["front"]:
        tab.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
        names.append(tab.ask("document.querySelector('#detail strong').textContent"))
    assert sorted(names) == sorted(map(called, result["front"]))
