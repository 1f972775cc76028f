"""What logic cells, nets, multipliers and memories of a device family can do, and how fast.

Figures are in nanoseconds, at scale 1. Those of the 7 series are for speed grade -1: cell delays as
in the Artix-7 data sheet (DS181), nets as routed designs of this kind show them on average. Those
of ECP5 (grade 6) and iCE40 are what nextpnr reports for registers around single operations; their
nets are taken longer than there, as they are in full designs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Technology:
    """One family at one speed grade; `scale` is what a grade multiplies all delays by.

    `wide_luts` says that LUTs are joined by multiplexers of their own. `absorbed_inputs` is how
    many address bits of a table the LUTs before a carry chain can take in; with 0, a table is
    always apart. `group_inputs` is how many bits share a table in sums. `blocks` are the shapes of
    a block RAM in bits and words, `blocks_per_unit` how many are counted as one.
    """

    family: str
    lut_inputs: int
    wide_luts: bool
    absorbed_inputs: int
    group_inputs: int
    net: float
    lut: float
    # Into a carry chain by its select input, and out of it by a sum bit.
    carry: float
    carry_per_bit: float
    clock_to_out: float
    setup: float
    dsp: float
    dsp_step: float
    # The adder behind the multiplier, which takes the result of the block before; 0 where
    # synthesis makes no use of it.
    dsp_add: float
    # Bits of the two factors, sign included.
    dsp_widths: tuple[int, int]
    # Multipliers with fewer partial product bits than this stay in LUTs; and the LUTs of each bit.
    min_dsp_bits: int
    luts_per_product_bit: int
    # Inverters that synthesis adds at carry chains and registers, as a share of all LUTs.
    inverters: float
    # LUTs around each DSP block.
    luts_per_dsp: int
    # Whether it has a register behind the product that synthesis uses.
    dsp_register: bool
    # Registers in a row of which synthesis makes a shift register, of a LUT; 0: of none.
    shift_cycles: int
    # LUTs of a carry chain: for each bit of both sides, each bit above the narrow one, and once.
    luts_per_added_bit: float
    luts_per_bit_above: float
    luts_per_chain: float
    luts_per_subtracted_bit: float
    luts_per_subtraction: float
    # LUTs of a comparison with a constant, for each bit (in LUT6s: for each of those) and once;
    # iCE40 has carries without LUTs. Those of a comparison of two values, for each bit.
    luts_per_compared_bit: float
    luts_per_comparison: float
    luts_per_ordered_bit: float
    # Bits of a small memory in each of its LUTs, as Yosys counts them; 0 where it is of registers.
    lutram_bits: int
    # From the clock edge to the data of a block RAM without its output register.
    block_ram: float
    blocks: tuple[tuple[int, int], ...]
    blocks_per_unit: int
    scale: float = 1.0

    @property
    def register(self) -> float:
        """From the clock edge to the first LUT, net included."""
        return self.clock_to_out + self.net

    @property
    def level(self) -> float:
        """A LUT and the net behind it."""
        return self.lut + self.net

    def half_blocks(self, width: int, depth: int) -> int:
        """Block RAMs for `depth` words of `width` bits, in the best of their shapes."""
        return min(-(-width // bits) * -(-depth // words) for bits, words in self.blocks)

    def block_rams(self, width: int, depth: int) -> float:
        """The same in the unit that the family counts in."""
        return self.half_blocks(width, depth) / self.blocks_per_unit


# Half a block RAM of the 7 series, and a whole one of ECP5, in each of its shapes.
_BLOCKS_18K = ((36, 512), (18, 1024), (9, 2048), (4, 4096), (2, 8192), (1, 16384))
# No multiplier is that large.
NEVER = 1 << 30
_BLOCKS_4K = ((16, 256), (8, 512), (4, 1024), (2, 2048))

XC7 = Technology(
    family="xc7",
    lut_inputs=6,
    wide_luts=True,
    absorbed_inputs=5,
    group_inputs=5,
    net=0.55,
    lut=0.124,
    carry=0.62,
    carry_per_bit=0.029,
    clock_to_out=0.456,
    setup=0.1,
    dsp=3.9,
    dsp_step=1.6,
    dsp_add=1.6,
    dsp_widths=(18, 25),
    min_dsp_bits=40,
    luts_per_product_bit=1,
    inverters=0.05,
    luts_per_dsp=3,
    dsp_register=True,
    shift_cycles=3,
    luts_per_added_bit=0.43,
    luts_per_bit_above=0.58,
    luts_per_chain=2.2,
    luts_per_subtracted_bit=1.41,
    luts_per_subtraction=0.0,
    luts_per_compared_bit=1.5,
    luts_per_comparison=0.0,
    luts_per_ordered_bit=0.5,
    lutram_bits=48,
    block_ram=2.454,
    blocks=_BLOCKS_18K,
    blocks_per_unit=2,
)
ECP5 = Technology(
    family="ecp5",
    lut_inputs=4,
    wide_luts=False,
    absorbed_inputs=0,
    group_inputs=4,
    net=1.0,
    lut=0.24,
    carry=0.65,
    carry_per_bit=0.036,
    clock_to_out=0.525,
    setup=0.1,
    dsp=3.93,
    dsp_step=2.5,
    dsp_add=0.0,
    dsp_widths=(18, 18),
    min_dsp_bits=4,
    luts_per_product_bit=3,
    inverters=0.02,
    luts_per_dsp=4,
    dsp_register=False,
    shift_cycles=0,
    luts_per_added_bit=0.95,
    luts_per_bit_above=0.95,
    luts_per_chain=1.6,
    luts_per_subtracted_bit=1.07,
    luts_per_subtraction=0.0,
    luts_per_compared_bit=0.77,
    luts_per_comparison=1.7,
    luts_per_ordered_bit=0.5,
    lutram_bits=16,
    block_ram=5.61,
    blocks=_BLOCKS_18K,
    blocks_per_unit=1,
)
# UltraPlus, the slow and frugal one; its multipliers are taken as slow as an adder of 32 bits. The
# others have none: theirs are of LUTs.
ICE40_UP = Technology(
    family="ice40",
    lut_inputs=4,
    wide_luts=False,
    absorbed_inputs=0,
    group_inputs=4,
    net=2.2,
    lut=1.2,
    carry=1.0,
    carry_per_bit=0.35,
    clock_to_out=1.39,
    setup=0.1,
    dsp=15.0,
    dsp_step=10.0,
    dsp_add=0.0,
    dsp_widths=(16, 16),
    min_dsp_bits=24,
    luts_per_product_bit=3,
    inverters=0.0,
    luts_per_dsp=3,
    dsp_register=False,
    shift_cycles=0,
    luts_per_added_bit=0.92,
    luts_per_bit_above=0.92,
    luts_per_chain=0.0,
    luts_per_subtracted_bit=1.0,
    luts_per_subtraction=4.0,
    luts_per_compared_bit=0.0,
    luts_per_comparison=0.4,
    luts_per_ordered_bit=0.5,
    lutram_bits=0,
    block_ram=4.1,
    blocks=_BLOCKS_4K,
    blocks_per_unit=1,
)
ICE40_HX = replace(
    ICE40_UP,
    net=0.9,
    lut=0.4,
    carry=0.43,
    carry_per_bit=0.15,
    clock_to_out=0.54,
    min_dsp_bits=NEVER,
    block_ram=2.15,
)
# GW1N-9 at C6/I5 and GW2A-18 at C8/I7, as nextpnr has them for registers around an adder and for
# the routed board top. Its multipliers are left alone: they are of LUTs.
GW1N = Technology(
    family="gowin",
    lut_inputs=4,
    wide_luts=True,
    absorbed_inputs=0,
    group_inputs=4,
    net=1.7,
    lut=1.03,
    carry=1.6,
    carry_per_bit=0.057,
    clock_to_out=0.46,
    setup=0.4,
    dsp=0.0,
    dsp_step=0.0,
    dsp_add=0.0,
    dsp_widths=(18, 18),
    min_dsp_bits=NEVER,
    luts_per_product_bit=3,
    inverters=0.0,
    luts_per_dsp=0,
    dsp_register=False,
    shift_cycles=0,
    luts_per_added_bit=1.0,
    luts_per_bit_above=1.0,
    luts_per_chain=0.0,
    luts_per_subtracted_bit=1.0,
    luts_per_subtraction=0.0,
    luts_per_compared_bit=1.0,
    luts_per_comparison=0.0,
    luts_per_ordered_bit=1.0,
    lutram_bits=16,
    # No figure was found for these.
    block_ram=5.0,
    blocks=_BLOCKS_18K,
    blocks_per_unit=1,
)
GW2A = replace(
    GW1N,
    net=0.9,
    lut=0.53,
    carry=1.0,
    carry_per_bit=0.037,
    clock_to_out=0.23,
    setup=0.1,
    block_ram=3.0,
)
# Cells of Cyclone V as Yosys makes them, in halves of an ALM: LUTs of five inputs, and adders of a
# half for each bit. The delays are not measured: they are those of the slowest ECP5.
CYCLONE_V = replace(
    ECP5,
    family="cyclonev",
    lut_inputs=5,
    group_inputs=5,
    luts_per_added_bit=1.0,
    luts_per_bit_above=1.0,
    luts_per_chain=1.0,
    luts_per_subtracted_bit=1.0,
    luts_per_subtraction=2.0,
    luts_per_compared_bit=1.0,
    luts_per_comparison=1.0,
    luts_per_ordered_bit=1.0,
    luts_per_dsp=1,
    lutram_bits=32,
    blocks=((40, 256), (20, 512), (10, 1024), (5, 2048), (2, 4096), (1, 8192)),
)
# Only estimates: neither cells nor delays are measured, and Yosys has no working script for it.
MAX10 = replace(
    ECP5,
    family="max10",
    luts_per_added_bit=1.0,
    luts_per_bit_above=1.0,
    luts_per_chain=1.0,
    luts_per_subtracted_bit=1.0,
    luts_per_subtraction=1.0,
    luts_per_compared_bit=1.0,
    luts_per_comparison=1.0,
    luts_per_ordered_bit=1.0,
    lutram_bits=0,
    blocks=((36, 256), (18, 512), (9, 1024), (4, 2048), (2, 4096), (1, 8192)),
)

GRADE_SCALE = {"1": 1.0, "1L": 1.15, "2": 0.87, "2L": 1.05, "3": 0.78}
# A careful guess, the slowest grade last.
_INTEL_SCALE = {6: 1.0, 7: 1.15, 8: 1.3}

TECHNOLOGIES = {
    **{grade: replace(XC7, scale=scale) for grade, scale in GRADE_SCALE.items()},
    "ecp5-6": ECP5,
    "ecp5-7": replace(ECP5, scale=0.9),
    "ecp5-8": replace(ECP5, scale=0.78),
    "ice40-up": ICE40_UP,
    "ice40-hx": ICE40_HX,
    "ice40-lp": replace(ICE40_HX, scale=1.48),
    "gw1n": GW1N,
    "gw1n-slow": replace(GW1N, scale=1.25),
    "gw2a": GW2A,
    "gw2a-slow": replace(GW2A, scale=1.25),
    **{f"cyclonev-{n}": replace(CYCLONE_V, scale=s) for n, s in _INTEL_SCALE.items()},
    **{f"max10-{n}": replace(MAX10, scale=s) for n, s in _INTEL_SCALE.items()},
    # LUTs of four inputs and carry chains, at the speed of the slowest ECP5: a careful guess for
    # families that are only known by their size.
    "lut4": replace(ECP5, family="lut4"),
}
