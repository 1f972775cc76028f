"""The emitted Verilog in Icarus and in Verilator, under cocotb."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scm_hw.common.progress import Listener, listener
from scm_hw.errors import ToolError
from scm_hw.sim.files import OUTCOMES, WAVES
from scm_hw.sim.scenario import NAMES, PROGRESS, STALLED_VECTORS, Outcome
from scm_hw.sim.vectors import Probe, Vectors
from scm_hw.tools import simulators
from scm_hw.tools.process import run_tool, telling_line
from scm_hw.verify.result import ProbeSource, SimResult, summarise


@dataclass(frozen=True)
class CocotbRun:
    """How a run of the simulator ended, and the records that the test bench left."""

    code: int
    records: list[dict[str, Any]]
    log: Path


def run_cocotb(
    simulator: str,
    verilog: Sequence[Path],
    top: str,
    vectors: Vectors,
    folder: Path,
    *,
    latency: int,
    seed: int,
    timeout: float,
    more: Sequence[str] = (),
) -> CocotbRun:
    """Compile and run one design under cocotb in `folder`; `more` are words for the runner."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors.save(folder / "vectors.txt")
    argv = [sys.executable, "-m", "scm_hw.sim.runner", "--simulator", simulator]
    argv += ["--verilog", *(str(path.resolve()) for path in verilog), "--top", top]
    argv += ["--vectors", "vectors.txt", "--workdir", ".", "--seed", str(seed)]
    argv += ["--latency", str(latency), *more]
    log = folder / f"{simulator}.log"
    # What an earlier run left would be taken for this one's.
    (folder / OUTCOMES).unlink(missing_ok=True)
    code = run_tool(
        argv, name=simulator, cwd=folder, log=log, timeout=timeout, on_line=_heard(listener())
    )
    return CocotbRun(code, _read(folder / OUTCOMES), log)


@dataclass(frozen=True)
class _Job:
    """One core in one simulator."""

    simulator: str
    verilog: tuple[Path, ...]
    top: str
    latency: int
    interval: int
    seed: int
    timeout: float
    ready: bool

    def run(
        self, vectors: Vectors, folder: Path, *, waves: bool, probes: Sequence[Probe] | None = None
    ) -> list[dict[str, Any]]:
        """Build and run in `folder`; the records that the test bench left."""
        more = ["--interval", str(self.interval), *(["--waves"] if waves else [])]
        more += [] if self.ready else ["--free-running"]
        if probes is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "probes.json").write_text(json.dumps([asdict(probe) for probe in probes]))
            more += ["--probes", "probes.json"]
        found = run_cocotb(
            self.simulator,
            self.verilog,
            self.top,
            vectors,
            folder,
            latency=self.latency,
            seed=self.seed,
            more=more,
            timeout=self.timeout,
        )
        # There is a record for each scenario: with fewer of them the simulator has broken off.
        if len(found.records) < (len(NAMES) if probes is None else 1):
            raise ToolError(
                f"can't simulate in {self.simulator}: it ended with code {found.code} "
                f"({telling_line(found.log)}); see {found.log}"
            )
        return found.records

    def waveform(self, folder: Path) -> Path:
        return folder / WAVES[self.simulator].format(top=self.top)


def _heard(advance: Listener) -> Callable[[str], None]:
    """What hears the lines of a simulator, in a thread of its own."""
    word = PROGRESS.split()[0]

    def line(text: str) -> None:
        match text.split():
            case [first, done, total] if first == word:
                advance(float(done), float(total))

    return line


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run_icarus(
    verilog: Path | Sequence[Path],
    vectors: Vectors,
    latency: int,
    interval: int = 1,
    *,
    workdir: Path,
    waves: bool = False,
    seed: int = 0,
    timeout: float = 1800.0,
    top: str = "scm_core",
    probes: ProbeSource | None = None,
    ready: bool = True,
) -> SimResult:
    """Every vector through the Verilog in Icarus: outputs, latency, interval, stalls and resets.

    A core that fails is run again, up to its first bad vector, for a waveform and, where `probes`
    are given, the first stage that differs. `ready` says whether it has a handshake. ToolError
    where Icarus is missing, fails or hangs.
    """
    sources = (verilog,) if isinstance(verilog, Path) else tuple(verilog)
    job = _Job("icarus", sources, top, latency, interval, seed, timeout, ready)
    return _run(job, vectors, workdir, waves, probes)


def run_verilator(
    verilog: Path | Sequence[Path],
    vectors: Vectors,
    latency: int,
    interval: int = 1,
    *,
    workdir: Path,
    waves: bool = False,
    seed: int = 0,
    timeout: float = 1200.0,
    top: str = "scm_core",
    probes: ProbeSource | None = None,
    ready: bool = True,
) -> SimResult:
    """As `run_icarus`, in Verilator."""
    sources = (verilog,) if isinstance(verilog, Path) else tuple(verilog)
    job = _Job("verilator", sources, top, latency, interval, seed, timeout, ready)
    return _run(job, vectors, workdir, waves, probes)


def _run(
    job: _Job, vectors: Vectors, workdir: Path, waves: bool, probes: ProbeSource | None
) -> SimResult:
    simulators.require(job.simulator)
    folder = workdir / job.simulator
    outcomes = [Outcome.from_json(entry) for entry in job.run(vectors, folder, waves=waves)]
    result = summarise(job.simulator, simulators.version(job.simulator), len(vectors), outcomes)
    if result.ok:
        return replace(result, waveform=job.waveform(folder) if waves else None)
    folder = workdir / f"{job.simulator}_failed"
    stage = None
    if outcomes[0].mismatches and result.first_mismatch is not None:
        stage = _locate(job, vectors, folder, result.first_mismatch.index, probes)
    else:
        # Wrong cycles, or wrong under stalls or resets only: those scenarios need few vectors.
        job.run(vectors.head(STALLED_VECTORS), folder, waves=True)
    return replace(result, stage=stage, waveform=job.waveform(folder))


def _locate(
    job: _Job, vectors: Vectors, folder: Path, index: int, probes: ProbeSource | None
) -> str | None:
    """Run again, no further than the first bad vector; the first stage that holds a wrong value."""
    wanted = probes(index) if probes is not None else ()
    return job.run(vectors.head(index + 1), folder, waves=True, probes=wanted)[0]["stage"]
