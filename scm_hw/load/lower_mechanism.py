"""What the mechanism adds to the outputs, as operations on held codes."""

from __future__ import annotations

from itertools import product

import numpy as np

from scm_hw.ir import Builder, Concat, Constant, Field, Product, Ref, Sum, Table, level_bits
from scm_hw.load.lower_inputs import held_code
from scm_hw.load.lowered import Terms
from scm_model import Model, PolynomialModel
from scm_model.cell_table import cell_counts, cell_starts, fraction_bits, table_of
from scm_model.fixed_point import FixedPoint


def mechanism_terms(build: Builder, model: Model, fixed: FixedPoint, codes: list[Ref]) -> Terms:
    """The terms of a mechanism that the core computes; none of any other."""
    kind = model.mechanism.kind
    if kind == "polynomial":
        return _polynomial(build, model, fixed, codes)
    if kind == "table":
        return _Cells(build, model, codes).terms(fixed)
    return Terms((), np.zeros((0, model.outputs), np.int64))


def _polynomial(build: Builder, model: Model, fixed: FixedPoint, codes: list[Ref]) -> Terms:
    """A product of codes for each row of exponents."""
    assert isinstance(model.mechanism, PolynomialModel) and fixed.mechanism is not None
    refs = []
    for powers in model.mechanism.exponents:
        # A power is a product of equal factors: DSP blocks multiply two values.
        factors = [i for i, power in enumerate(powers) for _ in range(int(power))]
        # A code by itself stays a sum, which others can take in.
        odd = _odd_sum if len(factors) == 1 else _odd
        refs.append(
            _product(
                build,
                [
                    odd(
                        build,
                        held_code(build, model, i, codes[i]),
                        model.codes[i].bits,
                        f"{model.features[i]}.odd",
                    )
                    for i in factors
                ],
                "mechanism.product",
            )
        )
    return Terms(tuple(refs), fixed.mechanism)


class _Cells:
    """A table mechanism: the cell in which the codes are, and where they are inside it."""

    def __init__(self, build: Builder, model: Model, codes: list[Ref]) -> None:
        self.build = build
        self.model = model
        inputs = table_of(model).inputs.tolist()
        self.names = [model.features[i] for i in inputs]
        self.held = [held_code(build, model, i, codes[i]) for i in inputs]
        self.inside = fraction_bits(model)
        self.starts = cell_starts(model)
        self.widths = [count.bit_length() - 1 for count in cell_counts(model)]

    def terms(self, fixed: FixedPoint) -> Terms:
        """A table for each product of positions inside the cell, addressed by the cell."""
        assert fixed.mechanism is not None
        places = range(len(self.held))
        # All tables of the mechanism share one address, and so may share a row of a memory.
        cells = [self._cell(place) for place in places]
        address = cells[0] if len(cells) == 1 else self._beside(cells, self.widths, "address")
        positions = [self._position(place, cells[place]) for place in places]
        unused = fixed.extra_bits - sum(self.inside)
        refs, weights = [], []
        for number in range(self.model.outputs):
            subsets = product((0, 1), repeat=len(places))
            for table, subset in zip(fixed.mechanism, subsets, strict=True):
                # The address has the first input in its lowest bits, NumPy its last in the fastest.
                contents = table[..., number].transpose().ravel().tolist()
                label = "".join(map(str, subset))
                entry = self.build.add(
                    Table(address, tuple(contents), name=f"mechanism.table{label}")
                )
                chosen = [p for p, used in zip(positions, subset, strict=True) if used]
                refs.append(_product(self.build, [*chosen, entry], f"mechanism.part{label}"))
                rest = sum(b for b, used in zip(self.inside, subset, strict=True) if not used)
                weights.append(np.eye(self.model.outputs, dtype=np.int64)[number] << rest + unused)
        return Terms(tuple(refs), np.array(weights))

    def _cell(self, place: int) -> Ref:
        """The number of the cell, in one direction."""
        code, width, starts = self.held[place], self.widths[place], self.starts[place]
        if starts is None:
            lowest = self.inside[place] - 1
            return self.build.add(Field(code, lowest, width, name="mechanism.cell"))
        level = level_bits(self.build, code, starts[1:], self.names[place])
        return level[0] if width == 1 else self._beside(level, [1] * width, "cell")

    def _position(self, place: int, cell: Ref) -> Ref:
        """`2 * (code inside its cell) + 1`."""
        bits, name, starts = self.inside[place], self.names[place], self.starts[place]
        if bits == 1:
            return self.build.add(Constant(1))
        low = self.build.add(Field(self.held[place], 0, bits - 1, name=f"{name}.inside"))
        if starts is not None:
            # All but the low bits of the difference are 0.
            back = tuple(-start % (1 << (bits - 1)) for start in starts)
            start = self.build.add(Table(cell, back, name=f"{name}.start"))
            total = self.build.add(Sum((low, start), (1, 1), name=f"{name}.since"))
            low = self.build.add(Field(total, 0, bits - 1, name=f"{name}.inside"))
        return _odd(self.build, low, bits - 1, f"{name}.position")

    def _beside(self, refs: list[Ref], widths: list[int], name: str) -> Ref:
        return self.build.add(Concat(tuple(refs), tuple(widths), name=f"mechanism.{name}"))


def _odd(build: Builder, value: Ref, bits: int, name: str) -> Ref:
    """`2 * value + 1` as wires.

    Not as a sum: Yosys moves an addition in front of a multiplier into the DSP block, also where
    both factors are that one sum, and then loses the other factor.
    """
    one = build.add(Constant(1))
    return build.add(Concat((one, value), (1, bits), name=name))


def _odd_sum(build: Builder, value: Ref, _: int, name: str) -> Ref:
    return build.add(Sum((value,), (2,), 1, name=name))


def _product(build: Builder, factors: list[Ref], name: str) -> Ref:
    if not factors:
        return build.add(Constant(1))
    total = factors[0]
    for factor in factors[1:]:
        total = build.add(Product(total, factor, name=name))
    return total
