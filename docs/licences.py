"""Writes docs/licences.md: the licence of every locked package, by the packages' own metadata.

Run it as `make licences`, in an environment that has all of requirements.lock.
"""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = HERE.parent / "requirements.lock"

HEADER = """\
# Licences

The project is under the BSD 2-Clause licence. It contains nothing of the packages below; they
are installed beside it, in the versions of `requirements.lock`. `make licences` writes this page
from their metadata. Icarus Verilog, from the system's packages, is under GPL-2.0-or-later.

| package | version | licence |
|---|---|---|
"""

# Read in the licence files of packages whose metadata don't name it.
READ = {"amaranth-boards": "BSD-2-Clause", "cocotb-bus": "BSD-3-Clause"}


def locked() -> dict[str, str]:
    """Versions by name."""
    text = LOCK.read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.M))


def licence(name: str) -> str:
    """What a package says of itself: an expression, else classifiers, else the first line."""
    if name in READ:
        return READ[name]
    meta = importlib.metadata.metadata(name)
    if expression := meta.get("License-Expression"):
        return str(expression)
    kinds = [
        kind.rpartition(" :: ")[2]
        for kind in meta.get_all("Classifier", [])
        if kind.startswith("License :: ") and kind != "License :: OSI Approved"
    ]
    plain = (meta.get("License") or "").strip().split("\n")[0]
    return " and ".join(kinds) or plain or "not said"


def page() -> str:
    rows = [f"| {name} | {version} | {licence(name)} |\n" for name, version in locked().items()]
    return HEADER + "".join(rows)


if __name__ == "__main__":
    (HERE / "licences.md").write_text(page(), encoding="utf-8")
