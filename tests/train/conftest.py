"""A folder and a mechanism for the tests of the command line."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The test stands in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


MECHANISM = "def pull(X):\n    return X[:, 0] ** 2 + X[:, 1]\nfactor = 3\n"


@pytest.fixture
def physics(folder, monkeypatch):
    (folder / "physics.py").write_text(MECHANISM)
    monkeypatch.delitem(sys.modules, "physics", raising=False)
    monkeypatch.syspath_prepend(str(folder))
