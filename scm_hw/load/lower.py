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
    Sum,
    Table,
    Xor,
)
from scm_hw.load.fixed_point import FixedPoint, fraction_bits
from scm_hw.load.model import Layer, Model

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
        top = (1 << self.input_bits) - 1
        codes = [
            self.build.add(Input(i, 0, top, name=name))
            for i, name in enumerate(self.model.features)
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
        count = encoder.bits[feature]
        lowest = self.input_bits - count
        plain = [
            self.build.add(Field(code, lowest + j, 1, name=f"{name}.bit{lowest + j}"))
            for j in range(count)
        ]
        if encoder.kind == "binary":
            return plain
        gray = [
            self.build.add(Xor((low, high), name=f"{name}.gray{j}"))
            for j, (low, high) in enumerate(pairwise(plain))
        ]
        return [*gray, plain[-1]]

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
        terms = [
            *zip(bits, self.fixed.readout[:, number], strict=True),
            *zip(codes, self.fixed.linear[:, number], strict=True),
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
                odd(codes[i], self.input_bits, f"{self.model.features[i]}.odd") for i in places
            ]
            terms.append((self._product(factors, "mechanism.product"), int(coefficient)))
        return terms

    def _table_terms(self, number: int, codes: list[Ref]) -> list[tuple[Ref, int]]:
        """A table for each product of positions inside the cell, addressed by the cell."""
        tables, inputs = self.fixed.mechanism, self.model.mechanism.inputs
        assert tables is not None
        inside = fraction_bits(self.model)
        address = self._cell_address([codes[i] for i in inputs], inside)
        positions = [
            self._position(codes[i], bits, self.model.features[i])
            for i, bits in zip(inputs, inside, strict=True)
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

    def _cell_address(self, codes: Sequence[Ref], inside: list[int]) -> Ref:
        widths = [self.input_bits - bits + 1 for bits in inside]
        fields = [
            self.build.add(Field(code, bits - 1, width, name="mechanism.cell"))
            for code, bits, width in zip(codes, inside, widths, strict=True)
        ]
        if len(fields) == 1:
            return fields[0]
        return self.build.add(Concat(tuple(fields), tuple(widths), name="mechanism.address"))

    def _position(self, code: Ref, bits: int, name: str) -> Ref:
        """`2 * (code inside its cell) + 1`."""
        if bits == 1:
            return self.build.add(Constant(1))
        low = self.build.add(Field(code, 0, bits - 1, name=f"{name}.inside"))
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
