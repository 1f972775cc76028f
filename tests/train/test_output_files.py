"""What commands may replace: never an input, nothing but files, and only their own kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scm_train import datasets, model_file, output_files
from scm_train.__main__ import main
from scm_train.errors import OutputError
from tests.train.commands import FAST, fitted, plant_csv

pytestmark = pytest.mark.usefixtures("folder")

FIT = ["fit", "plant.csv", "--target", "force", *FAST, "-q", "--out"]
PREDICT = ["predict", "m.npz", "plant.csv", "--out"]
PLOT = ["plot", "m.npz", "--out"]
EXPORT = ["export", "m.npz", "--out"]
#: Every command that writes, with a name that its output may have.
WRITERS = {
    "fit": (FIT, "out.npz"),
    "predict": (PREDICT, "out.csv"),
    "plot": (PLOT, "out.png"),
    "export": (EXPORT, "out.onnx"),
}


def refused(argv: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with one line, and every file is as it was."""
    before = {path: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in Path().iterdir()}
    capsys.readouterr()
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("error: can't write ")
    assert reason in line
    after = {path: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in Path().iterdir()}
    assert after == before


def linked(kind: str, source: str, name: str) -> str:
    """Another name for a file."""
    if kind == "symbolic":
        Path(name).symlink_to(source)
    elif kind == "hard":
        os.link(source, name)
    else:
        os.rename(source, name)
        Path(source).symlink_to(name)
    return name


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "force"])
@pytest.mark.parametrize(
    ("argv", "source"),
    [
        (FIT, "plant.csv"),
        (PREDICT, "plant.csv"),
        (PREDICT, "m.npz"),
        (PLOT, "m.npz"),
        (EXPORT, "m.npz"),
    ],
    ids=["fit-data", "predict-data", "predict-model", "plot-model", "export-model"],
)
def test_an_input_is_never_replaced(argv, source, force, capsys):
    fitted("-q")
    name = source
    if argv is PLOT:
        name = linked("hard", source, "m.png")
    refused([*argv, name, *force], "this command reads it", capsys)


@pytest.mark.parametrize("kind", ["symbolic", "hard", "target"])
@pytest.mark.parametrize("command", list(WRITERS))
def test_an_input_by_another_name_is_never_replaced(command, kind, capsys):
    fitted("-q")
    argv, name = WRITERS[command]
    source = "plant.csv" if command == "fit" else "m.npz"
    refused([*argv, linked(kind, source, name), "--force"], "this command reads it", capsys)


@pytest.mark.usefixtures("physics")
def test_the_mechanisms_module_is_an_input_too(capsys):
    plant_csv()
    argv = [*FIT, "physics.py", "--mechanism", "physics:pull", "--force"]
    assert main(argv) == 2
    assert "this command reads it" in capsys.readouterr().err
    assert Path("physics.py").read_text().startswith("def pull")


def test_a_named_data_sets_file_is_an_input_too(monkeypatch, capsys, tmp_path):
    header = "AT,V,AP,RH,PE\n"
    rows = "".join(f"{i},{i % 7},{i % 5},{i % 3},{i * i % 11}\n" for i in range(40))
    (tmp_path / "ccpp.csv").write_text(header + rows)
    monkeypatch.setenv("SCM_DATA", str(tmp_path))
    assert datasets.load("ccpp").files == (tmp_path / "ccpp.csv",)
    argv = ["fit", "--dataset", "ccpp", *FAST, "-q", "--out", "ccpp.csv", "--force"]
    refused(argv, "this command reads it", capsys)


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "force"])
@pytest.mark.parametrize("command", list(WRITERS))
def test_what_is_not_a_regular_file_is_never_replaced(command, force, capsys):
    fitted("-q")
    argv, name = WRITERS[command]
    os.mkfifo(name)
    refused([*argv, name, *force], "it is a pipe, not a regular file", capsys)
    os.remove(name)
    os.mkdir(name)
    refused([*argv, name, *force], "it is a folder, not a regular file", capsys)
    os.rmdir(name)
    Path(name).symlink_to("/dev/null")
    refused([*argv, name, *force], "it is a device, not a regular file", capsys)


@pytest.mark.parametrize("command", list(WRITERS))
def test_a_file_of_another_kind_is_replaced_by_force_only(command, capsys):
    fitted("-q")
    argv, name = WRITERS[command]
    Path(name).write_text("notes of a week,1\n")
    refused([*argv, name], "add --force", capsys)
    assert main([*argv, name, "--force"]) == 0
    assert b"notes" not in Path(name).read_bytes()


@pytest.mark.parametrize("command", list(WRITERS))
def test_a_file_of_the_same_kind_or_of_nothing_is_replaced(command, capsys):
    fitted("-q")
    argv, name = WRITERS[command]
    Path(name).touch()
    assert main([*argv, name]) == 0
    first = Path(name).read_bytes()
    assert main([*argv, name]) == 0
    assert Path(name).read_bytes() == first


def test_predictions_of_other_columns_and_archives_of_data_are_other_kinds(capsys):
    fitted("-q", target="heat")
    Path("data.csv").write_text("force\n1.5\n")
    refused([*PREDICT, "data.csv"], "not a table of this model's predictions", capsys)
    Path("rows.npz").write_bytes(b"PK\x05\x06" + bytes(18))
    refused([*FIT, "rows.npz"], "not a model file", capsys)


def test_a_folder_without_the_right_to_write(monkeypatch, capsys):
    fitted("-q")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for argv, name in WRITERS.values():
        refused([*argv, name], "can't be written to", capsys)


@pytest.mark.parametrize("command", list(WRITERS))
def test_the_check_comes_before_the_work(command, monkeypatch, capsys):
    fitted("-q")

    def work(*_, **__):
        raise AssertionError("this is the work")

    monkeypatch.setattr("scm_train.cli.fit.read", work)
    monkeypatch.setattr("scm_train.cli.model_commands.read_features", work)
    monkeypatch.setattr("scm_train.evaluation.plot.figure", work)
    monkeypatch.setattr("scm_train.onnx_export.onnx_model", work)
    argv, name = WRITERS[command]
    Path(name).mkdir()
    refused([*argv, name], "it is a folder", capsys)


def test_a_failed_write_is_one_line_and_leaves_nothing():
    Path("p.csv").write_text("earlier")

    def write(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left on device"):
        output_files.write_output("p.csv", write)
    assert os.listdir() == ["p.csv"]
    assert Path("p.csv").read_text() == "earlier"


def test_models_are_recognised():
    machine = fitted("-q")
    model_file.save(machine, "other.npz")
    assert output_files.MODEL.recognises(Path("other.npz"))
    assert not output_files.MODEL.recognises(Path("plant.csv"))
