"""The rooms of the trainer: each imports only from itself and from those before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hw.test_imports import MODULES, imported

# In the order of their imports. A module beside the rooms is a room of its own.
ROOMS = (
    "errors",
    "activations",
    "algorithms",
    "chunks",
    "progress",
    "history",
    "output_files",
    "model_file",
    "onnx_export",
    "mechanisms",
    "data",
    "datasets",
    "encode",
    # Linear part and readout come before the search, which judges candidates by the readout.
    "solve",
    "search",
    "growth",
    "families",
    "training",
    "evaluation",
    "cluster",
    "estimator_rows",
    "learner",
    "estimators",
    "skl2onnx_converters",
    "pipelines",
    "sequences",
    # The names that `import scm_train` offers.
    "scm_train",
    "cli",
    "__main__",
)
TRAINER = sorted(name for name in MODULES if name.split(".")[0] == "scm_train")


def room(module: str) -> str:
    """The room of a module of scm_train."""
    own = module.split(".")[1:2] or ["scm_train"]
    assert own[0] in ROOMS, f"{module} belongs to no room; add it to ROOMS"
    return own[0]


def later_imports(path: Path, own: str) -> list[str]:
    """What a file of the room ``own`` imports from later rooms."""
    ours = [name for name in imported(path, set(MODULES)) if name.split(".")[0] == "scm_train"]
    return [name for name in ours if ROOMS.index(room(name)) > ROOMS.index(own)]


@pytest.mark.parametrize("module", TRAINER)
def test_a_room_imports_only_earlier_ones(module: str) -> None:
    assert not later_imports(MODULES[module], room(module))


def test_every_room_is_there() -> None:
    assert {room(module) for module in TRAINER} == set(ROOMS)


@pytest.mark.parametrize(
    "line",
    [
        "from scm_train.growth import engine",
        "from scm_train.growth.engine import train",
        "import scm_train.growth.engine",
    ],
)
def test_a_wrong_import_is_seen(tmp_path: Path, line: str) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(f"from scm_train.solve.linear import fit_linear\n\ndef f():\n    {line}\n")
    assert later_imports(planted, "search") == ["scm_train.growth.engine"]
    assert not later_imports(planted, "growth")


def test_no_module_is_underscored() -> None:
    # What is private to the package is said by its room, not by its name.
    assert not [n for n in TRAINER if n.rpartition(".")[2].startswith("_") and "__" not in n]
