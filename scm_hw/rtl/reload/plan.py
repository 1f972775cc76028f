"""When a processor has its result, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scm_hw.load.capacity import Capacity
from scm_hw.load.sections import bank_field_bits
from scm_hw.load.steps import Image
from scm_hw.rtl.reload.timing import LOADER_FF, LOADER_LUTS
from scm_hw.schedule import Cost
from scm_hw.schedule.schedule import fastest_clock_mhz
from scm_hw.target import TECHNOLOGIES, Technology

# Ranks of registers behind the address of a step, until its product has been added up.
RANKS = 11
# LUTs in a row between two registers where there is no carry chain: from the code of many inputs.
LEVELS = 5
# LUTs and registers of a processor, found with Yosys: for each bit of a step, of an output and of a
# sample.
STEP_LUTS, TOTAL_LUTS, CODE_LUTS = 4, 2, 0.4
STEP_FF, TOTAL_FF = 4, 2
# Words of a block of memory, and how many of those a LUT chooses from.
BLOCK_WORDS, BLOCKS_PER_LUT = 1024, 3


@dataclass(frozen=True, eq=False)
class ProcessorPlan:
    """A processor and the model that all of its banks hold at first.

    Latency and interval are those of that model, and exact.
    """

    image: Image
    period_ns: float
    grade: str = "1"
    handshake: str = "global"

    @property
    def capacity(self) -> Capacity:
        return self.image.capacity

    @property
    def in_widths(self) -> list[int]:
        """The bits of the codes, and of the number of the model where there are several."""
        number = bank_field_bits(self.capacity.models)
        return [reach.width for reach in self.capacity.input_ranges()] + [number] * (number > 0)

    @property
    def tech(self) -> Technology:
        return TECHNOLOGIES[self.grade]

    @cached_property
    def words(self) -> tuple[list[int], list[int]]:
        """What the memories of steps and of rows hold."""
        return self.image.words()

    @property
    def used(self) -> tuple[int, int]:
        """How many words of each the built-in model takes."""
        return len(self.image.steps), len(self.image.rows)

    @property
    def latency(self) -> int:
        return self._cycles(len(self.image.steps))

    @property
    def longest(self) -> int:
        """The latency of the longest program that can be loaded."""
        return self._cycles(self.capacity.room.steps)

    def _cycles(self, steps: int) -> int:
        compared = self.capacity.room.outputs if self.capacity.classes else 0
        # The edge that takes the sample, a cycle for each step, what the last step takes through
        # the ranks, and a cycle for each score that is compared.
        return 1 + steps + RANKS + compared

    @property
    def initiation_interval(self) -> int:
        # With a registered ready nothing enters in the cycle in which a result leaves.
        return self.latency + (self.handshake == "skid")

    @property
    def stage_ns(self) -> tuple[float, ...]:
        """The longest paths, by the delay model: a bit, an output, a product, and a code."""
        tech, capacity = self.tech, self.capacity
        # A sum and its comparison are two carry chains in a row, an output is one.
        bit, output = (
            chains * (tech.level + tech.carry + bits * tech.carry_per_bit)
            for chains, bits in ((2, capacity.sum_bits), (1, capacity.total_bits))
        )
        paths = (bit, output, tech.dsp, LEVELS * tech.level)
        return tuple((tech.register + path) * tech.scale for path in paths)

    @property
    def max_clock_mhz(self) -> float:
        return fastest_clock_mhz(max(self.stage_ns), self.tech)

    @property
    def costs(self) -> dict[str, Cost]:
        """An estimate, by part."""
        capacity, tech = self.capacity, self.tech
        totals = capacity.room.outputs * capacity.total_bits
        sample = capacity.room.inputs * capacity.code_bits
        steps, rows = (
            tech.block_rams(width, (capacity.models + 1) * depth)
            for width, depth in (
                (capacity.step_bits, capacity.room.steps),
                (capacity.row_bits, capacity.rows),
            )
        )
        return {
            "program": Cost(
                self._selection(capacity.step_bits, capacity.room.steps),
                STEP_FF * capacity.step_bits,
                bram=steps,
            ),
            "bits": Cost(round(STEP_LUTS * capacity.step_bits + CODE_LUTS * sample), sample),
            "rows": Cost(
                TOTAL_LUTS * totals + self._selection(capacity.row_bits, capacity.rows),
                TOTAL_FF * totals,
                capacity.room.outputs,
                rows,
            ),
            "loader": Cost(LOADER_LUTS, LOADER_FF),
        }

    def _selection(self, width: int, words: int) -> int:
        """LUTs that choose among the blocks of a memory, for all of its banks."""
        depth = (self.capacity.models + 1) * words
        return width * (-(-depth // BLOCK_WORDS) - 1) // BLOCKS_PER_LUT

    @property
    def cost(self) -> Cost:
        """An estimate of all cells."""
        return sum(self.costs.values(), Cost())

    def __str__(self) -> str:
        """The capacity, and what the model takes of it."""
        capacity, image = self.capacity, self.image
        return "\n".join(
            (
                f"capacity: {capacity.room}",
                f"steps: {len(image.steps):,} of {capacity.room.steps:,}",
                f"rows: {len(image.rows):,} of {capacity.rows:,}",
            )
        )
