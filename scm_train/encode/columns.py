"""Encoders of features that are made of columns: a bit is one bit, however many others have."""

from __future__ import annotations

from dataclasses import replace

from scm_model import Columns, Encoder
from scm_model.raw_columns import VALUE
from scm_train.errors import ParameterError

__all__ = ["encoder_of_columns"]

#: Codes of a category in order that have a threshold each; of more, some.
MOST_CODES = 64


def encoder_of_columns(encoder: Encoder, columns: Columns) -> Encoder:
    """The encoder with bits that suit indicators, ordered codes and missing values."""
    if encoder.kind == "none":
        return encoder
    assert encoder.input_bits is not None
    top = (1 << encoder.input_bits) - 1
    bits, thresholds = list(encoder.bits), list(encoder.thresholds)
    for i, (place, what) in enumerate(columns.features):
        column = columns.columns[place]
        own = 1 if what != VALUE else column.bits if column.is_category else None
        # Indicators and categories need no more bits than tell their codes apart.
        if own is not None:
            own = min(own, encoder.input_bits)
            bits[i] = own
            if thresholds and (1 << own) <= MOST_CODES:
                thresholds[i] = tuple(k << (encoder.input_bits - own) for k in range(1, 1 << own))
        elif column.missing == "code":
            if not thresholds:
                raise ParameterError(
                    f"missing must be 'median' with encoder {encoder.kind!r}, whose bits do not "
                    "tell the code of a missing value from others; or take encoder 'thermometer:31'"
                )
            # The code of a missing value is the top one, which only a threshold there tells from
            # others.
            thresholds[i] = tuple(sorted({*thresholds[i], top}))
    counts = tuple(map(len, thresholds)) if thresholds else tuple(bits)
    return replace(encoder, bits=counts, thresholds=tuple(thresholds))
