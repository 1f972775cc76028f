"""A platform's own plan for a board top: constraints, scripts, and the top as Verilog."""

from __future__ import annotations

import re
from typing import Any

from amaranth.build import ResourceError
from amaranth.hdl import Elaboratable

from scm_hw.boards import Board
from scm_hw.errors import OptionError
from scm_hw.rtl.header import headed
from scm_hw.rtl.verilog import from_rtlil, garbage_kept
from scm_hw.tools.toolchain import TOP

_VERILOG = re.compile(r"emit_(debug_)?verilog")


def plan_files(
    board: Board,
    core_verilog: str,
    top: Elaboratable,
    core: str,
    *,
    toolchain: str | None = None,
    **words: str,
) -> dict[str, str]:
    """All files of the plan but the core, name to text; ``words`` go into its scripts."""
    assert board.platform is not None
    options = {} if toolchain is None else {"toolchain": toolchain}
    platform = _asking_for_rtlil(board.platform)(**options)
    platform.add_file(f"{core}.v", core_verilog)
    try:
        with garbage_kept():
            plan = platform.build(top, name=TOP, do_build=False, emit_src=False, **words)
    except (TypeError, ResourceError) as error:
        raise OptionError(
            f"board must have a file in amaranth-boards that takes a top, not {board.name!r}, "
            f"whose file fails ({error}); choose another board"
        ) from None
    # The core is in the build already.
    files = {name: _text(content) for name, content in plan.files.items() if name != f"{core}.v"}
    rtlil = files.pop(f"{TOP}.rtlil")
    title = f"{TOP}: {core} on the board {board.name}"
    return files | {f"{TOP}.v": _text(headed(from_rtlil(rtlil, TOP), title))}


def _asking_for_rtlil(platform: type[Any]) -> type[Any]:
    """The same platform, without its Verilog: each text of that would be a process of its own."""

    class Planned(platform):  # type: ignore[misc]
        @property
        def file_templates(self) -> dict[str, str]:
            own = super().file_templates.items()
            others = {name: text for name, text in own if not _VERILOG.search(text)}
            return others | {"{{name}}.rtlil": "{{emit_rtlil()}}"}

    return Planned


def _text(content: str | bytes) -> str:
    text = content.decode() if isinstance(content, bytes) else content
    return text.rstrip("\n") + "\n"
