"""The boards of amaranth-boards, by the name of their module or of their class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache
from typing import Any

import amaranth_boards
from amaranth.build import TemplatedPlatform

Platform = type[TemplatedPlatform]


def plain(name: str) -> str:
    """A name without what people write in different ways: `ulx3s-85f` is `ULX3S_85F_Platform`."""
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return letters.removesuffix("platform") or letters


@cache
def platforms() -> dict[str, tuple[Platform, ...]]:
    """The boards of each module; those that can't be made, or are only bases, are left out."""
    found = {}
    for module in pkgutil.iter_modules(amaranth_boards.__path__):
        if not module.ispkg and not module.name.startswith("_"):
            classes = _platforms_of(importlib.import_module(f"amaranth_boards.{module.name}"))
            if classes:
                found[module.name] = classes
    return found


def _platforms_of(module: Any) -> tuple[Platform, ...]:
    return tuple(
        value
        for name, value in sorted(vars(module).items())
        if inspect.isclass(value)
        and issubclass(value, TemplatedPlatform)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
        and not name.startswith("_")
        and _instance(value) is not None
    )


def _instance(platform: Platform) -> Any:
    try:
        return platform()
    except (TypeError, ValueError):
        # A board file for a part that Amaranth doesn't know.
        return None


def matching(name: str) -> tuple[Platform, ...]:
    """The class of that name, or all of the module of that name."""
    wanted = plain(name)
    by_class = [
        c for classes in platforms().values() for c in classes if plain(c.__name__) == wanted
    ]
    if by_class:
        return tuple(by_class)
    return next((classes for name, classes in platforms().items() if plain(name) == wanted), ())


def name_of(platform: Platform) -> str:
    """How to call a board: as its module, or as its class where the module has more of them."""
    module = platform.__module__.rsplit(".", 1)[-1]
    if len(platforms().get(module, ())) == 1:
        return module
    return re.sub(r"_?platform$", "", platform.__name__.lower())


def has_uart(platform: Platform) -> bool:
    """Whether a top that answers over the serial port can be had, with a clock to run it."""
    board = platform()
    return ("uart", 0) in board.resources and board.default_clk is not None
