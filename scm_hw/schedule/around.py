"""What wrappers and board tops take beside the core, and how long their own paths are.

Their logic is the same for every model but for the widths of samples and results. The constants are
Yosys' counts for the 7 series, of wrappers synthesised with the core as a black box; LUTs of four
inputs are more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scm_hw.schedule.costs import Cost
from scm_hw.schedule.ends import Ends
from scm_hw.target import Technology, addition

# LUT6 to LUT4, of logic that is mostly small functions and comparisons.
LUT4_SHARE = 1.35
# The queue of `tlast`, and the state of a sample that waits.
AXIS_LUTS, AXIS_FFS = 24, 13
# Decoders, three counters of 32 bits, the read multiplexer's fixed registers and the handshakes.
AXIL_LUTS, AXIL_FFS = 60, 187
# LUTs of each bit that can be written or read back.
AXIL_LUTS_PER_BIT = 1.75
# Receiver, transmitter, frames with their checksums, replies, and the text that they can ask for.
UART_LUTS, UART_FFS = 1240, 560
# Generators of stalls, counters, lamps.
SELF_TEST_LUTS, SELF_TEST_FFS = 150, 90
SELF_TEST_WORDS = 256
# Buses with the same registers.
REGISTERS = ("axil", "wishbone")
# Registers of AXI4-Lite that every design has, and words of each field.
FIXED_REGISTERS, WORDS_PER_FIELD = 16, 2


@dataclass(frozen=True)
class Around:
    """A wrapper or board top by its kind: "axis", "axil", "wishbone", "uart" or "self-test"."""

    kind: str
    in_widths: Sequence[int]
    out_widths: Sequence[int]
    ends: Ends
    tech: Technology

    def cost(self) -> Cost:
        samples, results = sum(self.in_widths), sum(self.out_widths)
        share = 1.0 if self.tech.lut_inputs == 6 else LUT4_SHARE
        luts, ffs, bram = 0.0, 0, 0.0
        if self.kind == "axis":
            # A sample that waits is held beside the core, where the core can't take it.
            waiting = samples if self.ends.handshake == "global" else 0
            luts, ffs = AXIS_LUTS * share + waiting, AXIS_FFS + waiting
        elif self.kind in REGISTERS:
            bits = samples + results
            luts = (AXIL_LUTS + AXIL_LUTS_PER_BIT * bits) * share
            ffs = AXIL_FFS + bits
        elif self.kind == "uart":
            luts = UART_LUTS * share + samples + results
            ffs = UART_FFS + samples + results
            bram = self.tech.block_rams(8, 2048)
        else:
            luts, ffs = (SELF_TEST_LUTS + results / 2) * share, SELF_TEST_FFS
            bram = sum(self.tech.block_rams(w, SELF_TEST_WORDS) for w in (samples, results))
        return Cost(lut=round(luts), ff=ffs, bram=bram)

    def longest_ns(self) -> float:
        """The longest path of its own, at scale 1; the core's first stage is in the schedule."""
        tech = self.tech
        if self.kind == "axis":
            return tech.register + 2 * tech.level
        if self.kind in REGISTERS:
            fields = len(self.in_widths) + len(self.out_widths)
            choices = FIXED_REGISTERS + WORDS_PER_FIELD * fields
            return tech.register + _levels(choices, tech) * tech.level
        if self.kind == "uart":
            return tech.register + addition(24, tech) + 2 * tech.level
        return tech.block_ram + tech.net + addition(sum(self.out_widths) // 2, tech)


def _levels(choices: int, tech: Technology) -> int:
    """Levels of a multiplexer, with one more for the decoder."""
    # A LUT6 selects among four inputs, a LUT4 between two.
    each = 4 if tech.lut_inputs == 6 else 2
    levels = 1
    while choices > 1:
        choices = -(-choices // each)
        levels += 1
    return levels
