"""From a model to a finished core: options, the choice of a shape, and the stages in a row."""

from scm_hw.design.compiler import CORE, TOOLS, Design, compile_model, synthesised_cells
from scm_hw.design.options import (
    DEFAULT_BAUD,
    RELOADS,
    TOPS,
    Options,
    delay_model,
    speed_grade,
    usable_dsps,
    wrapper_arrival,
)
from scm_hw.design.shape import Measure
from scm_hw.design.tables import without_block_tables

__all__ = [
    "CORE",
    "DEFAULT_BAUD",
    "RELOADS",
    "TOOLS",
    "TOPS",
    "Design",
    "Measure",
    "Options",
    "compile_model",
    "delay_model",
    "speed_grade",
    "synthesised_cells",
    "usable_dsps",
    "without_block_tables",
    "wrapper_arrival",
]
