"""What comes into a core, and the codes of the features that are made of it, as operations.

A machine with columns has an input for each: a number, or the small code of a category. A flag or
indicator is the highest bit of its feature's code, and a category that is seen by the order of its
codes has them in the highest bits, so both are wires behind a bit or the input itself.
"""

from __future__ import annotations

from scm_hw.ir import AtLeast, Builder, Concat, Constant, Input, Ref, Select, Table
from scm_model import Column, Columns, Feature, Model, codes
from scm_model.raw_columns import FULL_RANGE, IS_MISSING


def inputs_and_codes(build: Builder, model: Model) -> tuple[list[Ref], list[Ref]]:
    """The inputs of the core, and the code of each feature."""
    named = zip(model.signals, model.input_codes, strict=True)
    inputs = [
        build.add(Input(i, 0, (1 << code.bits) - 1, name=name))
        for i, (name, code) in enumerate(named)
    ]
    if model.columns is None:
        return inputs, inputs
    return inputs, _FeatureCodes(build, model, model.columns, inputs).all()


class _FeatureCodes:
    """The codes of features, made of the inputs of their columns."""

    def __init__(self, build: Builder, model: Model, columns: Columns, inputs: list[Ref]) -> None:
        assert model.input_bits is not None
        self.build, self.model, self.columns, self.inputs = build, model, columns, inputs
        self.bits = model.input_bits

    def all(self) -> list[Ref]:
        named = zip(self.columns.features, self.model.features, strict=True)
        return [self._code(i, feature, name) for i, (feature, name) in enumerate(named)]

    def _code(self, number: int, feature: Feature, name: str) -> Ref:
        column = self.columns.columns[feature.column]
        source = self.inputs[feature.column]
        if feature.what == IS_MISSING:
            return self._indicator(number, self._missing(source, name), name)
        if feature.what >= 0:
            contents = tuple(int(c == feature.what) for c in range(1 << column.bits))
            return self._indicator(number, self.build.add(Table(source, contents, name=name)), name)
        if column.is_category:
            return self._highest(source, column.bits, name)
        if column.missing == "median":
            missing = self._missing(source, f"{name} missing")
            median = self.build.add(Constant(self._median(number, column)))
            return self.build.add(Select(missing, median, source, name=name))
        return source

    def _indicator(self, number: int, bit: Ref, name: str) -> Ref:
        if self.model.input_max[number] == FULL_RANGE[1]:
            bits = (bit,) * self.bits
            return self.build.add(Concat(bits, (1,) * self.bits, name=f"{name}.code"))
        return self._highest(bit, 1, name)

    def _missing(self, source: Ref, name: str) -> Ref:
        """Whether an input is the one code that no value has."""
        return self.build.add(AtLeast(source, (1 << self.bits) - 1, name=name))

    def _median(self, number: int, column: Column) -> int:
        # The reference's own code of the median, so that both round alike.
        row = self.model.input_min.copy()
        row[number] = column.median
        return int(codes(self.model.static, row[None])[0, number])

    def _highest(self, value: Ref, bits: int, name: str) -> Ref:
        """A value of a few bits as the highest of a feature's code."""
        if bits == self.bits:
            return value
        zero = self.build.add(Constant(0))
        return self.build.add(Concat((zero, value), (self.bits - bits, bits), name=f"{name}.code"))
