"""What goes to a board whose processors feed the core: a block design, and a notebook for PYNQ.

`vivado -mode batch -source build.tcl` packages the core with its bus as IP, puts it behind the
processors, and leaves bitstream, `.hwh` and `.xsa`.
"""

from __future__ import annotations

from typing import Any

from scm_hw.boards import Board
from scm_hw.common.names import Names
from scm_hw.common.templates import render
from scm_hw.design import Design
from scm_hw.emit.drivers import driver_class
from scm_hw.emit.interface import ip_version, row_formats
from scm_hw.emit.notebook import notebook
from scm_hw.emit.vivado import ALLOW
from scm_hw.errors import OptionError
from scm_hw.rtl.ports import CorePorts

# What a block design can reach.
REACHED = ("axis", "axil")
# The clock of a bus that is not the core's.
BUS_MHZ = 100.0
# Bits of a transfer's length in bytes: the most that the DMA engine has.
LENGTH_BITS = 26
# The widths that the DMA engine has towards memory begin here.
LEAST_MEMORY_BITS = 32


def default_bus(
    board: Board,
    interface: str | None,
    tdata: int | None,
    reload: str = "none",
    *,
    adapt: bool = False,
) -> tuple[str, int | None]:
    """Interface and bits of a stream: what was asked for, else what suits the board."""
    # A core that adapts has no bus.
    if interface is not None or not board.has_processors or adapt:
        return interface or "stream", tdata
    # Uploads go through registers, which a stream doesn't have.
    if reload != "none":
        return "axil", tdata
    return "axis", tdata or LEAST_MEMORY_BITS


def check_reached(board: Board, interface: str, tdata: int | None) -> None:
    """Raise OptionError for a bus that the board's processors can't reach."""
    if not board.has_processors:
        return
    if interface not in (*REACHED, "stream"):
        raise OptionError(
            f"interface must be axis, axil or stream on board {board.name}, not {interface}; "
            "leave --interface out"
        )
    if interface == "axis" and tdata is None:
        raise OptionError(
            f"tdata must be given with --interface axis on board {board.name}, whose DMA takes "
            "whole words; add --tdata 32"
        )


def zynq_files(design: Design, evaluation: str | None) -> dict[str, str]:
    """Block design, notebook and its rows, file name to text; nothing for another board."""
    board, interface, names = design.board, design.options.interface, design.names
    if not board.has_processors or interface not in REACHED:
        return {}
    ports = design.ports
    words = {
        "prefix": names.prefix,
        "name": names.wrapper(interface),
        "board": board.name,
        "version": ip_version(design.digest),
        "digest": design.digest,
        "dma": interface == "axis",
        "crossing": ports.crossing,
    }
    files = {"build.tcl": _script(board, ports, words)}
    words |= _python_words(names)
    if interface == "axis":
        files[names.pynq_module] = _dma_module(ports, words)
    if design.adaptive is not None:
        # There is no machine in Python to compare with.
        return files
    if evaluation is not None:
        files[names.evaluation] = evaluation
    classes = design.model.classes is not None
    files[names.notebook] = notebook(
        __package__,
        "board.ipynb.txt",
        **words,
        classes=classes,
        targets=1 if classes else design.model.points,
        inputs=len(ports.in_widths),
        scored=evaluation is not None,
        evaluation=names.evaluation,
        machine=names.python_model.removesuffix(".py"),
    )
    return files


def _python_words(names: Names) -> dict[str, str]:
    return {
        "formats": names.formats_module.removesuffix(".py"),
        "module": names.pynq_module.removesuffix(".py"),
        "driver": driver_class(names),
    }


def _dma_module(ports: CorePorts, words: dict[str, Any]) -> str:
    assert ports.tdata is not None
    inputs, outputs = row_formats(ports, ports.tdata)
    most = (1 << LENGTH_BITS - 1) // max(inputs.row_bytes, outputs.row_bytes)
    return render(
        __package__,
        "pynq_dma.py.txt",
        **words,
        inputs=inputs,
        outputs=outputs,
        most=most,
        signed=any(ports.out_signed),
    )


def _script(board: Board, ports: CorePorts, words: dict[str, Any]) -> str:
    core = f"{board.clock_mhz:g}"
    return render(
        __package__,
        "block_design.tcl",
        **words,
        part=board.part,
        board_files=board.board_files,
        core_mhz=core,
        bus_mhz=f"{BUS_MHZ:g}" if ports.crossing else core,
        core_clock=int(ports.crossing),
        tdata=ports.tdata,
        memory_bits=max(ports.tdata or 0, LEAST_MEMORY_BITS),
        length_bits=LENGTH_BITS,
        buses=_buses(words["name"], words["dma"]),
        nets=_nets(words["name"], words["dma"], words["crossing"]),
        allow=ALLOW,
    )


def _buses(name: str, dma: bool) -> list[tuple[str, str]]:
    """From master to slave."""
    if not dma:
        return [
            ("ps7/M_AXI_GP0", "control_bus/S00_AXI"),
            ("control_bus/M00_AXI", f"{name}_0/s_axi"),
        ]
    return [
        ("ps7/M_AXI_GP0", "control_bus/S00_AXI"),
        ("control_bus/M00_AXI", "dma/S_AXI_LITE"),
        ("dma/M_AXI_MM2S", "memory_bus/S00_AXI"),
        ("dma/M_AXI_S2MM", "memory_bus/S01_AXI"),
        ("memory_bus/M00_AXI", "ps7/S_AXI_HP0"),
        ("dma/M_AXIS_MM2S", f"{name}_0/s_axis"),
        (f"{name}_0/m_axis", "dma/S_AXIS_S2MM"),
    ]


def _nets(name: str, dma: bool, crossing: bool) -> list[tuple[str, list[str]]]:
    """Clocks, resets and the interrupt, from one driver to all that it reaches."""
    clocked = [
        "resets/slowest_sync_clk",
        "ps7/M_AXI_GP0_ACLK",
        "control_bus/aclk",
        f"{name}_0/aclk",
    ]
    reset = ["control_bus/aresetn", f"{name}_0/aresetn"]
    if dma:
        clocked += ["ps7/S_AXI_HP0_ACLK", "memory_bus/aclk", "dma/s_axi_lite_aclk"]
        clocked += ["dma/m_axi_mm2s_aclk", "dma/m_axi_s2mm_aclk"]
        reset += ["memory_bus/aresetn", "dma/axi_resetn"]
    nets = [
        ("ps7/FCLK_CLK0", clocked),
        ("ps7/FCLK_RESET0_N", ["resets/ext_reset_in"]),
        ("resets/peripheral_aresetn", reset),
    ]
    if crossing:
        nets.append(("ps7/FCLK_CLK1", [f"{name}_0/core_clk"]))
    if not dma:
        nets.append((f"{name}_0/irq", ["ps7/IRQ_F2P"]))
    return nets
