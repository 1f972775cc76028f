"""From a model and its integer coefficients to a Program that says the same thing.

The translation is literal: one comparison for each coded bit, one sum and one comparison with the
real bias for each node, one sum for each output. Making it small is the work of the passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

from scm_hw.errors import UnsupportedModelError
from scm_hw.ir import (
    Argmax,
    AtLeast,
    Builder,
    Concat,
    Constant,
    Exceeds,
    Field,
    Input,
    Product,
    Program,
    Ref,
    Select,
    Sum,
    Table,
    Xor,
)
from scm_hw.load.fixed_point import FixedPoint
from scm_hw.load.model import Layer, Model
from scm_hw.load.table import cell_counts, cell_starts, fraction_bits

HARDWARE_ACTIVATIONS = ("sign", "step")
# Beyond every sum of a node; biases beyond it, even those that overflow when scaled, do the same.
FARTHEST_BOUND = 2.0**62


def check_supported(model: Model) -> None:
    """Refuse what can't become XNOR, popcount and compare, naming the layer and the remedy."""
    for number, layer in enumerate(model.layers, start=1):
        if layer.activation not in HARDWARE_ACTIVATIONS:
            raise UnsupportedModelError(
                f"layer {number} must have activation sign or step for hardware, "
                f"not {layer.activation}; train again with --activation sign"
            )
        if not layer.binary:
            raise UnsupportedModelError(
                f"layer {number} must have binary weights for hardware, not real ones; "
                "train again with --weights binary"
            )
    if model.input_bits is None:
        raise UnsupportedModelError(
            "inputs must be quantised for hardware, but the model's 'input_bits' is null; "
            "train again with --input-bits 12"
        )


def lower(model: Model, fixed: FixedPoint) -> Program:
    """The Program of a supported model."""
    check_supported(model)
    return _Lowering(model, fixed).program()


class _Lowering:
    def __init__(self, model: Model, fixed: FixedPoint) -> None:
        assert model.input_bits is not None
        self.model = model
        self.fixed = fixed
        self.input_bits = model.input_bits
        self.build = Builder()

    def program(self) -> Program:
        named = zip(self.model.features, self.model.codes, strict=True)
        codes = [
            self.build.add(Input(i, 0, (1 << code.bits) - 1, name=name))
            for i, (name, code) in enumerate(named)
        ]
        words = self._external_words()
        bits = self._hidden_bits(codes)
        outputs = [self._output(number, codes, words, bits) for number in range(self.model.outputs)]
        if self.model.is_classifier:
            outputs = [self.build.add(Argmax(tuple(outputs), name="class"))]
        return self.build.program((*codes, *words), tuple(outputs))

    # Hidden layers

    def _hidden_bits(self, codes: list[Ref]) -> list[Ref]:
        """The bits of all nodes, layer after layer."""
        below, groups = self._first_layer_inputs(codes)
        collected: list[Ref] = []
        for number, layer in enumerate(self.model.layers, start=1):
            below = self._layer(number, layer, below, groups)
            groups = [[n] for n in range(layer.nodes)]
            collected += below
        return collected

    def _first_layer_inputs(self, codes: list[Ref]) -> tuple[list[Ref], list[list[int]]]:
        """Inputs of layer 1, and for each feature the positions of its own among them."""
        if self.model.encoder.kind == "none":
            return codes, [[i] for i in range(len(codes))]
        refs: list[Ref] = []
        groups = []
        for feature, code in enumerate(codes):
            coded = self._coded_bits(feature, code)
            groups.append(list(range(len(refs), len(refs) + len(coded))))
            refs += coded
        return refs, groups

    def _coded_bits(self, feature: int, code: Ref) -> list[Ref]:
        encoder, name = self.model.encoder, self.model.features[feature]
        if encoder.kind == "thermometer":
            return [
                self.build.add(AtLeast(code, threshold, name=f"{name}.ge{threshold}"))
                for threshold in encoder.thresholds[feature]
            ]
        plain = self._level_bits(feature, code)
        if encoder.kind == "binary":
            return plain
        gray = [
            self.build.add(Xor((low, high), name=f"{name}.gray{j}"))
            for j, (low, high) in enumerate(pairwise(plain))
        ]
        return [*gray, plain[-1]]

    def _level_bits(self, feature: int, code: Ref) -> list[Ref]:
        """The bits of a feature's level, the lowest first."""
        encoder, name = self.model.encoder, self.model.features[feature]
        count = encoder.bits[feature]
        if encoder.thresholds and encoder.thresholds[feature]:
            return self._reached(code, encoder.thresholds[feature], name)
        lowest = self.input_bits - count
        return [
            self.build.add(Field(code, lowest + j, 1, name=f"{name}.bit{lowest + j}"))
            for j in range(count)
        ]

    def _reached(self, code: Ref, thresholds: Sequence[int], name: str) -> list[Ref]:
        """The bits of the number of thresholds that a code has reached: bit `j` is the parity of
        every `2**j`-th comparison. They are one fewer than a power of two."""
        tests = [self.build.add(AtLeast(code, t, name=f"{name}.ge{t}")) for t in thresholds]
        bits = []
        for j in range(len(tests).bit_length()):
            every = tuple(tests[(1 << j) - 1 :: 1 << j])
            bits.append(every[0] if len(every) == 1 else self._parity(every, f"{name}.parity{j}"))
        return bits

    def _parity(self, bits: tuple[Ref, ...], name: str) -> Ref:
        return self.build.add(Xor(bits, name=name))

    def _layer(
        self, number: int, layer: Layer, below: list[Ref], groups: list[list[int]]
    ) -> list[Ref]:
        bits = []
        for node in range(layer.nodes):
            seen = (
                range(len(below))
                if layer.mask is None
                else [i for g in layer.mask[node].nonzero()[0] for i in groups[g]]
            )
            weights = [int(layer.weights[node, i]) for i in seen]
            refs = [below[i] for i in seen]
            name = f"layer{number}.node{node}"
            bits.append(self._node(name, number, layer, refs, weights, float(layer.biases[node])))
        return bits

    def _node(
        self,
        name: str,
        number: int,
        layer: Layer,
        refs: list[Ref],
        weights: list[int],
        bias: float,
    ) -> Ref:
        """`w.h + b` against 0, with the sum kept on integers and the bias on the other side."""
        scale, offset = self._input_scale(number)
        total = self.build.add(
            Sum(
                tuple(refs),
                tuple(scale * w for w in weights),
                offset * sum(weights),
                name=f"{name}.sum",
            )
        )
        unit = 1 << (self.input_bits + 1) if self._fixed_point_inputs(number) else 1
        bound = max(-FARTHEST_BOUND, min(-bias * unit, FARTHEST_BOUND))
        return self.build.add(Exceeds(total, bound, strict=layer.activation == "sign", name=name))

    def _fixed_point_inputs(self, number: int) -> bool:
        return number == 1 and self.model.encoder.kind == "none"

    def _input_scale(self, number: int) -> tuple[int, int]:
        """`h = scale * integer + offset` for the inputs of a layer, whatever carries them."""
        if self._fixed_point_inputs(number):
            # x_q = (2 * code + 1) / 2**(input_bits + 1), in units of that denominator.
            return 2, 1
        if number == 1 or self.model.layers[number - 2].activation == "sign":
            return 2, -1
        return 1, 0

    # Outputs

    def _held(self, feature: int, code: Ref) -> Ref:
        """A code held inside the training range, where a sensor reaches beyond it."""
        wanted, name = self.model.codes[feature], self.model.features[feature]
        if wanted.low > 0:
            low = self.build.add(Constant(wanted.low))
            above = self.build.add(AtLeast(code, wanted.low, name=f"{name}.ge{wanted.low}"))
            code = self.build.add(Select(above, code, low, name=f"{name}.held"))
        if wanted.high < (1 << wanted.bits) - 1:
            high = self.build.add(Constant(wanted.high))
            beyond = self.build.add(AtLeast(code, wanted.high + 1, name=f"{name}.beyond"))
            code = self.build.add(Select(beyond, high, code, name=f"{name}.held"))
        return code

    def _external_words(self) -> list[Ref]:
        if self.fixed.word_range is None:
            return []
        first = len(self.model.features)
        lows, highs = self.fixed.word_range
        return [
            self.build.add(
                Input(first + i, int(lows[i]), int(highs[i]), name=f"mechanism.{target}")
            )
            for i, target in enumerate(self.model.targets)
        ]

    def _output(self, number: int, codes: list[Ref], words: list[Ref], bits: list[Ref]) -> Ref:
        linear = self.fixed.linear[:, number]
        terms = [
            *zip(bits, self.fixed.readout[:, number], strict=True),
            *((self._held(i, code), linear[i]) for i, code in enumerate(codes) if linear[i]),
            *self._mechanism_terms(number, codes, words),
        ]
        kept = [(ref, int(weight)) for ref, weight in terms if weight]
        constant = int(self.fixed.constant[number])
        name = f"output.{self.model.targets[number]}"
        if not kept:
            return self.build.add(Constant(constant, name=name))
        refs, weights = zip(*kept, strict=True)
        return self.build.add(Sum(refs, weights, constant, name=name))

    def _mechanism_terms(
        self, number: int, codes: list[Ref], words: list[Ref]
    ) -> list[tuple[Ref, int]]:
        kind = self.model.mechanism.kind
        if kind == "external":
            return [(words[number], 1 << self.fixed.extra_bits)]
        if kind == "polynomial":
            return self._polynomial_terms(number, codes)
        if kind == "table":
            return self._table_terms(number, codes)
        return []

    def _polynomial_terms(self, number: int, codes: list[Ref]) -> list[tuple[Ref, int]]:
        exponents, coefficients = self.model.mechanism.exponents, self.fixed.mechanism
        assert exponents is not None and coefficients is not None
        terms = []
        for powers, coefficient in zip(exponents, coefficients[:, number], strict=True):
            places = [i for i, power in enumerate(powers) for _ in range(int(power))]
            # A code by itself stays a sum, which others can take in.
            odd = self._odd_sum if len(places) == 1 else self._odd
            factors = [
                odd(
                    self._held(i, codes[i]),
                    self.model.codes[i].bits,
                    f"{self.model.features[i]}.odd",
                )
                for i in places
            ]
            terms.append((self._product(factors, "mechanism.product"), int(coefficient)))
        return terms

    def _table_terms(self, number: int, codes: list[Ref]) -> list[tuple[Ref, int]]:
        """A table for each product of positions inside the cell, addressed by the cell."""
        tables, inputs = self.fixed.mechanism, self.model.mechanism.inputs
        assert tables is not None
        inside = fraction_bits(self.model)
        held = [self._held(i, codes[i]) for i in inputs]
        cells = [self._cell(place, code, inside[place]) for place, code in enumerate(held)]
        address = self._cell_address(cells)
        positions = [
            self._position(place, code, cells[place], inside[place])
            for place, code in enumerate(held)
        ]
        unused = self.fixed.extra_bits - sum(inside)
        terms = []
        for table, subset in zip(tables, product((0, 1), repeat=len(inputs)), strict=True):
            # The address has the first input in its lowest bits, NumPy its last in the fastest.
            contents = table[..., number].transpose().ravel()
            label = "".join(map(str, subset))
            entry = self.build.add(
                Table(address, tuple(int(v) for v in contents), name=f"mechanism.table{label}")
            )
            chosen = [p for p, used in zip(positions, subset, strict=True) if used]
            rest = sum(b for b, used in zip(inside, subset, strict=True) if not used)
            terms.append(
                (self._product([*chosen, entry], f"mechanism.part{label}"), 1 << (rest + unused))
            )
        return terms

    def _cell(self, place: int, code: Ref, bits: int) -> Ref:
        """The number of the cell, in one direction."""
        starts, cells = cell_starts(self.model)[place], cell_counts(self.model)[place]
        width = cells.bit_length() - 1
        if starts is None:
            return self.build.add(Field(code, bits - 1, width, name="mechanism.cell"))
        name = self.model.features[self.model.mechanism.inputs[place]]
        found = self._reached(code, starts[1:], name)
        return found[0] if width == 1 else self._beside(found, [1] * width, "mechanism.cell")

    def _cell_address(self, cells: list[Ref]) -> Ref:
        widths = [count.bit_length() - 1 for count in cell_counts(self.model)]
        return cells[0] if len(cells) == 1 else self._beside(cells, widths, "mechanism.address")

    def _beside(self, refs: list[Ref], widths: list[int], name: str) -> Ref:
        return self.build.add(Concat(tuple(refs), tuple(widths), name=name))

    def _position(self, place: int, code: Ref, cell: Ref, bits: int) -> Ref:
        """`2 * (code inside its cell) + 1`."""
        if bits == 1:
            return self.build.add(Constant(1))
        name = self.model.features[self.model.mechanism.inputs[place]]
        low = self.build.add(Field(code, 0, bits - 1, name=f"{name}.inside"))
        starts = cell_starts(self.model)[place]
        if starts is not None:
            # All but the low bits of the difference are 0.
            back = tuple(-start % (1 << (bits - 1)) for start in starts)
            start = self.build.add(Table(cell, back, name=f"{name}.start"))
            total = self.build.add(Sum((low, start), (1, 1), name=f"{name}.since"))
            low = self.build.add(Field(total, 0, bits - 1, name=f"{name}.inside"))
        return self._odd(low, bits - 1, f"{name}.position")

    def _odd(self, value: Ref, bits: int, name: str) -> Ref:
        """`2 * value + 1` as wires.

        Not as a sum: Yosys moves an addition in front of a multiplier into the DSP block, also
        where both factors are that one sum, and then loses the other factor.
        """
        one = self.build.add(Constant(1))
        return self.build.add(Concat((one, value), (1, bits), name=name))

    def _odd_sum(self, value: Ref, _: int, name: str) -> Ref:
        return self.build.add(Sum((value,), (2,), 1, name=name))

    def _product(self, factors: list[Ref], name: str) -> Ref:
        if not factors:
            return self.build.add(Constant(1))
        total = factors[0]
        for factor in factors[1:]:
            total = self.build.add(Product(total, factor, name=name))
        return total
