"""What a program gives before its passes, to hold it against what it gives after each of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import CompilerError
from scm_hw.ir import BrokenProgram, Program, Range, verify
from scm_hw.ir.interp import interpret
from scm_hw.passes.sample import corner_rows, random_rows

# Enough rows that an operation spends more time in NumPy than on the way to it, and no more.
OWN_ROWS = 256
# A classifier's closest calls are chosen among this many random codes.
CANDIDATES = 1000

Rows = NDArray[np.int64]


class Reference:
    """Inputs, and the outputs of one program for them, which every form of it has to give.

    The inputs are up to `OWN_ROWS` of `rows`, evenly spread, then corners and random codes.
    """

    def __init__(self, program: Program, rows: Rows | None = None) -> None:
        self.program = program
        reach = [Range(op.low, op.high) for op in program.input_ops()]
        parts = [corner_rows(reach), random_rows(program, CANDIDATES)]
        if rows is not None:
            parts.insert(0, rows[:: max(1, -(-len(rows) // OWN_ROWS))])
        self.inputs = np.concatenate(parts)
        self.outputs = interpret(program, self.inputs)
        # Different choices often make equal programs, which need no second look.
        self._checked = {program}

    def check(self, name: str, after: Program) -> None:
        """Refuse the program after the pass `name` where a rule or an output differs."""
        if after not in self._checked:
            self._compare(name, after)
            self._checked.add(after)

    def _compare(self, name: str, after: Program) -> None:
        try:
            verify(after)
        except BrokenProgram as error:
            raise CompilerError(
                f"pass {name} must keep the rules of the program: {error}; report it with the "
                "model file"
            ) from error
        self._check_ports(name, after)
        self.check_outputs(f"pass {name}", interpret(after, self.inputs))

    def check_outputs(self, what: str, found: Rows) -> None:
        """Refuse `found`, the outputs after the step `what`, where one differs."""
        if found.shape != self.outputs.shape:
            raise CompilerError(
                f"{what} must keep all {self.outputs.shape[1]} outputs, not give "
                f"{found.shape[1]}; report it with the model file"
            )
        differing = np.argwhere(found != self.outputs)
        if len(differing):
            self._refuse(what, found, int(differing[0, 0]), int(differing[0, 1]))

    def _check_ports(self, name: str, after: Program) -> None:
        before = [(op.low, op.high) for op in self.program.input_ops()]
        if [(op.low, op.high) for op in after.input_ops()] != before:
            raise CompilerError(
                f"pass {name} must keep the inputs and their ranges; report it with the model file"
            )

    def _refuse(self, what: str, found: Rows, row: int, output: int) -> None:
        wrong = int((found != self.outputs).any(axis=1).sum())
        label = self.program.ops[self.program.outputs[output]].name or str(output)
        shown = ", ".join(map(str, self.inputs[row, :16].tolist()))
        more = ", ..." if self.inputs.shape[1] > 16 else ""
        raise CompilerError(
            f"{what} must keep all outputs, not give {found[row, output]} instead of "
            f"{self.outputs[row, output]} for {label} at inputs ({shown}{more}), the first of "
            f"{wrong} differing rows of {len(found)}; report it with the model file"
        )
