"""The core for designs in Amaranth: a component with streams of named fields."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from scm_hw import boards
from scm_hw.design import Design, Options, compile_model
from scm_hw.errors import OptionError
from scm_hw.ir import Range
from scm_hw.load import integers, read_model
from scm_hw.load.adaptive import DRIFT, ERROR, control_names, without_learning
from scm_hw.rtl.queue import Queued
from scm_hw.rtl.values import shape_of
from scm_model import Model
from scm_model.flags import MARGIN, flag_kinds, flag_names

# The only field of a classifier's result.
CLASS = "class"


class Core(wiring.Component):
    """A model as a pipeline between two streams.

    A sample is taken at each clock edge where `i.valid` and `i.ready` are both high, and its result
    is on `o` `latency` edges later, or as many more as `o.ready` kept it waiting. One sample can
    enter every `initiation_interval` edges. `i.payload` has a field for every feature, its code, as
    `encode` makes it; `o.payload` one for every target, or `class`, which `decode` reads.

    Parameters
    ----------
    model : path or Model
        A model file, or what was read of one.
    board : str
        Whose part and delays decide where registers go; see `python -m scm_hw boards`.
    clock_mhz : float, optional
        What it is to be clocked with; None: the board's own clock.
    **options
        Other fields of `scm_hw.design.Options`, such as `fold` or `pipeline`.

    Members
    -------
    i : In(stream.Signature(StructLayout))
    o : Out(stream.Signature(StructLayout))
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Model,
        *,
        board: str = "arty-a7",
        clock_mhz: float | None = None,
        **options: Any,
    ) -> None:
        self.model, self.board, self.clock_mhz, self.options = model, board, clock_mhz, options
        chosen = boards.get(board)
        self.design: Design = compile_model(
            model if isinstance(model, Model) else read_model(Path(model)),
            chosen if clock_mhz is None else chosen.at_clock(clock_mhz),
            Options(clock_mhz=clock_mhz, **options),
        )
        if self.design.reloads:
            raise OptionError(
                "reload must be none for a component, which has no pins to load it, not "
                f"{self.design.options.reload}; build it as Verilog"
            )
        self.latency = self.design.latency
        self.initiation_interval = self.design.initiation_interval
        given = self.design.model
        # Behind the features there are words only where the mechanism is external.
        words = [f"P0_{name}" for name in given.targets]
        flags: tuple[str, ...] = ()
        if self.design.adaptive is not None:
            most_age = self.design.adaptive.adaptation.most_age
            words = control_names(given.signals, given.targets, most_age)
            flags = (ERROR, DRIFT)
        self.inputs = _layout([*given.signals, *words], self.design.input_ranges)
        outputs = given.targets if given.classes is None else (CLASS,)
        self.flags = flag_names(self.design.hardware)
        self.outputs = _layout([*outputs, *self.flags, *flags], self.design.output_ranges)
        super().__init__(
            {"i": In(stream.Signature(self.inputs)), "o": Out(stream.Signature(self.outputs))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self.design.new_core()
        if not self.design.ports.ready:
            core = Queued(core, self.latency)
        m.submodules.core = core
        m.d.comb += [
            core.in_valid.eq(self.i.valid),
            core.in_data.eq(Cat(self.i.payload)),
            self.i.ready.eq(core.in_ready),
            self.o.valid.eq(core.out_valid),
            Cat(self.o.payload).eq(core.out_data),
            core.out_ready.eq(self.o.ready),
        ]
        return m

    def encode(self, row: Sequence[Any]) -> dict[str, int]:
        """A raw row as the fields of `i.payload`; P0 behind the features where it is external."""
        model = self.design.model
        count = len(model.signals)
        # Rows of columns may have labels.
        values = np.array([row], dtype=float if model.columns is None else object)
        given = values[:, count:].astype(float)
        mechanism = given if values.shape[1] > count else None
        found = integers(self.design.hardware, self.design.fixed, values[:, :count], mechanism)
        if self.design.adaptive is not None:
            found = without_learning(self.design.adaptive, found)
        return dict(zip(self.inputs.members, map(int, found[0]), strict=True))

    def decode(self, result: Any) -> dict[str, Any]:
        """The fields of `o.payload` in the units of the targets, or the label of the class."""
        grid = 2.0**self.design.fixed.grid_bits
        kinds = zip(self.flags, flag_kinds(self.design.hardware), strict=True)
        worth = {
            name: int(result[name]) / grid if kind == MARGIN else bool(result[name])
            for name, kind in kinds
        }
        targets = self.design.model.targets if self.design.model.classes is None else (CLASS,)
        names = list(self.outputs.members)[: len(targets)]
        fields = [int(result[name]) for name in names]
        if self.design.model.classes is not None:
            return {CLASS: self.design.model.classes[fields[0]]} | worth
        low, high = self.design.hardware.target_min, self.design.hardware.target_max
        values = np.asarray(fields) / grid * (high - low) + low
        return dict(zip(names, map(float, values), strict=True)) | worth


def _layout(names: Sequence[str], reaches: Sequence[Range]) -> data.StructLayout:
    """The first field in the lowest bits, as the core packs them."""
    shapes = map(shape_of, reaches)
    return data.StructLayout(dict(zip(names, shapes, strict=False)))
