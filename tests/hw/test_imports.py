"""Who imports whom: trainer and compiler apart, and stages that only look back."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import scm_train
from tests.support import REPOSITORY

# Where each package of the tree is imported from.
ROOTS = {
    "scm_model": REPOSITORY / "scm_model",
    "scm_hw": REPOSITORY / "scm_hw",
    "scm_hw.boards": REPOSITORY / "boards",
    "scm_hw.sim": REPOSITORY / "sim",
    "scm_train": REPOSITORY / "scm_train",
    "scm_explore": REPOSITORY / "scm_explore",
}
# The stages of the compiler. Each imports only from itself and from those before it.
STAGES = (
    "errors",
    "common",
    "ir",
    "load",
    "target",
    "tools",
    "passes",
    "schedule",
    "fold",
    "rtl",
    # Boards play vectors on the board; simulators play them in a process.
    "sim",
    "boards",
    "design",
    "component",
    "emit",
    "verify",
    "report",
    "build",
    "software",
    "host",
    "cli",
    "__main__",
)


def modules() -> dict[str, Path]:
    """Every module of both packages, by the name that it is imported under."""
    found = {}
    for package, folder in ROOTS.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join([package, *parts])
            found[name.removesuffix(".__init__")] = path
    return found


def imported(path: Path, known: set[str]) -> Iterator[str]:
    """What a file imports of ours, in functions too; of `from a import b` the module, if b is."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else str(node.module) for name in inner)


def stage(module: str) -> str:
    """The folder of scm_hw that a module is in, or the module where it is in none."""
    found = module.split(".")[1]
    assert found in STAGES, f"{module} belongs to no stage; add it to STAGES"
    return found


def later_imports(module: str, path: Path) -> list[str]:
    """What a module imports from later stages, or past the names that are installed."""
    own = STAGES.index(stage(module))
    wrong = []
    for name in imported(path, set(MODULES)):
        package = name.split(".")[0]
        later = package == "scm_hw" and name != "scm_hw" and STAGES.index(stage(name)) > own
        if later or package in ("boards", "sim"):
            wrong.append(name)
    return wrong


MODULES = modules()
COMPILER = sorted(name for name in MODULES if name.startswith("scm_hw."))


def test_the_scan_sees_the_tree() -> None:
    assert {
        "scm_hw.cli.commands",
        "scm_hw.boards.top",
        "scm_hw.sim.runner",
        "scm_hw.ir",
    } <= MODULES.keys()
    assert {"scm_train.growth.engine", "scm_explore.run"} <= MODULES.keys()
    known = set(MODULES)
    assert "scm_hw.boards" in imported(MODULES["scm_hw.cli.commands"], known)
    assert "scm_hw.cli.commands" in imported(MODULES["scm_hw.__main__"], known)


@pytest.mark.parametrize(("package", "other"), [("scm_hw", "scm_train"), ("scm_train", "scm_hw")])
def test_trainer_and_compiler_share_only_the_model(package: str, other: str) -> None:
    known = set(MODULES)
    foreign = {"scm_explore", other} | ({"boards", "sim"} if package == "scm_train" else set())
    for module, path in MODULES.items():
        if module.split(".")[0] == package:
            roots = {name.split(".")[0] for name in imported(path, known)}
            assert not roots & foreign, module


# What reads tables of data may be slow and large, and the model is without it.
TABLES = "scm_model.tables"
READERS = {"numba", "openpyxl", "pyarrow"}


def foreign_to_the_model(path: Path, tables: bool = False) -> set[str]:
    """What `scm_model` may not import: anything but itself, NumPy and the standard library."""
    allowed = {"scm_model", "numpy"} | set(sys.stdlib_module_names) | (READERS if tables else set())
    return {
        name
        for name in imported(path, set(MODULES))
        if name.split(".")[0] not in allowed or (name.startswith(TABLES) and not tables)
    }


def test_the_model_imports_numpy_alone() -> None:
    own = {name: path for name, path in MODULES.items() if name.split(".")[0] == "scm_model"}
    assert len(own) > 5 and TABLES in own
    for name, path in own.items():
        assert not foreign_to_the_model(path, name.startswith(TABLES)), path


@pytest.mark.parametrize(
    "name", ["scm_hw.errors", "scm_train.encode.encoders", "scipy.special", "scm_model.tables.scan"]
)
def test_a_wrong_import_of_the_model_is_seen(tmp_path: Path, name: str) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(f"import os\nimport numpy as np\n\ndef f():\n    import {name}\n")
    assert foreign_to_the_model(planted) == {name}
    assert foreign_to_the_model(planted, tables=True) == ({name} - {"scm_model.tables.scan"})


def test_only_explore_uses_both() -> None:
    known = set(MODULES)
    used = {
        name.split(".")[0]
        for module, path in MODULES.items()
        if module.split(".")[0] == "scm_explore"
        for name in imported(path, known)
    }
    assert {"scm_hw", "scm_train"} <= used
    assert not used & {"boards", "sim"}


SLOW = {
    "import scm_hw.cli.commands as c; c.build_parser()": ("sklearn", "numba", "cocotb", "scipy"),
    "from scm_train.__main__ import main; main(['datasets', '--json'])": ("sklearn", "numba"),
}


@pytest.mark.parametrize("program", SLOW)
def test_what_is_slow_to_import_waits_until_it_is_needed(program: str) -> None:
    program = f"{program}; import sys; print(*(m for m in {SLOW[program]} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("", "")


def test_the_trainers_names_are_there_when_asked_for() -> None:
    assert set(dir(scm_train)) == set(scm_train.__all__)
    assert all(hasattr(scm_train, name) for name in scm_train.__all__)
    with pytest.raises(AttributeError, match="'scm_train' has no attribute 'SCMRegresor'"):
        scm_train.SCMRegresor  # noqa: B018


@pytest.mark.parametrize("module", COMPILER)
def test_a_stage_imports_only_earlier_ones(module: str) -> None:
    assert later_imports(module, MODULES[module]) == []


@pytest.mark.parametrize(
    ("module", "line", "name"),
    [
        ("scm_hw.passes.simplify", "from scm_hw.schedule.costs import Cost", "schedule.costs"),
        ("scm_hw.ir.ranges", "import scm_hw.load", "load"),
        ("scm_hw.design", "from scm_hw import emit", "emit"),
        ("scm_hw.design", "from scm_hw.verify.check import simulate", "verify.check"),
        ("scm_hw.boards.top", "from scm_hw.build import build", "build"),
    ],
)
def test_a_wrong_import_of_a_stage_is_seen(
    tmp_path: Path, module: str, line: str, name: str
) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(f"{MODULES[module].read_text()}\n\ndef planted():\n    {line}\n")
    assert later_imports(module, planted) == [f"scm_hw.{name}"]


def test_boards_and_simulation_are_imported_by_their_installed_names(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("import sim.runner\nfrom boards import top\n")
    assert later_imports("scm_hw.build", planted) == ["sim.runner", "boards"]


def test_the_compiler_needs_neither_what_it_emits_nor_simulators() -> None:
    program = "import scm_hw.design, sys; print(*(m for m in sys.modules if m[:7] == 'scm_hw.'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    found = {stage(name) for name in done.stdout.split()}
    assert "design" in found
    assert not found & {"sim", "emit", "verify", "report", "host", "cli"}, done.stdout


def test_no_stage_is_listed_that_is_not_there() -> None:
    assert {stage(module) for module in COMPILER} == set(STAGES)


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = set()
    for package, folder in ROOTS.items():
        for path in folder.rglob("__init__.py"):
            found.add(".".join([package, *path.parent.relative_to(folder).parts]))
    assert found == set(settings["packages"])
