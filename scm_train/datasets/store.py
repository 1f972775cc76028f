"""Where data files are: the folder `SCM_DATA`, then the user's cache, then OpenML."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from scm_train.errors import DataError
from scm_train.output_files import write_output

__all__ = ["cache_folder", "fetch", "find", "write_atomically"]


def cache_folder() -> Path:
    """This user's cache for downloaded data sets; it need not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "scm-train"


def find(candidates: Sequence[str]) -> Path | None:
    """The first of `candidates`, paths inside a data folder, that exists in the first folder."""
    folders = [Path(named)] if (named := os.environ.get("SCM_DATA")) else []
    for folder in [*folders, cache_folder()]:
        for candidate in candidates:
            if (path := folder / candidate).is_file():
                return path
    return None


def missing(name: str, candidates: Sequence[str], remedy: str) -> DataError:
    """The error for a data set that is not found."""
    return DataError(
        f"can't find data set {name!r}: there is no file {' or '.join(candidates)} in SCM_DATA "
        f"({os.environ.get('SCM_DATA') or 'not set'}) or {cache_folder()}; {remedy}"
    )


def fetch(name: str, data_id: int, candidates: Sequence[str]) -> Any:
    """OpenML's data set `data_id` with pandas frames, or one line of what to do by hand."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            # A network that fails is reported below, in one line.
            warnings.filterwarnings("ignore", message="A network error occurred")
            return fetch_openml(data_id=data_id, as_frame=True, cache=False, n_retries=1)
    except ImportError as error:
        remedy = f"install pandas to fetch it from OpenML (data_id {data_id})"
        raise missing(name, candidates, remedy) from error
    # OSError is what urllib raises for everything a network does; the rest is a bad answer.
    except (OSError, ValueError, RuntimeError) as error:
        remedy = f"OpenML (data_id {data_id}) could not be reached; copy the file to that folder"
        raise missing(name, candidates, remedy) from error


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Make `path`, and its folder, so that a failed run leaves no part of a file behind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"can't save {path.name}: {path.parent} can't be created ({error.strerror}); set "
            "XDG_CACHE_HOME to a writable folder"
        ) from error
    write_output(path, write)
