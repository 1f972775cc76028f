"""What a design's modules, files and C symbols are called, so that two designs can live in one."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Some tools cut names off at 64 characters, and suffixes come behind.
_LONGEST = 40


@dataclass(frozen=True)
class Names:
    """All names that begin with a design's `prefix`, a plain identifier of Verilog and C."""

    prefix: str = "scm"

    @property
    def core(self) -> str:
        return f"{self.prefix}_core"

    def wrapper(self, interface: str) -> str:
        """The module of the core behind a bus, and its file without the suffix."""
        return f"{self.prefix}_{interface}"

    @property
    def testbench(self) -> str:
        return f"tb_{self.core}"

    @property
    def testbench_file(self) -> str:
        return f"{self.testbench}.v"

    @property
    def formats_header(self) -> str:
        return f"{self.prefix}_formats.h"

    @property
    def formats_module(self) -> str:
        return f"{self.prefix}_formats.py"

    @property
    def registers_header(self) -> str:
        return f"{self.prefix}_regs.h"

    @property
    def model_source(self) -> str:
        return f"{self.prefix}_model.c"

    @property
    def model_header(self) -> str:
        return f"{self.prefix}_model.h"

    @property
    def python_model(self) -> str:
        return f"{self.prefix}_model.py"

    @property
    def litex_module(self) -> str:
        return f"{self.prefix}_litex.py"

    @property
    def cocotb_module(self) -> str:
        return f"test_{self.core}"

    @property
    def model_test(self) -> str:
        return f"test_{self.prefix}_model.c"

    @property
    def driver_header(self) -> str:
        return f"{self.prefix}_driver.h"

    @property
    def driver_source(self) -> str:
        return f"{self.prefix}_driver.c"

    @property
    def uio_header(self) -> str:
        return f"{self.prefix}_uio.h"

    @property
    def uio_source(self) -> str:
        return f"{self.prefix}_uio.c"

    @property
    def pynq_module(self) -> str:
        return f"{self.prefix}_pynq.py"

    @property
    def evaluation(self) -> str:
        return f"{self.prefix}_evaluation.csv"

    @property
    def notebook(self) -> str:
        return f"{self.prefix}.ipynb"

    @property
    def macro(self) -> str:
        """How the macros of its C headers begin."""
        return self.prefix.upper()


DEFAULT = Names()


def identifier(name: str) -> str:
    """A build's name as a prefix: lower case, for file systems and languages that ignore case."""
    text = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_LONGEST].strip("_")
    # A module of VHDL must begin with a letter.
    return text if text[:1].isalpha() else f"m{text}"
