"""Text of others on the terminal: shown, and never obeyed."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from scm_train.__main__ import main
from scm_train.cli.console import printable, printable_json, say
from tests.train.commands import FAST

HOSTILE = "a\x1b]0;owned\x07\x1b[31m\x9b2J\u202eb\u2028c\x7f"
CONTROLS = "\x1b\x07\x9b\u202e\u2028\x7f"


def test_controls_are_shown_as_escapes():
    assert printable("a\x1b[31m\nb\u202ec\x9b") == "a\\x1b[31m\\x0ab\\u202ec\\x9b"
    assert printable("Größe [µm], 温度") == "Größe [µm], 温度"


def test_json_keeps_its_value():
    document = json.dumps({HOSTILE: [HOSTILE]}, ensure_ascii=False, indent=2)
    safe = printable_json(document)
    assert json.loads(safe) == {HOSTILE: [HOSTILE]}
    assert not set(safe) & set(CONTROLS)


def test_a_terminal_of_another_encoding_gets_escapes():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    say("温度", file)
    file.flush()
    assert file.buffer.getvalue() == b"\\u6e29\\u5ea6\n"


@pytest.fixture
def hostile(folder):
    """Rows whose columns and labels would take the terminal over."""
    lines = [f"{i},{i * i % 17},{HOSTILE if i % 3 else 'plain'}" for i in range(40)]
    Path("rows.csv").write_text(f"x{HOSTILE},b,{HOSTILE}\n" + "\n".join(lines) + "\n")
    Path("flat.csv").write_text(f"x{HOSTILE},b,y\n" + "".join(f"3,{i},{i}\n" for i in range(40)))


@pytest.mark.usefixtures("hostile")
def test_no_command_sends_controls_to_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    fit = ["fit", "rows.csv", "--target", HOSTILE, *FAST, "--out", "m.npz"]
    flat = ["fit", "flat.csv", "--target", "y", *FAST, "--out", "f.npz"]
    wrong = ["fit", "flat.csv", "--target", HOSTILE, "--out", "n.npz"]
    commands = [fit, [*fit, "--json"], flat, [*flat, "--trials", "2"], wrong]
    commands += [["info", "m.npz"], ["info", "m.npz", "--json"]]
    commands += [["evaluate", "m.npz"], ["evaluate", "m.npz", "rows.csv", "--json"]]
    commands += [["predict", "m.npz", "rows.csv"], ["predict", "m.npz", "rows.csv", "--json"]]
    commands += [["predict", "m.npz", "flat.csv"], ["fit", HOSTILE], [HOSTILE]]
    for argv in commands:
        main(argv)
        captured = capsys.readouterr()
        assert captured.out + captured.err
        assert not set(captured.out + captured.err) & set(CONTROLS), argv


@pytest.mark.usefixtures("hostile")
def test_predictions_in_a_pipe_are_to_the_letter(capsys):
    main(["fit", "rows.csv", "--target", HOSTILE, *FAST, "-q", "--out", "m.npz"])
    assert main(["predict", "m.npz", "rows.csv"]) == 0
    assert HOSTILE in capsys.readouterr().out
