"""All benchmarks, one after the other, with a manifest of what they ran on: `make bench`.

    python -m bench.everything [--quick] [--only NAME ...] [--list]

A step that is done on the same sources and packages is not repeated. One that was stopped begins
again, and does only what its own journal does not have yet. `manifest.json` beside the results has
the digest of the sources, the versions of all packages, and the time of each step. `--quick` takes
the short form of the steps that have one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "bench" / "results"
SOURCES = ("scm_model", "scm_train", "scm_hw", "scm_explore", "boards", "sim", "bench")


@dataclass(frozen=True)
class Step:
    """A benchmark: the arguments of `python` for it, and for its short form, if it has one."""

    name: str
    full: tuple[str, ...]
    quick: tuple[str, ...] | None = None

    def command(self, quick: bool) -> list[str] | None:
        arguments = self.quick if quick else self.full
        return None if arguments is None else [sys.executable, *arguments]


def _module(name: str, *arguments: str, short: bool = False, json_file: bool = True) -> Step:
    """A module of `bench`, whose figures go to results/NAME.json."""
    full = ["-m", f"bench.{name}", *arguments]
    quick = [*full, "--quick"]
    if json_file:
        full += ["--json", str(RESULTS / f"{name}.json")]
        quick += ["--json", str(RESULTS / f"{name}_quick.json")]
    return Step(name, tuple(full), tuple(quick) if short else None)


# The short ones first: whoever stops early has most of them.
STEPS = (
    _module("sharing"),
    _module("hardware", short=True),
    _module("sizes"),
    _module("folding", short=True),
    _module("dynamic", json_file=False),
    _module("promises", json_file=False),
    _module("novelty", json_file=False),
    _module("living", "--board", short=True),
    _module("train", short=True),
    _module("estimates"),
    _module("paper", short=True, json_file=False),
    _module("frontier", short=True, json_file=False),
)


def main(argv: Sequence[str] | None = None, steps: Sequence[Step] = STEPS) -> int:
    """The exit code: 1 where a step failed."""
    options = _options(argv, [step.name for step in steps])
    chosen = [step for step in steps if not options.only or step.name in options.only]
    if options.list:
        print("\n".join(shlex.join(step.command(options.quick) or ["-"]) for step in chosen))
        return 0
    manifest = Manifest(options.manifest)
    failed = [step.name for step in chosen if not _run(step, options.quick, manifest)]
    if failed:
        print(f"bench: failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def _options(argv: Sequence[str] | None, names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.everything", description="all benchmarks")
    parser.add_argument("--quick", action="store_true", help="the short forms alone")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", default=[])
    parser.add_argument("--list", action="store_true", help="show the commands, run nothing")
    parser.add_argument("--manifest", type=Path, default=RESULTS / "manifest.json")
    return parser.parse_args(argv)


def _run(step: Step, quick: bool, manifest: Manifest) -> bool:
    """Whether the step is done, now or before."""
    command = step.command(quick)
    if command is None:
        return True
    name = f"{step.name} --quick" if quick else step.name
    if manifest.has(name):
        print(f"bench: {name} is done")
        return True
    print(f"bench: {name}", flush=True)
    began = time.monotonic()
    code = subprocess.run(command, cwd=REPOSITORY).returncode
    manifest.add(name, code, time.monotonic() - began)
    return code == 0


class Manifest:
    """What was run, on which sources and packages; written anew after every step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ground = ground()
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.steps: dict[str, dict[str, Any]] = kept.get("steps", {})

    def has(self, name: str) -> bool:
        """Whether a step is done on what is there now."""
        known = self.steps.get(name, {})
        return known.get("exit") == 0 and known.get("ground") == self.ground["digest"]

    def add(self, name: str, code: int, seconds: float) -> None:
        digest = self.ground["digest"]
        self.steps[name] = {"exit": code, "seconds": round(seconds, 1), "ground": digest}
        text = json.dumps(self.ground | {"steps": self.steps}, indent=2, sort_keys=True)
        whole = self.path.with_suffix(".tmp")
        whole.write_text(text + "\n", encoding="utf-8")
        # A run that is stopped here leaves the manifest of before.
        os.replace(whole, self.path)


def ground() -> dict[str, Any]:
    """Sources, packages and machine, and one digest of the first two."""
    packages = {one.name: one.version for one in metadata.distributions()}
    facts = {"sources": source_digest(), "packages": dict(sorted(packages.items()))}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    machine = {"python": platform.python_version(), "system": platform.platform()}
    return facts | {"digest": digest, "machine": machine | {"cores": os.cpu_count()}}


def source_digest() -> str:
    """Of every module of the packages, by name and content."""
    found = hashlib.sha256()
    for path in sorted(p for folder in SOURCES for p in (REPOSITORY / folder).rglob("*.py")):
        name = path.relative_to(REPOSITORY).as_posix()
        found.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
