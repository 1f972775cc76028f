"""The C header of the registers, compiled, and the table in the manual say what the wrapper has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scm_hw.common.names import DEFAULT
from scm_hw.emit import register_files
from scm_hw.rtl.axi import registers as at
from scm_hw.rtl.uart.description import Description
from scm_hw.rtl.uart.fields import Feature, Output
from tests.support import REPOSITORY

DIGEST = "ab" * 32
# Names that end a comment, or a line, or are trigraphs, where they are not escaped.
DESCRIPTION = Description(
    name="demo",
    features=(Feature("*/ #error", 12, 0.0, 1.0), Feature("/* ??/\n\\", 32, 0.0, 1.0)),
    words=(),
    outputs=(Output('speed "é"', 40, True, 12, 0.0, 1.0),),
    classes=None,
    frac_bits=12,
    tolerance=None,
)
ROWS = [f"REG_{register.name}" for register in at.REGISTERS if register.count == 1]
ROWS += [f"REG_{register.name}(3u)" for register in at.REGISTERS if register.count != 1]
ROWS += [f"CONTROL_{bit.name}" for bit in at.CONTROL_BITS]
ROWS += [f"STATUS_{bit.name}" for bit in at.STATUS_BITS]
ROWS += ["REG_INPUT_HIGH(1u)", "REG_OUTPUT_HIGH(0u)", "STATUS_ERRORS", "REGS_BYTES"]
ROWS += ["REGS_ID", "REGS_VERSION", "REGS_INPUTS", "REGS_OUTPUTS", "REG_INPUT_1"]
ROWS += ["INPUT_0_BITS", "REG_OUTPUT_0", "OUTPUT_0_BITS"]


def expected() -> list[int]:
    values = [register.address for register in at.REGISTERS if register.count == 1]
    values += [r.address + 3 * r.step for r in at.REGISTERS if r.count != 1]
    values += [bit.mask for bit in (*at.CONTROL_BITS, *at.STATUS_BITS)]
    values += [0x1000C, 0x20004, 0x78, 0x40000]
    values += [0x314D4353, at.VERSION, 2, 1, 0x10008]
    return [*values, 12, 0x20000, 40]


def test_a_c_program_reads_the_map_from_the_header(tmp_path: Path) -> None:
    files = register_files("axil", DESCRIPTION, DIGEST)
    (tmp_path / DEFAULT.registers_header).write_text(
        files[DEFAULT.registers_header], encoding="utf-8"
    )
    lines = [f'    printf("%lu\\n", (unsigned long)SCM_{row});' for row in ROWS]
    program = ["#include <stdio.h>", f'#include "{DEFAULT.registers_header}"']
    # Twice, as drivers do by way of others.
    program += [f'#include "{DEFAULT.registers_header}"', "int main(void) {", *lines]
    program += ["    puts(SCM_REGS_DIGEST);", "    return 0;", "}"]
    (tmp_path / "main.c").write_text("\n".join(program) + "\n")
    argv = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "main.c", "-o", "main"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    out = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    *numbers, digest = out.stdout.split()
    assert [int(number) for number in numbers] == expected()
    assert digest == DIGEST


@pytest.mark.parametrize("interface", ["stream", "axis"])
def test_other_interfaces_have_no_registers(interface: str) -> None:
    assert register_files(interface, DESCRIPTION, DIGEST) == {}


def test_the_manual_has_the_same_map() -> None:
    text = (REPOSITORY / "docs" / "hardware.md").read_text(encoding="utf-8")
    for register in at.REGISTERS:
        place = f"`{register.address:#07x}`" + (
            "" if register.count == 1 else f" + {register.step} i"
        )
        row = f"| {place} | {register.name} | {register.access} | {register.meaning} |"
        assert row in text
    for bit in (*at.CONTROL_BITS, *at.STATUS_BITS):
        row = f"| {bit.mask.bit_length() - 1} | {bit.name} | {bit.meaning} |"
        assert row in text
