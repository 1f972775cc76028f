"""The wheel, installed apart from the tree: complete, and with no import names but its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.hw.commands import contents, small_model
from tests.support import REPOSITORY

PACKAGES = ("scm_model", "scm_hw", "scm_train", "scm_explore", "boards", "sim")
SOURCES = ("pyproject.toml", "README.md", "LICENSE", *PACKAGES)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("wheel"))


def make_wheel(folder: Path) -> Path:
    """A wheel of a copy of the tree, since building one leaves files beside the sources."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in SOURCES:
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source / name)
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    argv += ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(argv, check=True, timeout=300)
    (found,) = folder.glob("*.whl")
    return found


@pytest.mark.long
def test_a_wheel_of_one_source_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = (make_wheel(tmp_path / name).read_bytes() for name in ("here", "there"))
    assert first == second


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with the wheel in it.

    Its dependencies are those of this environment, by a path file: the tree's own packages, which
    are found there by an import hook, are not found through one.
    """
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    argv = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*argv, "--disable-pip-version-check", str(wheel)], check=True, timeout=300)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def run_there(
    installed: Path, *arguments: str | Path, cwd: Path
) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    argv = [str(argument) for argument in arguments]
    return subprocess.run(
        [str(installed / argv[0]), *argv[1:]],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_wheel_holds_every_file_and_nothing_else(wheel: Path) -> None:
    expected = set()
    for name in PACKAGES:
        inside = name if name.startswith("scm_") else f"scm_hw/{name}"
        for path in (REPOSITORY / name).rglob("*"):
            own = path.suffix in (".py", ".md", ".typed") or path.name == "Makefile"
            if own or path.parent.name == "templates":
                expected.add(f"{inside}/{path.relative_to(REPOSITORY / name)}")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected


def test_only_our_own_names_can_be_imported(installed: Path, tmp_path: Path) -> None:
    program = (
        "import importlib.util as u, json, scm_hw.boards, scm_hw.sim, scm_train\n"
        "found = [m.__file__ for m in (scm_hw, scm_hw.boards, scm_hw.sim, scm_train)]\n"
        "print(json.dumps([found, [bool(u.find_spec(n)) for n in ('boards', 'sim', 'tests')]]))"
    )
    done = run_there(installed, "python", "-c", program, cwd=tmp_path)
    files, others = json.loads(done.stdout)
    assert all(Path(file).is_relative_to(installed.parent) for file in files)
    assert others == [False, False, False]


def test_it_builds_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    empty = tmp_path / "empty"
    empty.mkdir()
    arguments = ["build", model, "--no-synth", "--sim", "icarus", "--name", "demo"]
    done = run_there(installed, "python", "-m", "scm_hw", *arguments, cwd=empty)
    assert (done.returncode, done.stderr) == (0, "")
    assert {name.split("/")[:2][1] for name in contents(empty)} == {"demo"}
    report = json.loads((empty / "rtl_out" / "demo" / "report.json").read_text())
    assert report["bit_exact"]["icarus"]["mismatches"] == 0


def test_its_commands_are_on_the_path(installed: Path, tmp_path: Path) -> None:
    done = run_there(installed, "scm-hw", "boards", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["name"] == "arty-a7"
    assert run_there(installed, "scm-train", "--help", cwd=tmp_path).returncode == 0
    assert run_there(installed, "scm-hw", "explore", "--help", cwd=tmp_path).returncode == 0
