"""A module of Verilog without its inside, for the synthesis of what is around it."""

from __future__ import annotations

import re

_PORT = re.compile(r"^  (?:input|output|inout)\b[^;]*;", re.MULTILINE)
# Parameters that Vivado wants of a clock buffer, and Yosys' library doesn't know.
_UNKNOWN = re.compile(r",?\s*\.SIM_DEVICE\(\"[^\"]*\"\)")


def black_box(verilog: str, module: str) -> str:
    """The module's ports, as Yosys writes them, and the word that there is no more of it."""
    found = re.search(rf"^module {re.escape(module)}\(.*?^endmodule", verilog, re.M | re.S)
    assert found is not None, f"there must be a module {module}"
    head = found[0][: found[0].index(";") + 1]
    return "\n".join(["(* blackbox *)", head, *_PORT.findall(found[0]), "endmodule"]) + "\n"


def without_unknown_parameters(verilog: str) -> str:
    """Primitives as Yosys knows them; what is left out has no part in their function."""
    return _UNKNOWN.sub("", verilog)
