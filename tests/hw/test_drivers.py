"""The drivers that a build writes, on its own Verilog: in C and for PYNQ, and on a file for UIO."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from scm_hw.design import Options
from scm_hw.emit import driver_files, register_files
from scm_hw.emit.identity import describe
from scm_hw.rtl.axi import registers as at
from scm_hw.tools import simulators
from scm_hw.tools.c_compilers import STRICT
from scm_hw.verify.rows import check_rows
from tests.hw.commands import small_model

HERE = Path(__file__).parent
VECTORS = 120
BUS = """#include <stdint.h>
uint32_t bus_read(uint32_t address);
void bus_write(uint32_t address, uint32_t word);
int bus_interrupt(void);
int bus_server(void);
uint32_t bus_read_checked(uintptr_t address);
#define MILL_READ32(address) bus_read_checked(address)
#define MILL_WRITE32(address, word) bus_write((uint32_t)(address), word)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Inputs from outside with a sign, and outputs of more than 32 bits."""
    folder = tmp_path_factory.mktemp("drivers")
    model = small_model(
        folder / "mill.npz", mechanism="external", outputs=2, layers=(6,), input_bits=8
    )
    how = BuildOptions(out=folder / "out", simulators=(), synthesis=False)
    options = Options(interface="axil", frac_bits=28, output_bits=32)
    return build(model, boards.get("arty-a7"), options, how)


def array(name: str, rows: np.ndarray) -> str:
    lines = ",\n".join("{" + ", ".join(f"INT64_C({word})" for word in row) + "}" for row in rows)
    return f"static const int64_t {name}[][{rows.shape[1]}] = {{\n{lines}\n}};\n"


@pytest.fixture(scope="module")
def program(built: Build) -> Path:
    """The driver, linked with its core in Verilator."""
    folder, design = built.folder, built.design
    assert max(design.ports.out_widths) > 32 and any(r.signed for r in design.input_ranges)
    rows = check_rows(design, design.model.evaluation)
    vectors = array("inputs", rows.inputs[:VECTORS]) + array("wanted", rows.outputs[:VECTORS])
    counts = f"#define VECTORS {VECTORS}u\n#define LATENCY {design.schedule.latency}\n"
    (folder / "vectors.h").write_text(counts + vectors)
    (folder / "bus.h").write_text(BUS)
    flags = ["-DMILL_BUS_HEADER=<bus.h>", "-I", folder, "-c"]
    for source in (folder / "mill_driver.c", HERE / "driver_main.c"):
        made = folder / f"{source.stem}.o"
        subprocess.run(["cc", *STRICT, *flags, source, "-o", made], check=True, timeout=60)
    argv = ["verilator", "--cc", "--exe", "--build", "--prefix", "Vdut", "--Mdir", "obj"]
    argv += ["-Wno-fatal", "-Wno-lint", "-Wno-style", "--timescale", "1ns/1ps", "-o", "bus"]
    argv += ["--top-module", "mill_axil", "mill_axil.v", "mill_core.v"]
    argv += [str(HERE / "axil_harness.cpp")]
    argv += [str(folder / f"{name}.o") for name in ("mill_driver", "driver_main")]
    environment = simulators.require("verilator")
    subprocess.run(argv, cwd=folder, env=environment, check=True, timeout=300, capture_output=True)
    return folder / "obj" / "bus"


def test_the_driver_in_c(program: Path) -> None:
    done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, f"PASS: {VECTORS} vectors\n")


class Bus:
    """What PYNQ's class of the same name offers to drivers, on the core in Verilator."""

    process: subprocess.Popen[str]

    def __init__(self, description: Any) -> None:
        self.description = description

    def read(self, offset: int) -> int:
        return int(self._ask(f"r {offset:x}"), 16)

    def write(self, offset: int, value: int) -> None:
        assert 0 <= value < 1 << 32
        self._ask(f"w {offset:x} {value:x}")

    def _ask(self, line: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()


@pytest.fixture
def overlay(built: Build, program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module for PYNQ, with a stand-in for the package of that name."""
    pynq = types.ModuleType("pynq")
    pynq.DefaultIP = Bus  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    monkeypatch.syspath_prepend(str(built.folder))
    for name in ("mill_pynq", "mill_formats"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with subprocess.Popen(
        [program, "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        Bus.process = process
        import mill_pynq

        yield mill_pynq
        assert process.stdin is not None
        process.stdin.close()
    for name in ("mill_pynq", "mill_formats"):
        sys.modules.pop(name, None)


def test_the_driver_for_pynq(built: Build, overlay: Any) -> None:
    design = built.design
    evaluation = design.model.evaluation
    assert evaluation is not None
    rows = check_rows(design, evaluation)
    mill = overlay.Mill({})
    found = [mill.predict_integers(row) for row in rows.inputs[:40].tolist()]
    np.testing.assert_array_equal(found, rows.outputs[:40])
    assert mill.cycles == design.schedule.latency
    units = mill.predict(evaluation.inputs, evaluation.mechanism)
    wanted = describe(design).units(rows.outputs[: len(evaluation)])
    np.testing.assert_array_equal(units, wanted)
    mill.write(at.ID, 0)
    with pytest.raises(RuntimeError, match="refused the sample"):
        mill.predict_integers(rows.inputs[0].tolist())
    assert mill.predict_integers(rows.inputs[0].tolist()) == rows.outputs[0].tolist()


def test_pynq_refuses_the_core_of_another_build(overlay: Any) -> None:
    overlay.FORMATS["digest"] = "00" * 32
    with pytest.raises(RuntimeError, match=f"these files are of {'0' * 16}; copy those of its"):
        overlay.Mill({})


UIO_MAIN = """#include <errno.h>
#include <stdio.h>
#include "mill_uio.h"
int main(int count, char **arguments)
{
    mill_uio uio;
    (void)count;
    if (mill_uio_open(&uio, arguments[1], 4096) != 0) {
        return errno == ENODEV ? 2 : 3;
    }
    printf("%u\\n", (unsigned)mill_cycles(&uio.device));
    mill_uio_close(&uio);
    return 0;
}
"""


def test_uio_maps_the_registers(built: Build, tmp_path: Path) -> None:
    """On a file in the place of the device: it checks what it mapped, and says why not."""
    (tmp_path / "main.c").write_text(UIO_MAIN)
    sources = [tmp_path / "main.c", *(built.folder / f"mill_{x}.c" for x in ("uio", "driver"))]
    argv = ["cc", *STRICT, "-I", built.folder, *sources, "-o", tmp_path / "main"]
    subprocess.run(argv, check=True, timeout=60)
    memory = bytearray(1 << at.ADDRESS_BITS)
    words = {at.ID: at.MAGIC, at.MAP_VERSION: at.VERSION, at.CYCLES: 77}
    for address, word in words.items():
        memory[address : address + 4] = word.to_bytes(4, "little")
    memory[at.DIGEST : at.DIGEST + 32] = bytes.fromhex(built.design.digest)
    device = tmp_path / "uio0"

    def opened() -> tuple[int, str]:
        device.write_bytes(bytes(4096) + memory)
        done = subprocess.run(
            [tmp_path / "main", device], capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout

    assert opened() == (0, "77\n")
    memory[at.DIGEST + 31] ^= 1
    assert opened() == (2, "")
    os.remove(device)
    gone = subprocess.run([tmp_path / "main", device], timeout=60, check=False)
    assert gone.returncode == 3


def test_drivers_of_wishbone_name_its_wrapper(built: Build) -> None:
    fields = describe(built.design, "mill")
    how = ("wishbone", fields, built.design.digest, built.design.names)
    files = driver_files(*how) | register_files(*how)
    # An overlay of PYNQ has no Wishbone.
    assert sorted(files) == [
        f"mill_{n}" for n in ("driver.c", "driver.h", "regs.h", "uio.c", "uio.h")
    ]
    assert not [name for name, text in files.items() if "axil" in text or "AXI" in text]
    assert "mill_wishbone, the core behind Wishbone" in files["mill_driver.h"]
