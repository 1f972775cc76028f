"""A trained machine in front of a readout that learns."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value

from scm_hw.ir import Program
from scm_hw.load.adaptive import Adaptive
from scm_hw.rtl.adapt.learner import Controls, Learner
from scm_hw.rtl.adapt.timing import AdaptTiming
from scm_hw.rtl.core import ScmCore, register
from scm_hw.rtl.ports import fields
from scm_hw.schedule import Schedule


class AdaptCore(ScmCore):
    """A machine whose readout learns from targets that come with the samples.

    What it answers depends on the samples since `rst` and their order, and not on when they come:
    errors wait for the sample that is the first to see what was learned from them.

    Parameters
    ----------
    program : Program
        Scores and hidden bits, lowered.
    schedule : Schedule
        Of that program.
    found : Adaptive
        How its readout learns.
    timing : AdaptTiming
        The registers behind the hidden bits.

    Members
    -------
    in_data : the inputs of the machine, and behind them targets, age, learn, freeze and restart
    out_data : the answers, the mean of the absolute error, and the drift flag
    """

    def __init__(
        self, program: Program, schedule: Schedule, found: Adaptive, timing: AdaptTiming
    ) -> None:
        self.found, self.timing = found, timing
        widths = [reach.width for reach in found.outputs]
        behind = [reach.width for reach in found.controls]
        self._begin(program, schedule, widths, timing.ranks, behind=behind)

    def _pipeline(self, m: Module, taken: Value, advance: Signal | None) -> tuple[Value, Value]:
        valid, word = super()._pipeline(m, taken, advance)
        values = fields(word, [self.ranges[ref] for ref in self.program.outputs])
        more: Value = self.in_data[sum(reach.width for reach in self.found.samples) :]
        for rank in range(1, self.schedule.latency + 1):
            # The controls of a sample wait for its hidden bits.
            later = Signal(len(more), name=f"controls_{rank}", reset_less=True)
            register(m, later, more, advance)
            more = later
        outputs = self.found.adaptation.outputs
        learner = Learner(self.found, self.timing, m, advance)
        controls = Controls.of(self.found, more)
        return learner.answers(valid, values[:outputs], Cat(*values[outputs:]), controls)
