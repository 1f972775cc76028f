"""Texts that a build writes, from the template files beside the packages that write them."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render(package: str, name: str, /, **values: Any) -> str:
    """The file `name` in the package's folder `templates`, with its values in place."""
    return _environment(package).get_template(name).render(values)


@cache
def _environment(package: str) -> Environment:
    # Nothing is escaped here: each format has rules of its own. A missing value is an error.
    return Environment(
        loader=FileSystemLoader(str(resources.files(package) / "templates")),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
