"""The pages in prose: their links lead somewhere, their code runs, their options exist."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from scm_hw.__main__ import main
from scm_hw.cli.commands import build_parser as hw_parser
from scm_hw.design import Options
from scm_hw.errors import ScmError
from scm_hw.ir.ops import Op
from scm_hw.load import read_model
from scm_hw.passes.order import PASSES
from scm_hw.verify.check import AMARANTH_VECTORS
from scm_train.cli.parser import build_parser as train_parser
from tests.hw.commands import small_model
from tests.support import REPOSITORY

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
NAMES = {"model-file.md", "integer-program.md", "hardware.md", "command-line.md"}


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def test_the_pages_are_there() -> None:
    assert {page.name for page in PAGES} >= NAMES | {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", page.read_text())
    for target in (one or other for one, other in targets):
        if not target.startswith(("http", "#")):
            assert (page.parent / target.split("#")[0]).exists(), target


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Every option of a parser and of its commands."""
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                found |= options(child)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_are_those_of_the_commands(page: Path) -> None:
    known = options(hw_parser()) | options(train_parser())
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text()))
    assert named <= known, named - known


def commands(parser: argparse.ArgumentParser) -> set[str]:
    return {
        name
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    }


def unknown_commands(text: str) -> list[str]:
    """Commands that a page names and the programs don't have."""
    known = {"hw": commands(hw_parser()), "train": commands(train_parser())}
    named = re.findall(r"(?:python -m scm_|\bscm-)(hw|train)[ ]+([a-z]+)", text)
    return [f"{program} {name}" for program, name in named if name not in known[program]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_there(page: Path) -> None:
    assert unknown_commands(page.read_text()) == []


def command_lines(text: str) -> list[list[str]]:
    """The words of every command in the text blocks of a page, without comments and shell."""
    # Every second piece between fences is a block, and begins with what it is written in.
    blocks = [
        block for block in re.split(r"^```", text, flags=re.MULTILINE)[1::2] if block[0] == "\n"
    ]
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    found = []
    for line in lines:
        words = shlex.split(line.removeprefix("$ "), comments=True) if "scm" in line else []
        words = ["scm-" + words[2][4:], *words[3:]] if words[1:2] == ["-m"] else words
        if words[:1] in (["scm-hw"], ["scm-train"]) and "..." not in words:
            # A command ends where the shell goes on.
            end = next((i for i, w in enumerate(words) if w in ("&", "&&", "|", ">")), len(words))
            found.append(words[:end])
    return found


def parse(words: list[str]) -> None:
    program, *rest = words
    {"scm-hw": hw_parser, "scm-train": train_parser}[program]().parse_args(rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_taken_as_they_are_written(page: Path) -> None:
    for words in command_lines(page.read_text()):
        parse(words)


def test_a_command_that_is_not_taken_is_found() -> None:
    text = "```\n$ python -m scm_hw build m.npz --fold \\\n  4x8 &  # a fold\nscm-hw build\n```\n"
    lines = command_lines(text)
    assert lines == [["scm-hw", "build", "m.npz", "--fold", "4x8"], ["scm-hw", "build"]]
    parse(lines[0])
    with pytest.raises(ScmError, match="model"):
        parse(lines[1])


def test_a_command_that_is_not_there_is_found() -> None:
    text = "`python -m scm_hw report` or\n    scm-hw compare rtl_out; scm-train fit"
    assert unknown_commands(text) == ["hw compare"]


def test_a_model_written_by_hand_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(tmp_path / "model.npz")
    for block in blocks(REPOSITORY / "docs" / "model-file.md", "python"):
        exec(block, {})
    assert read_model(tmp_path / "by_hand.npz").layers[0].nodes == 2
    assert main(["build", "by_hand.npz", "--no-sim", "--no-synth", "-q"]) == 0


def test_a_program_runs_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(tmp_path / "model.npz")
    found: dict[str, np.ndarray] = {}
    for block in blocks(REPOSITORY / "docs" / "integer-program.md", "python"):
        exec(block, found)
    assert found["y_norm"].shape == (10, 1)


@pytest.mark.parametrize("name", ["README.md", "docs/hardware.md", "docs/trust.md"])
def test_the_pages_say_how_many_vectors_amaranth_plays(name: str) -> None:
    words = " ".join((REPOSITORY / name).read_text().split())
    assert re.search(rf"\b{AMARANTH_VECTORS} of them (in|through) Amaranth's simulator", words)


def test_the_notebook_describes_the_default_top() -> None:
    text = (REPOSITORY / "examples" / "data_to_board.ipynb").read_text()
    assert Options().top == "uart"
    assert "The board top answers over the USB serial port" in text


def test_every_pass_is_seen_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks(REPOSITORY / "docs" / "reference" / "passes.md", r"{code-cell} python3"):
        exec(block, found)
    # `show` on the page fails where a pass changes nothing.
    shown = re.findall(r"=== (?:after )?(\w+)[:\n](?! .*\nunchanged)", capsys.readouterr().out)
    assert {one.name for one in PASSES} <= set(shown)


def test_every_operation_has_its_line() -> None:
    text = (REPOSITORY / "scm_hw" / "ir" / "program.md").read_text().split("## The literal")[0]
    names = " ".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE))
    operations = {re.sub(r"(?<!^)(?=[A-Z])", " ", op.__name__).lower() for op in get_args(Op)}
    assert set(re.findall(r"`([\w ]+)`", names)) == operations


def test_a_change_is_told_once() -> None:
    """The changelog merges by union, which may double its lines."""
    lines = (REPOSITORY / "CHANGELOG.md").read_text().splitlines()
    told = Counter(line for line in lines if line.startswith("- "))
    doubled = [line for line, count in told.items() if count > 1]
    assert doubled == []
