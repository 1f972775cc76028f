"""A toolchain as a shell script, to be run again by hand."""

from __future__ import annotations

import shlex

from scm_hw.tools.toolchain import PACKAGES, Toolchain


def build_script(toolchain: Toolchain) -> str:
    """The same as a shell script, to be run again by hand in the build's folder."""
    lines = ["#!/bin/sh", f"# The bitstream {toolchain.bitstream} once more: sh build.sh", "set -e"]
    lines += [f': "${{{name}:={default}}}"' for name, default in toolchain.folders]
    for step in toolchain.steps:
        yowasp = step.tool in PACKAGES and PACKAGES[step.tool][1].startswith("yowasp_")
        tool = f"yowasp-{step.tool}" if yowasp else step.tool
        # A variable has to be expanded, and yet stay one word.
        words = [f'"{w}"' if w[:1] == "$" else shlex.quote(w) for w in step.arguments]
        lines.append(" ".join([tool, *words, *([f"> {step.output}"] if step.output else [])]))
    return "\n".join(lines) + "\n"
