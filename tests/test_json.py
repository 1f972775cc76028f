"""Every command of both packages can speak to programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from scm_hw.__main__ import main as hw
from scm_hw.cli.commands import build_parser as hw_parser
from scm_train.__main__ import main as train
from scm_train.cli.parser import build_parser as train_parser
from tests.hw.commands import small_model


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(found.choices)


ALL = {
    f"{package} {name}": parser
    for package, whole in (("scm_hw", hw_parser()), ("scm_train", train_parser()))
    for name, parser in commands(whole).items()
}


def test_the_commands_are_all_there() -> None:
    assert {"scm_hw build", "scm_hw explore", "scm_hw report", "scm_train plot"} <= ALL.keys()


@pytest.mark.parametrize("command", ALL)
def test_every_command_takes_json(command: str) -> None:
    assert "--json" in ALL[command].format_help()


def test_what_is_said_is_json(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(tmp_path / "m.npz")
    (tmp_path / "data.csv").write_text("x0,x1,y0\n" + "0.1,0.2,0.3\n" * 3)
    runs = [
        (hw, ["boards"]),
        (hw, ["show", "m.npz"]),
        (hw, ["build", "m.npz", "--no-sim", "--no-synth", "--explain", "--out", "b"]),
        (hw, ["report", "b"]),
        (hw, ["sim", "m.npz", "--simulator", "amaranth", "--workdir", "w"]),
        (train, ["info", "m.npz"]),
        (train, ["evaluate", "m.npz"]),
        (train, ["predict", "m.npz", "data.csv"]),
        (train, ["plot", "m.npz"]),
        (train, ["export", "m.npz"]),
        (train, ["datasets"]),
    ]
    found = {}
    for run, words in runs:
        assert run([*words, "--json"]) == 0
        streams = capsys.readouterr()
        # Standard error may have warnings, as of inputs beyond the training range, and no more.
        assert all(line.startswith("warning: ") for line in streams.err.splitlines())
        found[words[0]] = json.loads(streams.out)
    assert [op["ref"] for op in found["show"]["ops"]] == list(range(len(found["show"]["ops"])))
    assert found["show"]["ops"][found["show"]["inputs"][0]]["op"] == "Input"
    assert found["build"]["passes"][0]["name"] == "load"
    assert found["report"][0]["digest"] == found["build"]["digest"]
    assert found["sim"]["mismatches"] == 0
