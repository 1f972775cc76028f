"""A test bench under cocotb to take along: a folder that needs nothing of this package."""

from __future__ import annotations

from scm_hw.common.templates import render
from scm_hw.design import Design
from scm_hw.emit.flows import ports_of

FOLDER = "cocotb"
# The ports of the core that the bench drives or reads itself.
_OWN = {"clk", "rst", "in_valid", "in_data", "out_ready"}
# Cycles beyond the core's own that a result may take while there are pauses on both sides.
_PAUSES = 200


def cocotb_files(design: Design) -> dict[str, str]:
    """Makefile and test module, path to text."""
    names = design.names
    words = {
        "names": names,
        "module": names.cocotb_module,
        "machine": names.python_model.removesuffix(".py"),
        "formats": names.formats_module.removesuffix(".py"),
        "digest": design.digest,
        "patience": 4 * (design.latency + design.initiation_interval) + _PAUSES,
        "ready": design.ports.ready,
        "records": design.records is not None,
        "idle": idle_ports(design),
    }
    return {
        f"{FOLDER}/Makefile": render(__package__, "cocotb.mk", **words),
        f"{FOLDER}/{names.cocotb_module}.py": render(__package__, "cocotb_test.py.txt", **words),
    }


def idle_ports(design: Design) -> list[str]:
    """Inputs of the core besides its clock, reset and streams, which are at rest."""
    ports = ports_of(design.names.core, design.verilog)
    return [port.name for port in ports if port.direction == "in" and port.name not in _OWN]
