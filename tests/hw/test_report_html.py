"""The page of a build: well formed, complete in itself, and harmless."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.build import BuildOptions, build
from scm_hw.design import Options
from scm_hw.report._html_elements import el, text
from tests.hw.commands import contents
from tests.hw.report_pages import (
    MODELS,
    example,
    reported,
    table_of,
    with_history,
    with_meta,
)
from tests.pages import parsed
from tests.support import model_arrays, write_model

LIMIT = 2_000_000
HOSTILE = "</title></text><script>alert(1)</script>\" onload='x' &lt; \x00\u202e\ud800"


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("proven", [True, False])
def test_page_is_well_formed(kind: str, proven: bool) -> None:
    root = parsed(example(kind, proven)[0])
    ids = [e.attributes["id"] for e in root if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for element in root:
        for attribute in ("aria-labelledby", "aria-describedby"):
            if attribute in element.attributes:
                assert element.attributes[attribute] in ids
    for landmark in ("header", "nav", "main", "footer", "h1", "title"):
        tops = [e for e in root.all(landmark) if landmark != "title" or "id" not in e.attributes]
        assert len(tops) == 1, landmark


@pytest.mark.parametrize("kind", MODELS)
def test_headings_are_in_order(kind: str) -> None:
    root = parsed(example(kind)[0])
    levels = [int(e.tag[1]) for e in root.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("kind", MODELS)
def test_sections_are_all_there_and_linked(kind: str) -> None:
    root = parsed(example(kind)[0])
    sections = [s.attributes["aria-labelledby"] for s in root.all("section")]
    assert sections == [
        "built",
        "accuracy",
        "predictions",
        "training",
        "layers",
        "storage",
        "blocks",
        "pipeline",
        "resources",
        "power",
        "checks",
        "ports",
        "vivado",
    ]
    links = [a.attributes["href"] for a in root.all("nav")[0].all("a")]
    assert links == [f"#{slug}" for slug in sections]


@pytest.mark.parametrize("kind", MODELS)
def test_tables_have_captions_and_scopes(kind: str) -> None:
    for table in parsed(example(kind)[0]).all("table"):
        assert table.children[0].tag == "caption" and table.children[0].text().strip()
        assert all(th.attributes["scope"] in ("col", "row") for th in table.all("th"))
        widths = {len(row.all("th", "td")) for row in table.all("tr")}
        assert len(widths) == 1


@pytest.mark.parametrize("kind", MODELS)
def test_drawings_are_described_and_have_their_numbers(kind: str) -> None:
    root = parsed(example(kind)[0])
    drawings = [svg for svg in root.all("svg") if "aria-hidden" not in svg.attributes]
    assert drawings
    for svg in drawings:
        assert svg.attributes["role"] == "img"
        assert [child.tag for child in svg.children[:2]] == ["title", "desc"]
        assert all(child.text().strip() for child in svg.children[:2])
    for figure in root.all("figure"):
        tables = [t for details in figure.all("details") for t in details.all("table")]
        assert tables or "figure above" in figure.text()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("proven", [True, False])
def test_page_is_complete_in_itself(kind: str, proven: bool) -> None:
    page = example(kind, proven)[0]
    root = parsed(page)
    assert not re.search(r"https?:|//|url\(|@import|javascript:", page, re.IGNORECASE)
    assert not root.all("script", "img", "iframe", "object", "embed", "form")
    assert not [a for e in root for a in e.attributes if a == "src" or a.startswith("on")]
    assert len(page.encode()) < LIMIT


def test_missing_parts_are_said_to_be_missing() -> None:
    arrays = model_arrays(3, layers=())
    arrays = {name: array for name, array in arrays.items() if not name.startswith("eval_")}
    words = parsed(reported(arrays, proven=False)[0]).text()
    assert "carries no evaluation rows" in words
    assert "carries no history" in words
    assert "no hidden layer" in words
    assert "This build was not simulated" in words
    assert "left synthesis out" in words


@pytest.mark.parametrize("kind", ["regression", "classifier"])
def test_hostile_names_are_only_text(kind: str) -> None:
    options = MODELS[kind]
    arrays = with_history(model_arrays(3, **options), [1] * 4)
    outputs = options.get("outputs", 1)

    def page_with(word: str) -> str:
        changed = with_meta(
            arrays,
            features=[f"{word}{i}" for i in range(3)],
            targets=[f"{word}{i}" for i in range(outputs)],
            classes=[f"{word}{i}" for i in range(outputs)],
            algorithm=word,
            data={word: word, "more": [word, {word: word}]},
            settings={word: {word: word}},
            scores={word: word},
        )
        return reported(changed, name=word)[0]

    harmless, hostile = page_with("x"), page_with(HOSTILE)
    shapes = [[(e.tag, sorted(e.attributes)) for e in parsed(p)] for p in (harmless, hostile)]
    assert shapes[0] == shapes[1]
    hostile.encode()
    assert not set(hostile) & {"\x00", "\u202e", "\ud800"}
    assert "<script>alert(1)</script>" in parsed(hostile).text()


def test_equal_builds_have_equal_pages(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model.npz", model_arrays(3))
    pages = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        how = BuildOptions(out=folder, simulators=(), synthesis=False)
        build(model, boards.get("arty-a7"), build_options=how)
        pages.append((folder / "report.html").read_bytes())
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]


@pytest.mark.parametrize(
    ("board", "interface"), [("nexys-a7", "stream"), (None, "axis"), ("arty-a7", "axil")]
)
def test_linked_files_are_those_of_the_build(
    tmp_path: Path, board: str | None, interface: str
) -> None:
    model = write_model(tmp_path / "model.npz", model_arrays(3))
    target = boards.get(board) if board else boards.by_part("xc7a35tcpg236-1")
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    folder = build(model, target, Options(interface=interface), build_options=how).folder
    root = parsed((folder / "report.html").read_text(encoding="utf-8"))
    links = {str(a.attributes["href"]) for a in root.all("a")}
    files = {link.partition("#")[0] for link in links if not link.startswith("#")}
    assert files == contents(folder).keys() - {"report.html"}
    top = "scm_top" if board else "model_core"
    assert f"vivado project/{top}.xpr" in root.text()


@pytest.mark.parametrize("interface", ["axil", "stream"])
def test_registers_are_listed(interface: str, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model.npz", model_arrays(3))
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    folder = build(model, boards.get("arty-a7"), Options(interface=interface), how).folder
    page = (folder / "report.html").read_text(encoding="utf-8")
    listed = [text in page for text in ("OUTPUT_0", "0x20000", "STATUS.START_WHILE_BUSY")]
    assert listed == [interface == "axil"] * 3


def test_large_models_stay_below_the_limit() -> None:
    arrays = model_arrays(3, features=300, outputs=12, layers=(), linear=False, rows=5000)
    arrays = with_history(arrays, [1] * 50_000)
    long = "&" * 2000
    arrays = with_meta(
        arrays,
        features=[f"{i}{long}" for i in range(300)],
        targets=[f"{i}{long}" for i in range(12)],
        settings={f"{i}{long}": long for i in range(500)},
    )
    page, report, *_ = reported(arrays)
    assert len(page.encode()) < LIMIT
    caption = f"in_data, {report['formats']['in_width']:,} bits"
    assert len(table_of(parsed(page), caption)) == 256
    assert "The first 256 of 300 are shown." in parsed(page).text()


def test_text_is_escaped_unless_it_is_markup() -> None:
    assert el("p", "<b>", el("b", "&"), title='"') == '<p title="&quot;">&lt;b&gt;<b>&amp;</b></p>'
    assert text("abcdef", 4) == "abc…"
