"""Both programs and all their commands say which version they are."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from scm_hw.__main__ import main as hw
from scm_train.__main__ import main as train
from tests.test_json import ALL


@pytest.mark.parametrize("command", ["scm_hw", "scm_train", *ALL])
def test_every_command_has_a_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    package, *words = command.split()
    with pytest.raises(SystemExit) as left:
        {"scm_hw": hw, "scm_train": train}[package]([*words, "--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"scm-hw {version('scm-hw')}\n"
