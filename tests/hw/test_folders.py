"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from scm_hw.common.folders import replacing, write_file, write_files
from scm_hw.common.outputs import folder_of
from scm_hw.errors import OptionError
from tests.hw.commands import contents

MARKER = "digest.txt"
KIND = folder_of("an earlier build", MARKER)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A folder that an earlier build left."""
    folder = tmp_path / "design"
    folder.mkdir()
    write_files(folder, {MARKER: "old\n", "only_old.txt": "old\n"})
    return folder


def test_a_new_folder_appears_with_its_parents(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "design"
    with replacing(target, KIND) as folder:
        write_files(folder, {"one.txt": "1\n"})
        assert not target.exists()
    assert contents(tmp_path) == {"a/b/design/one.txt": b"1\n"}
    assert target.stat().st_mode & 0o777 == 0o755


def test_an_earlier_build_is_replaced_as_a_whole(earlier: Path) -> None:
    with replacing(earlier, KIND) as folder:
        write_files(folder, {"new.txt": "new\n"})
        assert (earlier / "only_old.txt").exists()
    assert contents(earlier.parent) == {"design/new.txt": b"new\n"}


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "design").mkdir()
    with replacing(tmp_path / "design", KIND) as folder:
        write_files(folder, {"new.txt": "new\n"})
    assert contents(tmp_path) == {"design/new.txt": b"new\n"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_earlier_build(earlier: Path, error: type[BaseException]) -> None:
    before = contents(earlier.parent)
    with pytest.raises(error), replacing(earlier, KIND) as folder:
        write_files(folder, {"new.txt": "new\n"})
        raise error
    assert contents(earlier.parent) == before


def test_a_failure_leaves_no_empty_parent_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "rtl_out" / "a", KIND):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept").mkdir()
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "kept" / "a", KIND):
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), KeyboardInterrupt()])
def test_a_failure_in_mid_swap_puts_the_earlier_build_back(
    earlier: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before = contents(earlier.parent)
    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if Path(source).suffix == ".new":
            raise error
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    expected = OptionError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected), replacing(earlier, KIND):
        pass
    assert contents(earlier.parent) == before


def test_a_folder_of_other_files_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with (
        pytest.raises(OptionError, match="must be new or an earlier build, not another folder"),
        replacing(tmp_path / "thesis", KIND),
    ):
        pass
    assert contents(tmp_path) == {"thesis/chapter.tex": b"years of work"}


@pytest.mark.parametrize("name", [".", ".."])
def test_the_current_folder_stays(
    earlier: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (earlier / "inside").mkdir()
    monkeypatch.chdir(earlier if name == "." else earlier / "inside")
    with (
        pytest.raises(OptionError, match="must not be the current folder or hold it"),
        replacing(Path(name), KIND),
    ):
        pass


def test_a_link_stays_and_its_folder_is_replaced(earlier: Path) -> None:
    link = earlier.parent / "link"
    link.symlink_to(earlier)
    with replacing(link, KIND) as folder:
        write_files(folder, {"new.txt": "new\n"})
    assert link.is_symlink()
    assert sorted(p.name for p in earlier.parent.iterdir()) == ["design", "link"]
    assert (earlier / "new.txt").exists()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "design").write_text("")
    message = re.escape(f"output {tmp_path / 'design'} must be a folder, not a file; choose")
    with pytest.raises(OptionError, match=message), replacing(tmp_path / "design", KIND):
        pass


@pytest.mark.parametrize("name", ["file/design", "a" * 300])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OptionError, match=r"can't be written \(.+\); choose another with --out"),
        replacing(tmp_path / name, KIND),
    ):
        pass
    assert contents(tmp_path) == {"file": b""}


def test_files_are_written_as_they_are(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "läuft\r\n\n"})
    assert (tmp_path / "a.txt").read_bytes() == "läuft\r\n\n".encode()
    write_files(tmp_path, {"b/c": "in a folder"})
    assert (tmp_path / "b" / "c").read_text() == "in a folder"
    with pytest.raises(
        OptionError, match=r"file a.txt/c can't be written to .* \((Not a dir|File ex)"
    ):
        write_files(tmp_path, {"a.txt/c": ""})


def test_a_failure_to_put_a_new_folder_in_place_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no earlier build to put back."""
    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if Path(target) == tmp_path / "design":
            raise PermissionError(13, "Permission denied")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    message = r"design can't be replaced \(Permission denied\)$"
    with pytest.raises(OptionError, match=message), replacing(tmp_path / "design", KIND) as new:
        write_files(new, {MARKER: ""})
    assert contents(tmp_path) == {}


def test_a_file_is_written_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("page.html")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "page.html").read_text() == "new"
