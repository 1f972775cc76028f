"""How a readout learns on the chip, and how fast."""

from __future__ import annotations

from typing import Any

from scm_hw.design import Design
from scm_hw.rtl.adapt import AdaptTiming, adapt_cost
from scm_model.adaptation import MEAN_BITS, UPDATE_DELAY
from scm_model.drift import SAMPLES_TO_FALSE_ALARM


def adaptation_of(design: Design) -> dict[str, Any] | None:
    """Step, formats, pace and drift flag; None for a readout that doesn't learn."""
    if design.adaptive is None or design.options.adapt is None:
        return None
    own, settings = design.adaptive.adaptation, design.options.adapt
    assert isinstance(design.timing, AdaptTiming)
    cost = adapt_cost(design.adaptive, design.timing)
    bits = (own.terms - 1).bit_length()
    return {
        "step": 2.0**-settings.step,
        # L is rounded up to a power of two.
        "nlms_step": own.terms * 2.0 ** -(settings.step + bits),
        "leak": None if settings.leak is None else 2.0**-settings.leak,
        "terms": own.terms,
        "tables": len(own.tables),
        "bits": own.width,
        "fraction_bits": own.grid_bits + own.guard_bits,
        "oldest_target_samples": own.most_age,
        # An error is worked in without holding up the samples.
        "cycles_per_update": design.initiation_interval,
        "update_delay_samples": UPDATE_DELAY,
        "restart_samples": own.deaf,
        "mean_error_samples": 1 << MEAN_BITS,
        "drift": {
            "reference": own.drift.reference / 2.0**own.grid_bits,
            "threshold": None
            if own.drift.threshold is None
            else own.drift.threshold / 2.0**own.grid_bits,
            "samples_to_false_alarm": SAMPLES_TO_FALSE_ALARM,
        },
        "lut_estimate": cost.lut,
        "ff_estimate": cost.ff,
    }
