"""Commands that can not be carried out, and the line that each must end with."""

from __future__ import annotations

from typing import NamedTuple

QUICK = ("--no-sim", "--no-synth")


class Case(NamedTuple):
    """A command, what it must end with, and the pattern of its only line."""

    arguments: tuple[str, ...]
    message: str
    code: int = 2
    path: str | None = None


def build_case(*arguments: str, message: str, model: str = "good.npz") -> Case:
    return Case(("build", model, *QUICK, *arguments), message)


BAD = {
    "no command": Case((), "the following arguments are required: COMMAND; see .* --help"),
    "unknown command": Case(("make",), "argument COMMAND: invalid choice: 'make'.*; see .* --help"),
    "unknown option": build_case("--xyz", message="unrecognized arguments: --xyz; see .*--help"),
    "unknown board": build_case(
        "--board",
        "arty-a8",
        message="board must be one of arty-a7, .*, not 'arty-a8'; did you mean 'arty-a7'?",
    ),
    "foreign board": build_case(
        "--board", "max10", message="board must be .*not 'max10'; or name a part with --part"
    ),
    "board and part": build_case(
        "--board",
        "arty-a7",
        "--part",
        "xc7a100tcsg324-1",
        message="board and part must not both be given; a board has its part",
    ),
    "bad part": build_case(
        "--part", "xc7a99t", message="part must be a 7-series device .*, not 'xc7a99t'; did you"
    ),
    "part without package": build_case(
        "--part", "xc7a35t", message="part must be .*give 'xc7a35t' a package and a speed grade"
    ),
    "below a file": build_case(
        "--out",
        "file/design",
        message=r"output file/design can't be written \(Not a directory\); choose another with",
    ),
    "output is a file": build_case(
        "--out",
        "file",
        message="output file must be a folder, not a file; choose another with --out",
    ),
    "output is the current folder": build_case(
        "--out",
        ".",
        message=r"output \. must not hold the input good\.npz; choose another with --out",
    ),
    "output holds other files": build_case(
        "--out",
        "other",
        message="output other must be new or an earlier build, not another folder; .* with --force",
    ),
    "bad name": build_case("--name", "a/b", message="name must be letters, .*, not 'a/b'"),
    "long name": build_case(
        "--name", "a" * 300, message=r"output .* can't be written \(File name too long\)"
    ),
    "no frac bits": build_case(
        "--frac-bits", "0", message=r"frac bits must be in \[1, 28\], not 0"
    ),
    "too many frac bits": build_case("--frac-bits", "60", message="frac bits must be in .*not 60"),
    "frac bits in words": build_case(
        "--frac-bits", "few", message="argument --frac-bits: invalid int value: 'few'"
    ),
    "no tolerance": build_case(
        "--tolerance", "0", message="tolerance must be above 0 and below 1, not 0.0"
    ),
    "nan tolerance": build_case("--tolerance", "nan", message="tolerance must be .*, not nan"),
    "slow clock": build_case("--clock", "0", message=r"clock must be in \[1, 600\] MHz, not 0"),
    "nan clock": build_case("--clock", "nan", message="clock must be in .* MHz, not nan"),
    "fast clock": build_case("--clock", "599", message="clock must be .*not 599"),
    "unknown simulator": Case(
        ("build", "good.npz", "--sim", "icarus,xsim"),
        "simulator must be one of amaranth, icarus, verilator, not 'xsim'",
    ),
    "sim in an unknown simulator": Case(
        ("sim", "good.npz", "--simulator", "xsim"), "argument --simulator: invalid choice: 'xsim'"
    ),
    "work folder below a file": Case(
        ("sim", "good.npz", "--workdir", "file/work"),
        r"output file/work can't be written \(Not a directory\); choose another with --workdir",
    ),
    "unknown pass": Case(
        ("show", "good.npz", "--after", "magic"), "argument --after: invalid choice: 'magic'"
    ),
    "no data": build_case(
        "--data", "none.csv", message="can't read 'none.csv': there is no such file"
    ),
    "missing column": build_case(
        "--data", "no_target.csv", message="column 'y0' must be in no_target.csv; did you mean 'x0'"
    ),
    "text in data": build_case(
        "--data",
        "text.csv",
        message="column 'x1' must be finite numbers, not 'high' in line 3 of text.csv",
    ),
    "no model": build_case(model="none.npz", message="model file none.npz .*"),
    "model is a folder": build_case(model="other", message="model file other .*"),
    "truncated model": build_case(model="truncated.npz", message="model file truncated.npz .*"),
    "newer model": build_case(
        model="newer.npz",
        message="model file newer.npz: meta 'version' must be at most 4, not 5; inst",
    ),
    "text for a model": build_case(model="text.csv", message="model file text.csv .*"),
    "tanh model": build_case(model="tanh.npz", message="layer 1 .*tanh"),
    "small device": build_case(
        "--part",
        "xc7s6cpga196-1",
        "--fold",
        "none",
        model="large.npz",
        message=r"design must fit xc7s6 within 80%, not need [\d,]+ LUT of 3,750 \(\d+%\).*; take",
    ),
    "no icarus": Case(
        ("build", "good.npz", "--no-synth", "--sim", "icarus"),
        "can't run icarus: iverilog is not on the path; install the system package iverilog",
        1,
        path="other",
    ),
    "no compiler for verilator": Case(
        ("sim", "good.npz", "--simulator", "verilator", "--workdir", "work"),
        "can't run verilator: perl is not on the path; install the system package perl",
        1,
        path="other",
    ),
}
