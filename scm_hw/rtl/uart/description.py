"""What the numbers on the wire mean: formats of all fields, as the board tells them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.common.columns import by_name, outside_range
from scm_hw.errors import LinkError, OptionError
from scm_hw.load.capacity import Capacity
from scm_hw.rtl.uart.description_fields import (
    adapt_of,
    checked,
    columns_of,
    idle_of,
    labels_of,
    models_of,
    processor_of,
    reload_of,
    row_of,
)
from scm_hw.rtl.uart.fields import Adapt, Feature, Output, Reload, Word, codes_of, words_of
from scm_model import Column
from scm_model.column_entries import column_meta
from scm_model.errors import DataError
from scm_model.raw_columns import raw_arrays

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The largest that a board keeps; a larger one stays in the model file.
MAX_BYTES = 49_152


@dataclass(frozen=True)
class Description:
    """The fields of `in_data` and `out_data`, in the order in which they are packed.

    `frac_bits` of the coefficients were chosen for a `tolerance`, or given: then that is None. Sums
    and products are rounded to `output_bits`, None where they are exact. With `output_units`
    outputs and words are in the units of their targets. `columns` say what the features are besides
    plain numbers, where any is.
    """

    name: str
    features: tuple[Feature, ...]
    words: tuple[Word, ...]
    outputs: tuple[Output, ...]
    classes: tuple[Any, ...] | None
    frac_bits: int
    tolerance: float | None
    output_units: bool = False
    columns: tuple[Column, ...] = ()
    output_bits: int | None = None
    records: bool = False
    """Samples of signals in the order of time: the last feature is the bit that begins a record,
    and the last output says that the history was full."""
    reload: Reload | None = None
    """How the readout can be loaded, where it can."""
    processor: Capacity | None = None
    """What a core has room for that is given whole models."""
    idle: tuple[int, int] = (0, 0)
    """How many inputs and outputs, the last ones, a processor's model has no use for."""
    flags: int = 0
    """How many of the last outputs say what the others are worth: margin and flags."""
    adapt: Adapt | None = None
    """How the readout learns, where it does: the words are then targets, the age where there is
    one, and whether to learn, to freeze and to restart; the last two outputs are the mean of the
    absolute error and the drift flag."""
    models: int = 1
    """How many models there are to choose from; with several, the last feature is the number."""
    keyed: bool = False
    """Whether uploads need a key."""

    @property
    def loads(self) -> bool:
        """Whether it can be given another model, or a readout."""
        return self.reload is not None or self.processor is not None

    @property
    def in_widths(self) -> list[int]:
        return [port.bits for port in self.features] + [word.bits for word in self.words]

    @property
    def out_widths(self) -> list[int]:
        return [port.bits for port in self.outputs]

    def encode(self) -> bytes:
        """Rows of values without their names; nothing where that is more than a board keeps."""
        record: dict[str, Any] = {
            "name": self.name,
            "features": [list(asdict(port).values()) for port in self.features],
            "words": [list(asdict(port).values()) for port in self.words],
            "outputs": [list(asdict(port).values()) for port in self.outputs],
            "classes": None if self.classes is None else list(self.classes),
            "frac_bits": self.frac_bits,
            "tolerance": self.tolerance,
            "output_units": self.output_units,
            "output_bits": self.output_bits,
        }
        if self.records:
            record["records"] = True
        if self.flags:
            record["flags"] = self.flags
        if self.reload is not None:
            record["reload"] = asdict(self.reload)
        if self.models > 1:
            record["models"] = self.models
        if self.keyed:
            record["keyed"] = True
        if self.processor is not None:
            record["processor"] = asdict(self.processor)
            record["idle"] = list(self.idle)
        if self.adapt is not None:
            record["adapt"] = asdict(self.adapt)
        if self.columns:
            record["columns"] = [column_meta(column) for column in self.columns]
        text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
        return text if len(text) <= MAX_BYTES else b""

    @classmethod
    def decode(cls, data: bytes) -> Description:
        """LinkError where the bytes are no description."""
        try:
            record = json.loads(data)
            classes, tolerance = record["classes"], record["tolerance"]
            bits = record.get("output_bits")
            found = cls(
                name=checked(str, record["name"]),
                features=tuple(row_of(Feature, row) for row in record["features"]),
                words=tuple(row_of(Word, row) for row in record["words"]),
                outputs=tuple(row_of(Output, row) for row in record["outputs"]),
                classes=None if classes is None else labels_of(classes),
                frac_bits=checked(int, record["frac_bits"]),
                tolerance=None if tolerance is None else checked(float, tolerance),
                output_units=checked(bool, record["output_units"]),
                columns=columns_of(record),
                # Boards of earlier versions don't say, and are exact.
                output_bits=None if bits is None else checked(int, bits),
                records=checked(bool, record.get("records", False)),
                reload=reload_of(record.get("reload")),
                processor=processor_of(record.get("processor")),
                idle=idle_of(record.get("idle", [0, 0])),
                flags=checked(int, record.get("flags", 0)),
                adapt=adapt_of(record.get("adapt")),
                models=models_of(record.get("models", 1)),
                keyed=checked(bool, record.get("keyed", False)),
            )
            _check_counts(found)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise LinkError(
                f"description must be what this version writes, not {data[:40]!r} ({error}); "
                "program the board again, or give the model"
            ) from None
        return found

    def inputs(self, rows: Any, mechanism: Any = None, bank: int = 0) -> Integers:
        """Raw rows as the integers that enter the core; named columns are found by their names.

        `bank` is the number of the model that they are for.
        """
        self.check_bank(bank)
        columns = self._column_codes(rows) if self.columns else self._feature_codes(rows)
        if self.records and len(columns) < len(self.features):
            # All rows are one record.
            columns.append((np.arange(len(columns[0])) == 0).astype(np.int64))
        if self.adapt is not None:
            # Neither a target nor the bit to learn: the core only answers.
            columns += [np.zeros_like(columns[0])] * len(self.words)
        elif self.words:
            columns += self._mechanism_words(len(columns[0]), mechanism)
        columns += [np.zeros(len(columns[0]), np.int64)] * self.idle[0]
        if self.models > 1:
            columns.append(np.full(len(columns[0]), bank, np.int64))
        return np.stack(columns, axis=1)

    @property
    def _used(self) -> tuple[Feature, ...]:
        """The features of the model, without inputs that it has no use for."""
        return self.features[: len(self.features) - self.idle[0] - (self.models > 1)]

    def check_bank(self, bank: int) -> None:
        """OptionError unless there is a model of that number."""
        if not 0 <= bank < self.models:
            raise OptionError(
                f"bank must be in [0, {self.models - 1}], not {bank}; build the core with more "
                "--banks"
            )

    def learning_inputs(
        self, rows: Any, targets: Any, *, age: int = 0, freeze: bool = False, restart: bool = False
    ) -> Integers:
        """Raw rows and raw targets (n, m) as the integers that enter a core that learns."""
        if self.adapt is None:
            raise OptionError("board must be built with --adapt to learn; build it again")
        if not 0 <= age <= self.adapt.most_age:
            raise OptionError(
                f"age must be in [0, {self.adapt.most_age}], not {age}; build with a larger "
                "--adapt-delay for later targets"
            )
        found = self.inputs(rows)
        first, count = len(self.features), len(self.outputs) - self.flags
        values = np.asarray(targets, dtype=np.float64).reshape(len(found), -1)
        if values.shape[1] != count or not np.isfinite(values).all():
            raise OptionError(
                f"targets must be {count} finite numbers for each row, not {values.shape}"
            )
        ports = self.words[:count]
        found[:, first : first + count] = np.stack(
            [words_of(port, column) for port, column in zip(ports, values.T, strict=True)], axis=1
        )
        # Counted from the end: restart, freeze, learn, and before them the age where there is one.
        if self.adapt.most_age:
            found[:, -4] = age
        found[:, -3:-1] = (1, int(freeze))
        found[0, -1] = int(restart)
        return found

    def _column_codes(self, rows: Any) -> list[Integers]:
        """Codes of categories, and of numbers of which the greatest may stand for a missing one."""
        read, found = self._read(rows), []
        for port, column, values in zip(self._used, self.columns, read, strict=True):
            top, missing = (1 << port.bits) - 1, np.isnan(values)
            if column.is_category:
                found.append(values.astype(np.int64))
                continue
            code = codes_of(port, np.where(missing, port.low, values))
            if column.missing is not None:
                code = np.where(missing, top, np.minimum(code, top - 1))
            found.append(code)
        return found

    def _read(self, rows: Any) -> list[Floats]:
        names = [port.name for port in self._used]
        try:
            arrays = raw_arrays(rows, names)
            triples = zip(names, self.columns, arrays, strict=True)
            return [column.read(name, values) for name, column, values in triples]
        except DataError as error:
            raise OptionError(str(error)) from None

    def _feature_codes(self, rows: Any) -> list[Integers]:
        ports = self._given(rows)
        rows = by_name(rows, [port.name for port in ports])
        if rows.ndim != 2 or rows.shape[1] != len(ports):
            raise OptionError(
                f"rows must have {len(ports)} columns "
                f"({', '.join(port.name for port in ports[:6])} ...), not {rows.shape}"
            )
        if not np.isfinite(rows).all():
            raise OptionError("rows must be finite numbers, not inf or nan")
        return [codes_of(port, rows[:, i]) for i, port in enumerate(ports)]

    def _given(self, rows: Any) -> tuple[Feature, ...]:
        """The features that rows have: the bit that begins a record may be left out."""
        if not self.records:
            return self._used
        names = getattr(rows, "columns", None)
        told = (
            self.features[-1].name in names
            if names is not None
            else (np.ndim(rows) == 2 and np.shape(rows)[1] == len(self.features))
        )
        return self.features if told else self.features[:-1]

    def outside_range(self, rows: Any) -> str | None:
        """One line on the values of raw rows that are limited to the range of their feature."""
        ports = self._given(rows)
        names = [port.name for port in ports]
        low, high = [port.low for port in ports], [port.high for port in ports]
        # Nothing is outside a range that is missing: comparisons with NaN are false.
        values = np.stack(self._read(rows), axis=1) if self.columns else by_name(rows, names)
        return outside_range(names, values, low, high)

    def _mechanism_words(self, count: int, mechanism: Any) -> list[Integers]:
        if mechanism is not None:
            mechanism = by_name(mechanism, [word.name for word in self.words], "mechanism")
        shape = None if mechanism is None else np.shape(mechanism)
        if shape != (count, len(self.words)):
            raise OptionError(
                f"mechanism must have {count} rows and {len(self.words)} columns, not {shape}; "
                "this model takes it from outside"
            )
        return [words_of(port, col) for port, col in zip(self.words, mechanism.T, strict=True)]

    def units(self, results: Integers) -> NDArray[Any]:
        """Outputs in target units, a column each; or the class of each row; without flags."""
        if self.classes is not None:
            found = results[:, 0]
            if found.max(initial=0) >= len(self.classes) or found.min(initial=0) < 0:
                raise LinkError(
                    f"class must be one of {len(self.classes)}, not number {found.max()}; "
                    "program the board again"
                )
            return np.array(self.classes)[found]
        ports = self.outputs[: len(self.outputs) - self.records - self.flags - self.idle[1]]
        scales = np.array([(port.high - port.low) / 2.0**port.fraction for port in ports])
        with np.errstate(over="ignore"):
            return results[:, : len(ports)] * scales + np.array([port.low for port in ports])

    def flag_values(self, results: Integers) -> dict[str, NDArray[Any]]:
        """Margin and flags by name: numbers in the unit of the scores, and truth values."""
        first = len(self.outputs) - self.flags
        return {
            port.name: results[:, place] == 1
            if port.bits == 1
            else results[:, place] / 2.0**port.fraction
            for place, port in enumerate(self.outputs[first:], start=first)
        }


def _check_counts(found: Description) -> None:
    inputs, outputs = found.idle
    inputs += found.models > 1
    used = found.features[: len(found.features) - inputs]
    if not (inputs < len(found.features) and outputs < len(found.outputs)):
        raise ValueError(f"{inputs} inputs and {outputs} outputs without use")
    for port, column in zip(used, found.columns, strict=bool(found.columns)):
        if column.is_category and column.count > 1 << port.bits:
            raise ValueError(f"{column.count} labels in {port.bits} bits")
    outputs = len(found.outputs) - found.records - found.flags
    if (
        found.flags < 0
        or len(found.features) <= found.records
        or outputs < 1
        or (found.classes is not None and outputs != 1)
    ):
        raise ValueError(f"{len(found.features)} features and {outputs} outputs")
    # A classifier has a word for each class, and gives the number of one.
    scores = outputs if found.classes is None else len(found.classes)
    if found.adapt is not None:
        # Learn, freeze and restart, and the age where there is one.
        scores += 3 + bool(found.adapt.most_age)
    if found.words and len(found.words) != scores:
        raise ValueError(f"{len(found.words)} words for {scores} outputs")
