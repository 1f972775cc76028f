"""What a user can decide about a design, and what follows from it for a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scm_hw.boards import Board
from scm_hw.errors import OptionError
from scm_hw.load import (
    DEFAULT_TOLERANCE,
)
from scm_hw.load.capacity import parse_room
from scm_hw.load.sections import MAX_MODELS
from scm_hw.load.siphash import LoadKey
from scm_hw.schedule import Ends
from scm_hw.target import GRADE_SCALE, TECHNOLOGIES, Technology
from scm_hw.target.resources import USABLE_SHARE
from scm_model import Model
from scm_model.adaptation import AdaptSettings

TOPS = ("uart", "self-test")
# What of a core can be loaded while it runs.
RELOADS = ("none", "readout", "all")
# Every USB serial chip and every listed board can do it.
DEFAULT_BAUD = 1_000_000


@dataclass(frozen=True)
class Options:
    """What a user can decide about a design."""

    tolerance: float = DEFAULT_TOLERANCE
    frac_bits: int | None = None
    output_bits: int | None = None
    clock_mhz: float | None = None
    pipeline: str = "balanced"
    latency: int | None = None
    fold: str = "auto"
    multipliers: str = "auto"
    tables: str = "auto"
    interface: str = "stream"
    tdata: int | None = None
    crossing: bool = False
    handshake: str = "global"
    input_register: bool = False
    top: str = "uart"
    baud: int = DEFAULT_BAUD
    input_format: tuple[str, ...] = ()
    output_units: bool = False
    toolchain: str = "auto"
    reload: str = "none"
    capacity: str | None = None
    flags: bool | None = None
    """None: as the model has them."""
    adapt: AdaptSettings | None = None
    banks: int = 1
    load_key: LoadKey | None = None

    def __post_init__(self) -> None:
        if self.reload != "none":
            _check_reload(self)
        if not 1 <= self.banks <= MAX_MODELS:
            raise OptionError(f"banks must be in [1, {MAX_MODELS}], not {self.banks}")
        if self.banks > 1 and self.reload == "none":
            raise OptionError(
                f"banks must be 1 for a core that holds one model, not {self.banks}; add --reload "
                "readout or all"
            )
        if self.load_key is not None and self.reload == "none":
            raise OptionError("load key must be for a core that is loaded; add --reload readout")
        if self.capacity is not None and self.reload != "all":
            raise OptionError("capacity must be given with --reload all, not without; add it")
        if self.adapt is not None:
            _check_adapt(self)
        for name, given in (("tdata", self.tdata is not None), ("crossing", self.crossing)):
            if given and self.interface != "axis":
                raise OptionError(
                    f"{name} must be of AXI4-Stream, not of --interface {self.interface}; "
                    "add --interface axis"
                )


def _check_reload(options: Options) -> None:
    """Refuse what a core that can be loaded doesn't go with."""
    if options.reload not in RELOADS:
        raise OptionError(f"reload must be one of {', '.join(RELOADS)}, not {options.reload!r}")
    rules = (
        ("handshake", ("global", "skid")),
        ("fold", ("auto", "none")),
        ("interface", ("stream", "axil", "wishbone")),
        ("top", ("uart",)),
    )
    _check_beside(options, f"--reload {options.reload}", rules)
    if options.reload == "all":
        _check_processor(options)


def _check_adapt(options: Options) -> None:
    """Refuse what a readout that learns doesn't go with."""
    rules = (
        ("reload", ("none",)),
        ("handshake", ("global", "skid")),
        ("fold", ("auto", "none")),
        ("interface", ("stream",)),
        ("top", ("uart",)),
    )
    _check_beside(options, "--adapt", rules)


def _check_beside(
    options: Options, flag: str, rules: Sequence[tuple[str, tuple[str, ...]]]
) -> None:
    for name, rule in rules:
        value = getattr(options, name)
        if value not in rule:
            raise OptionError(
                f"{name} must be {' or '.join(rule)} with {flag}, not {value}; change "
                f"it, or leave {flag.split()[0]} out"
            )


def _check_processor(options: Options) -> None:
    """Refuse what is decided for one model, where there are to be others."""
    for name, given in (
        ("latency", options.latency is not None),
        ("output bits", options.output_bits is not None),
        ("output units", options.output_units),
        ("input register", options.input_register),
        ("input format", bool(options.input_format)),
    ):
        if given:
            raise OptionError(
                f"{name} must be left out with --reload all, whose models differ in it; leave it "
                "out, or take --reload readout"
            )
    if options.capacity is not None:
        parse_room(options.capacity)


def with_flags(model: Model, options: Options) -> Model:
    """The model with the flags that are asked for: by default those that it has."""
    if options.flags and model.flags is None:
        raise OptionError(
            "flags must be calibrated in training; train with fit --flags 0.01, or a classifier "
            "with --unsure 0.05, or leave --flags out"
        )
    if options.flags is False:
        return replace(model, flags=None)
    if model.flags is not None and options.reload != "none":
        raise OptionError(
            f"reload must be none for a model with flags, not {options.reload}; leave the flags "
            "out with --no-flags"
        )
    if model.flags is not None and options.adapt is not None:
        raise OptionError(
            "adapt must be left out for a model with flags, which are calibrated for the readout "
            "of training; leave the flags out with --no-flags"
        )
    return model


def speed_grade(part: str) -> str:
    """The grade that decides delays: 1, 2 or 3, with L for the low voltage.

    Other letters of the name are for the temperature.
    """
    speed = part.rsplit("-", 1)[-1]
    low_power = speed[0] + "L"
    return low_power if "L" in speed and low_power in GRADE_SCALE else speed[0]


def delay_model(board: Board) -> str:
    """The name of the board's delay model: its own, or that of the speed grade."""
    return board.grade or speed_grade(board.part)


def ends_of(board: Board, options: Options) -> Ends:
    """What is around the core in this design, wrapper and board top alike."""
    return Ends(
        options.handshake,
        options.input_register,
        wrapper_arrival(options, TECHNOLOGIES[delay_model(board)], board.platform is not None),
    )


def wrapper_arrival(options: Options, tech: Technology, on_board: bool) -> float:
    """The time from a register around the core to its inputs, beyond a net, at scale 1.

    Behind AXI4-Stream it is the multiplexer that chooses between a sample that waits and the one
    on offer, which is not there where the core's ready is a register. A self-test plays its samples
    from memory. The other surroundings hold the sample in registers.
    """
    arrival = 0.0
    if options.interface == "axis" and options.handshake == "global":
        arrival = tech.level
    if options.top == "self-test" and on_board:
        # A register's own delay is counted already.
        arrival = max(arrival, tech.block_ram - tech.clock_to_out)
    return arrival


def usable_dsps(board: Board, options: Options) -> int:
    """How many DSP blocks constants may be multiplied in."""
    return 0 if options.multipliers == "lut" else int(USABLE_SHARE * board.room.dsp)
