"""Builds side by side: what the table and the page say is what the reports say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scm_hw.__main__ import main
from scm_hw.report import compare
from scm_hw.report._html_elements import count
from tests.hw.commands import contents, small_model
from tests.pages import parsed

QUICK = ("--no-sim", "--no-synth", "-q")


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A small model, a larger one, and a classifier."""
    folder = tmp_path_factory.mktemp("builds")
    made = []
    for name, options in {
        "small": {},
        "larger": {"layers": (9,), "features": 4},
        "named": {"task": "classification", "outputs": 3},
    }.items():
        model = small_model(folder / f"{name}.npz", **options)
        assert main(["build", str(model), *QUICK, "--out", str(folder / name)]) == 0
        made.append(folder / name)
    return made


def reports(builds: list[Path]) -> list[dict]:
    return [json.loads((folder / "report.json").read_text()) for folder in builds]


def test_json_is_the_reports_themselves(builds: list[Path], capsys) -> None:
    capsys.readouterr()
    assert main(["report", *map(str, builds), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == reports(builds)


def test_the_table_has_a_column_for_each(builds: list[Path], capsys) -> None:
    capsys.readouterr()
    assert main(["report", *map(str, builds)]) == 0
    rows = [
        [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")]
        for line in capsys.readouterr().out.splitlines()
        if line[0] in "│┃"
    ]
    found = {row[0]: row[1:] for row in rows}
    every = reports(builds)
    assert found[""] == ["small", "larger", "named"]
    assert [cell.split()[0] for cell in found["LUT"]] == [
        f"{report['resources']['lut']:,}" for report in every
    ]
    assert found["RMSE, FPGA"] == [
        f"{report['rmse_hw']:.6f}" if "rmse_hw" in report else "—" for report in every
    ]
    assert found["Accuracy, FPGA"][2] == f"{every[2]['accuracy_hw']:.2%}"


def test_the_page_has_the_same_figures(builds: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    assert main(["report", *map(str, builds), "--out", str(page)]) == 0
    root = parsed(page.read_text(encoding="utf-8"))
    table = root.all("table")[0]
    rows = {r.children[0].text(): [c.text() for c in r.children[1:]] for r in table.all("tr")}
    every = reports(builds)
    assert rows[""] == ["small", "larger", "named"]
    assert rows["Digest"] == [report["digest"][:12] for report in every]
    assert [cell.split(",")[0] for cell in rows["Latency"]] == [
        count(report["latency_cycles"], "cycle") for report in every
    ]
    for figure, unit in zip(root.all("figure"), ("LUT", "Latency in ns"), strict=True):
        (numbers,) = figure.all("table")
        cells = [row.children[1].text() for row in numbers.all("tr")]
        key = {"LUT": lambda r: r["resources"]["lut"], "Latency in ns": lambda r: r["latency_ns"]}
        assert cells == [unit, *(f"{key[unit](report):,g}" for report in every)]
    assert not root.all("script", "img")
    assert [p.name for p in tmp_path.iterdir()] == ["compare.html"]


def test_builds_of_one_name_are_told_apart_by_their_folders(
    builds: list[Path], tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("[bold]a", "b"):
        Path(folder).mkdir()
        Path(folder, "report.json").write_bytes((builds[0] / "report.json").read_bytes())
    capsys.readouterr()
    assert main(["report", str(builds[1]), "[bold]a", "b", "--out", "page.html"]) == 0
    head = parsed(Path("page.html").read_text(encoding="utf-8")).all("tr")[0]
    names = ["larger", "small in [bold]a", "small in b"]
    assert [cell.text() for cell in head.children[1:]] == names
    line = capsys.readouterr().out.splitlines()[1]
    assert [cell.strip() for cell in line.strip("┃").split("┃")] == ["", *names]


def test_interfaces_are_named_and_ties_are_called_ties(builds: list[Path]) -> None:
    small, larger, _ = reports(builds)
    bus = small | {"interface": "axis"}
    shown = {line.label: line.values for line in compare.lines([small, bus, larger])}
    assert shown["Interface"] == ("stream", "axis", "stream")
    tied = parsed(compare.comparison_page([small, bus, larger], ["a", "b", "c"]))
    cards = [card.all("dd")[0].text() for card in tied.all("header")[0].all("div")]
    assert cards[0] == f"{small['resources']['lut']:,} LUTa tie: a, b"
    both = parsed(compare.comparison_page([small, bus], ["a", "b"]))
    assert both.all("dd")[0].text().endswith("a tie of both")
    all_ = parsed(compare.comparison_page([small] * 4, list("abcd")))
    assert all_.all("dd")[1].text().endswith("a tie of all 4")


def test_names_from_models_are_harmless(builds: list[Path], tmp_path: Path) -> None:
    (first, *_) = reports(builds)
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / "report.json").write_text(json.dumps(first | {"name": "<script>x</script>"}))
    page = tmp_path / "compare.html"
    assert main(["report", str(folder), "--out", str(page)]) == 0
    assert not parsed(page.read_text(encoding="utf-8")).all("script")


def damaged(report: dict, folder: Path) -> dict[str, str]:
    """Folders with something wrong, and what must be said of it."""
    without_lut = {k: v for k, v in report["resources"].items() if k != "lut"}
    texts = {
        "torn": "{",
        "other": "[]",
        "short": json.dumps({k: v for k, v in report.items() if k != "digest"}),
        "unsized": json.dumps(report | {"resources": without_lut}),
    }
    (folder / "empty").mkdir()
    for name, text in texts.items():
        (folder / name).mkdir()
        (folder / name / "report.json").write_text(text)
    return {
        "none": "can't read a report in",
        "empty": "can't read a report in",
        "torn": "it is not JSON",
        "other": "must be of the format scm-report",
        "short": "it lacks 'digest'",
        "unsized": "it lacks 'lut'",
    }


def test_folders_without_a_build_are_one_line(
    builds: list[Path], tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = damaged(reports(builds)[0], tmp_path)
    before = contents(tmp_path)
    for name, message in cases.items():
        capsys.readouterr()
        assert main(["report", str(builds[0]), name, "--out", "page.html"]) == 2
        streams = capsys.readouterr()
        assert streams.err.startswith("error: ") and message in streams.err
        assert streams.err.count("\n") == 1 and not streams.out
    assert contents(tmp_path) == before


def test_a_page_that_cannot_be_written_is_one_line(builds: list[Path], tmp_path, capsys) -> None:
    capsys.readouterr()
    assert main(["report", str(builds[0]), "--out", str(tmp_path / "none" / "page.html")]) == 2
    error = capsys.readouterr().err
    assert "can't be written" in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_huge_report_is_not_read(
    builds: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "MAX_BYTES", 1000)
    capsys.readouterr()
    assert main(["report", str(builds[0])]) == 2
    error = capsys.readouterr().err
    assert error.endswith("must be at most 1,000 bytes; build it again\n")
    assert error.count("\n") == 1
