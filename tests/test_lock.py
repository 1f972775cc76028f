"""The lock file: every direct dependency is in it, in its range, hashed, and with its licence."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import REPOSITORY


def locked() -> dict[str, tuple[str, int]]:
    """Version and number of hashes by name."""
    text = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    entries = re.findall(r"^([\w.-]+)==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})*)$", text, re.M)
    assert len(entries) == text.count("==")
    return {canonicalize_name(n): (version, h.count("sha256")) for n, version, h in entries}


def test_every_direct_dependency_is_locked_in_its_range() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    found = locked()
    for text in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        wanted = Requirement(text)
        name = canonicalize_name(wanted.name)
        if name == "scm-hw":
            continue
        assert name in found, f"{name} is not locked; run pip-compile again"
        assert wanted.specifier.contains(found[name][0]), f"{name} is locked out of its range"


def test_all_that_is_locked_is_hashed() -> None:
    assert [name for name, (_, hashes) in locked().items() if not hashes] == []


def test_the_licence_of_all_that_is_locked_is_listed() -> None:
    text = (REPOSITORY / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.+) \|$", text, re.M)
    listed = {canonicalize_name(name): version for name, version, _ in rows if name != "package"}
    assert listed == {name: version for name, (version, _) in locked().items()}
    assert [name for name, _, licence in rows if licence == "not said"] == []
