"""The machine as C99, for microcontrollers and PLCs."""

from scm_hw.emit.c.files import c_files
from scm_hw.emit.c.program import Function, function_of

__all__ = ["Function", "c_files", "function_of"]
