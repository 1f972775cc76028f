"""From a model file to a Program.

`scm_model` reads and checks the file. `choose_fixed_point` puts its coefficients on a binary grid
(after `for_hardware`, where a build has units of its own) and `choose_output_bits` says how much of
their products is kept, `lower` writes the Program down, and
`evaluate` is the PC model that hardware is compared with.
"""

from scm_hw.load.lower import check_supported, lower, lower_model
from scm_hw.load.lowered import Lowered, LoweredLayer, Terms
from scm_hw.load.sensors import InputFormat, for_hardware, formats_of, parse_input_formats
from scm_model import (
    Activity,
    Encoder,
    Evaluation,
    Layer,
    Mechanism,
    Model,
    classes_of,
    codes,
    evaluate,
    model_from_arrays,
    normalise,
    read_model,
)
from scm_model.fixed_point import (
    FixedPoint,
    cut,
    fixed_output,
    integers,
    mechanism_words,
    normalised_results,
    quantise,
    rmse,
)
from scm_model.precision import DEFAULT_TOLERANCE, choose_fixed_point, choose_output_bits

__all__ = [
    "DEFAULT_TOLERANCE",
    "Activity",
    "Encoder",
    "Evaluation",
    "FixedPoint",
    "InputFormat",
    "Layer",
    "Lowered",
    "LoweredLayer",
    "Mechanism",
    "Model",
    "Terms",
    "check_supported",
    "choose_fixed_point",
    "choose_output_bits",
    "classes_of",
    "codes",
    "cut",
    "evaluate",
    "fixed_output",
    "for_hardware",
    "formats_of",
    "integers",
    "lower",
    "lower_model",
    "mechanism_words",
    "model_from_arrays",
    "normalise",
    "normalised_results",
    "parse_input_formats",
    "quantise",
    "read_model",
    "rmse",
]
