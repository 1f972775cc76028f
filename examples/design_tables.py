"""From five public tables as they are to checked Verilog, one command each, and what came of it.

    python examples/design_tables.py --data FOLDER [NAME ...] [-- OPTIONS OF DESIGN]

FOLDER has the tables (environment variable SCM_DATA). Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """A table, what it is about, and the words after `design TABLE`; `{data}` is the folder."""

    title: str
    table: str
    words: tuple[str, ...]

    def command(self, data: Path, out: Path, more: list[str]) -> list[str]:
        places = ["--model", str(out / "model.npz"), "--out", str(out / "build")]
        words = [word.format(data=data) for word in self.words]
        table = str(data / self.table)
        return [sys.executable, "-m", "scm_hw", "design", table, *words, *more, *places, "--json"]


CASES = {
    "abalone": Case("age of abalone", "abalone.csv", ("--target", "rings")),
    "steel": Case("faults of steel plates", "steel_plates_faults.csv", ("--target", "Fault")),
    "eastman": Case(
        "faults of a chemical plant, test runs in a file",
        "tennessee_eastman_train.csv.gz",
        ("--target", "state", "--drop", "run,sample")
        + ("--test", "{data}/tennessee_eastman_test.csv.gz"),
    ),
    "turbine": Case(
        "emissions of a gas turbine, 2014 and 2015 held out",
        "gas_turbine.csv.gz",
        ("--target", "CO,NOX", "--split", "groups:year", "--test-groups", "2014,2015"),
    ),
    "debutanizer": Case(
        "butane of a column, the last quarter held out",
        "debutanizer.csv",
        ("--target", "butane", "--split", "chronological"),
    ),
}
HEAD = ("Table", "Rows", "Tested on", "On the test rows", "LUT", "FF", "DSP", "Latency")
HEAD += ("Checked", "Time", "Processor time")


def main() -> int:
    args = arguments()
    rows, failed = [], 0
    for name in args.names or CASES:
        case, out = CASES[name], args.out / name
        out.mkdir(parents=True, exist_ok=True)
        words = case.command(args.data, out, args.more)
        print(f"$ {' '.join(['python', *words[1:-1]])}", file=sys.stderr, flush=True)
        start, busy = time.monotonic(), processor_seconds()
        run = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        seconds = (time.monotonic() - start, processor_seconds() - busy)
        failed += run.returncode != 0
        if run.returncode == 0:
            rows.append(row(case, json.loads(run.stdout), seconds))
    print(markdown(rows))
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    words = sys.argv[1:]
    more = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    # An empty list is a choice of none of them, which argparse would refuse.
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)} (all)")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("SCM_DATA", ".")), metavar="FOLDER"
    )
    parser.add_argument("--out", type=Path, default=Path("design_out"), metavar="FOLDER")
    args = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    unknown = set(args.names) - set(CASES)
    if unknown:
        parser.error(f"NAME must be one of {', '.join(CASES)}, not {', '.join(sorted(unknown))}")
    args.more = more
    return args


def processor_seconds() -> float:
    """Of all processes that have ended: other users of the machine don't count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row(case: Case, found: dict[str, Any], seconds: Iterable[float]) -> list[str]:
    built, report = found["built"], found["report"]
    cycles = built["latency_cycles"]
    about = report["model"]["data"]
    checks = report["bit_exact"].values()
    vectors = max((one["vectors"] for one in checks), default=0)
    wrong = sum(one["mismatches"] for one in checks)
    return [
        case.title,
        f"{about['train_rows'] + about['test_rows']:,}",
        f"{about['test_rows']:,}",
        error(report),
        f"{built['lut']:,}",
        f"{built['ff']:,}",
        f"{built['dsp']:,}",
        f"{cycles} cycle{'s' if cycles > 1 else ''}, {built['latency_ns']:g} ns",
        f"{vectors:,} vectors, {wrong} mismatches",
        *(f"{one:.0f} s" for one in seconds),
    ]


def error(report: dict[str, Any]) -> str:
    """What the hardware is worth on the test rows."""
    if "accuracy_hw" in report:
        return f"accuracy {report['accuracy_hw']:.2%}"
    return "; ".join(
        f"{name} RMSE {one['hw']:.4g}, R² {one['r2_hw']:.3f}"
        for name, one in report["rmse_units"].items()
    )


def markdown(rows: list[list[str]]) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
