"""What an output may replace: nothing of the user's, and never an input or a device."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from scm_hw.__main__ import main
from scm_hw.common.outputs import Kind, check_output, folder_of
from scm_hw.errors import OptionError
from scm_hw.host.emulator import LINK
from tests.hw.commands import quick_build, small_model, write_csv

FILE = Kind("file", "an earlier page", lambda path: path.read_text() == "ours")
FOLDER = folder_of("an earlier build", "digest.txt", "old.txt")
QUICK = ("--no-sim", "--no-synth")


def refused(path: Path, kind: Kind, message: str, **how: object) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(f'output {path} {message}')}"):
        check_output(path, kind, **how)


def test_what_is_new_or_ours_may_be_written(tmp_path: Path) -> None:
    check_output(tmp_path / "a" / "b", FILE)
    check_output(tmp_path / "a" / "b", FOLDER)
    (tmp_path / "page").write_text("ours")
    check_output(tmp_path / "page", FILE)
    (tmp_path / "build").mkdir()
    check_output(tmp_path / "build", FOLDER)
    (tmp_path / "build" / "old.txt").touch()
    check_output(tmp_path / "build", FOLDER)


def test_what_is_the_users_needs_force(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("thesis")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").touch()
    (tmp_path / "link").symlink_to("folder")
    for name, kind, what in (
        ("page", FILE, "must be new or an earlier page, not another file; choose another with"),
        ("folder", FOLDER, "must be new or an earlier build, not another folder; choose another"),
        ("link", FOLDER, "must be new or an earlier build, not another folder; choose another"),
        ("link", LINK, "must be new or that of an earlier emulator, not another link; choose"),
    ):
        refused(tmp_path / name, kind, what)
        check_output(tmp_path / name, kind, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_an_input_is_never_replaced(tmp_path: Path, force: bool) -> None:
    data = tmp_path / "data.csv"
    data.write_text("ours")
    (tmp_path / "hard").hardlink_to(data)
    (tmp_path / "soft").symlink_to(data)
    for name in ("data.csv", "hard", "soft"):
        message = f"must not be the input {data}; choose another with --out"
        refused(tmp_path / name, FILE, message, inputs=[None, data], force=force)
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "digest.txt").touch()
    inside = folder / "m.npz"
    inside.touch()
    refused(folder, FOLDER, f"must not hold the input {inside}", inputs=[inside], force=force)
    check_output(folder, FOLDER, inputs=[data])


@pytest.mark.parametrize("force", [False, True])
def test_other_things_than_files_and_folders_stay(tmp_path: Path, force: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "pipe", FILE, "must be a file, not a pipe", force=force)
    refused(tmp_path / "null", FILE, "must be a file, not a device", force=force)
    refused(Path("/dev/null"), FOLDER, "must be a folder, not a device", force=force)
    refused(tmp_path / "folder", FILE, "must be a file, not a folder", force=force)
    refused(tmp_path / "file", FOLDER, "must be a folder, not a file", force=force)
    refused(tmp_path / "file", LINK, "must be a link, not a file", force=force)


def test_a_place_that_cannot_be_written_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "a" / "b", FILE, "can't be written (Not a directory)")
    refused(tmp_path / ("a" * 300), FOLDER, "can't be written (File name too long)")
    monkeypatch.setattr(os, "access", lambda *_: False)
    refused(tmp_path / "new", FILE, "can't be written (Permission denied)")
    flags = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", lambda _: flags)
    refused(tmp_path / "new", FILE, "can't be written (Read-only file system)")


def test_a_terminals_link_is_the_emulators(tmp_path: Path) -> None:
    for leads_to in ("/dev/pts/99", "/dev/pts/1"):
        (tmp_path / "tty").unlink(missing_ok=True)
        (tmp_path / "tty").symlink_to(leads_to)
        check_output(tmp_path / "tty", LINK)


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    model = small_model(tmp_path / "m.npz")
    quick_build(model, tmp_path / "a")
    quick_build(model, tmp_path / "b")
    small_model(tmp_path / "a" / "inside.npz")
    write_csv(tmp_path / "b" / "rows.csv", ["x0", "x1", "y0"], [[0, 0, 0]])
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").write_text("years of work")
    (tmp_path / "n.failed").mkdir()
    (tmp_path / "n.failed" / "thesis.tex").write_text("years of work")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


COMMANDS = {
    "build over its model": ("build", "a/inside.npz", *QUICK, "--out", "a", "--force"),
    "build over its data": ("build", "m.npz", "--data", "b/rows.csv", *QUICK, "--out", "b"),
    "build over a folder": ("build", "m.npz", *QUICK, "--out", "notes"),
    "build beside a folder": ("build", "m.npz", *QUICK, "--out", "n"),
    "build over a pipe": ("build", "m.npz", *QUICK, "--out", "pipe", "--force"),
    "report over a report": ("report", "a", "b", "--out", "a/report.json", "--force"),
    "report over a model": ("report", "a", "b", "--out", "m.npz"),
    "report over a page of a build": ("report", "a", "b", "--out", "a/report.html"),
    "report over a pipe": ("report", "a", "b", "--out", "pipe", "--force"),
    "report over a device": ("report", "a", "b", "--out", "/dev/null", "--force"),
    "report over a folder": ("report", "a", "b", "--out", "a"),
    "sim in a folder": ("sim", "m.npz", "--simulator", "amaranth", "--workdir", "notes"),
    "sim in a build": ("sim", "m.npz", "--simulator", "amaranth", "--workdir", "a"),
    "emulate over a file": ("emulate", "m.npz", "--link", "m.npz", "--force"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_takes_the_users_files(
    name: str,
    workshop: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And says so before it compiles anything."""
    monkeypatch.setattr("scm_hw.build.compile_model", None)
    before = {path: path.stat().st_ino for path in workshop.rglob("*")}
    assert main(COMMANDS[name]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert re.match(r"error: output .* must (be|not be|not hold) ", err), err
    assert {path: path.stat().st_ino for path in workshop.rglob("*")} == before
    assert stat.S_ISFIFO((workshop / "pipe").stat().st_mode)


def test_force_replaces_the_rest_and_a_page_is_known_again(workshop: Path) -> None:
    assert main(["report", "a", "b", "--out", "page.html"]) == 0
    assert main(["report", "b", "--out", "page.html"]) == 0
    (workshop / "other.html").write_text("thesis")
    assert main(["report", "a", "--out", "other.html"]) == 2
    assert (workshop / "other.html").read_text() == "thesis"
    assert main(["report", "a", "--out", "other.html", "--force"]) == 0
    assert main(["build", "m.npz", *QUICK, "--out", "notes", "--force"]) == 0
    assert not (workshop / "notes" / "thesis.tex").exists()
    sim = ["sim", "m.npz", "--simulator", "amaranth", "--workdir", "w"]
    assert main(sim) == 0 and main(sim) == 0
