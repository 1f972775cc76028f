"""What tells a file from others."""

from __future__ import annotations

import hashlib
from pathlib import Path

from scm_hw.errors import ModelFileError


def file_digest(path: Path) -> str:
    """SHA-256 of a model file, in hex."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ModelFileError(f"model file {path} can't be read ({error.strerror})") from None
