"""What a trained machine is: its file, its parts, and what it predicts.

Trainer and compiler share this package and nothing else; it imports NumPy and nothing of ours.
``model_file.md`` is the format in prose.
"""

from scm_model.activations import HARDWARE_ACTIVATIONS
from scm_model.encoder import Encoder
from scm_model.errors import ModelFileError, ScmError
from scm_model.layers import AnyLayer, FamilyLayer, HiddenLayers, Layer
from scm_model.mechanism import (
    ExternalModel,
    Mechanism,
    NoMechanism,
    PolynomialModel,
    TableModel,
)
from scm_model.memory import Memory, Tap
from scm_model.model import Code, Curve, Evaluation, Model
from scm_model.raw_columns import Column, Columns, Feature
from scm_model.reader import model_from_arrays, read_model
from scm_model.reference import (
    Activity,
    classes_of,
    codes,
    evaluate,
    family_output,
    hidden_output,
    input_codes,
    normalise,
)
from scm_model.storage import Storage, storage, storage_of
from scm_model.writer import model_to_arrays, write_model

__all__ = [
    "HARDWARE_ACTIVATIONS",
    "Activity",
    "AnyLayer",
    "Code",
    "Column",
    "Columns",
    "Curve",
    "Encoder",
    "Evaluation",
    "ExternalModel",
    "FamilyLayer",
    "Feature",
    "HiddenLayers",
    "Layer",
    "Mechanism",
    "Memory",
    "Model",
    "ModelFileError",
    "NoMechanism",
    "PolynomialModel",
    "ScmError",
    "Storage",
    "TableModel",
    "Tap",
    "classes_of",
    "codes",
    "evaluate",
    "family_output",
    "hidden_output",
    "input_codes",
    "model_from_arrays",
    "model_to_arrays",
    "normalise",
    "read_model",
    "storage",
    "storage_of",
    "write_model",
]
