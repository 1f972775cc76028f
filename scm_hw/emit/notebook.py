"""Jupyter notebooks, from templates whose cells begin with `# %%`."""

from __future__ import annotations

import json
import re
from typing import Any

from scm_hw.common.templates import render

_CELL = re.compile(r"^# %%( \[markdown\])?\n", re.M)


def notebook(package: str, template: str, **words: Any) -> str:
    """The notebook as JSON, without results."""
    _, *parts = _CELL.split(render(package, template, **words))
    cells = []
    for number, (mark, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        lines = text.strip("\n").splitlines(keepends=True)
        if mark:
            # In the template, text is written as comments.
            lines = [line.removeprefix("# ").removeprefix("#") for line in lines]
        cell: dict[str, Any] = {"cell_type": "markdown" if mark else "code"}
        cell |= {"id": f"cell{number}", "metadata": {}, "source": lines}
        cells.append(cell if mark else cell | {"execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1) + "\n"
