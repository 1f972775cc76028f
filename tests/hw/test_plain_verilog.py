"""Emitted Verilog as a reviewer sees it: plain names, and no word of slang and Verilator."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from pyslang import driver

from scm_hw import boards
from scm_hw.design import Design, Options, compile_model
from scm_hw.emit import interface_files, uart_files
from scm_hw.emit.identity import identity
from scm_hw.load import model_from_arrays
from scm_hw.rtl import to_verilog
from scm_hw.rtl.header import headed
from scm_hw.verify import lint
from tests.hw.test_families import family_model
from tests.support import model_arrays

BOARD = boards.get("nexys-a7")
# Signals are named for the waveform (Verilator's UNUSEDSIGNAL); factors of products are signed.
UNDERSTOOD = (
    "unused-net",
    "unused-port",
    "unused-but-set-net",
    "unused-but-set-port",
    "unused-but-set-variable",
    "sign-conversion",
)


def slang(files: list[Path], top: str, capfd: pytest.CaptureFixture[str]) -> str:
    """What it has to say with all its warnings on width, sign and style."""
    found = driver.Driver()
    found.addStandardArgs()
    capfd.readouterr()
    words = ["slang", "-Wextra", "-Wconversion", "-Wunused", "--top", top, *map(str, files)]
    words += [f"-Wno-{warning}" for warning in UNDERSTOOD]
    assert found.parseCommandLine(" ".join(words))
    assert found.processOptions()
    assert found.parseAllSources()
    compilation = found.createCompilation()
    found.reportCompilation(compilation, True)
    found.runAnalysis(compilation)
    ok = found.reportDiagnostics(True)
    said = "".join(capfd.readouterr())
    return said if said or ok else "failed without a word"


def compiled(arrays: dict[str, object], **options: object) -> Design:
    model = model_from_arrays(arrays)
    return compile_model(model, BOARD, Options(**options), model_digest="0" * 64)


def unrolled() -> Design:
    """Two layers, a polynomial, several outputs, and products in DSP blocks."""
    arrays = model_arrays(3, features=3, layers=(4, 3), outputs=2, mechanism="polynomial")
    return compiled(arrays, clock_mhz=120.0)


def classifier() -> Design:
    return compiled(model_arrays(5, features=4, layers=(5,), outputs=3, task="classification"))


def folded() -> Design:
    return compiled(model_arrays(4, features=3, layers=(6,)), fold="2x4")


def in_block_memory() -> Design:
    return compiled(model_arrays(6, features=3, layers=(6,), encoder="none"), tables="block")


def families() -> Design:
    return compile_model(family_model(3, 2, 0), BOARD, Options())


def queued() -> Design:
    return compiled(model_arrays(4, features=3), handshake="skid", input_register=True)


def without_ready() -> Design:
    return compiled(model_arrays(4, features=3), handshake="none")


KINDS: list[Callable[[], Design]] = [
    unrolled,
    classifier,
    folded,
    in_block_memory,
    families,
    queued,
    without_ready,
]


def review(text: str) -> list[str]:
    """What a reviewer would not let pass, by the text alone."""
    code = re.sub(r"^//.*\n", "", text, flags=re.M)
    found = re.findall(r"\\\S+ |\$auto\S*|dump_module\S*|\(\*[^*\"]*[0-9]'[bh]\w*x\w* \*\)", code)
    found += re.findall(r"always @\*|always_comb", code)
    found += [name for name in re.findall(r"^module (\S+?)\(", code, re.M) if "." in name]
    for module in code.split("\nmodule ")[1:]:
        for port in re.findall(r"^  input (?:\[\d+:0\] )?(\w+);$", module, re.M):
            uses = len(re.findall(rf"\b{port}\b", module))
            # In the list of ports, its direction and its kind.
            # AXI and the board ask for them: registers have nothing to protect, a pin is a pin.
            expected = port in ("s_axi_awprot", "s_axi_arprot") or port.endswith("__io")
            found += [f"input {port} is unused"] if uses <= 3 and not expected else []
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_core_passes_review(
    kind: Callable[[], Design], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    design = kind()
    path = tmp_path / "scm_core.v"
    path.write_text(design.verilog)
    assert review(design.verilog) == []
    assert slang([path], "scm_core", capfd) == ""
    lint([path], "scm_core")


@pytest.mark.parametrize("interface", ["axis", "axil"])
def test_a_wrapper_passes_review(
    interface: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    design = compiled(model_arrays(2, features=3, outputs=2), interface=interface)
    files = {"scm_core.v": design.verilog}
    files |= interface_files(interface, design.ports, design.digest, BOARD)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert review(files[f"scm_{interface}.v"]) == []
    paths = [tmp_path / "scm_core.v", tmp_path / f"scm_{interface}.v"]
    assert slang(paths, f"scm_{interface}", capfd) == ""
    lint(paths, f"scm_{interface}")


def test_a_board_top_has_plain_names() -> None:
    design = compiled(model_arrays(2, features=3))
    hello, description = identity(design, "m")
    top = uart_files(BOARD, design.verilog, hello, description)["scm_top.v"]
    # Attributes of the vendor's tools have names with dots.
    assert review(re.sub(r"\(\* \\amaranth\S+ ", "(* ", top)) == []
    assert top.startswith("// scm_top: scm_core on the board nexys-a7\n")


def test_a_header_says_what_the_core_is() -> None:
    design = unrolled()
    header = design.verilog.partition("\n`timescale 1ns / 1ps\n")[0].splitlines()
    assert header[0] == "// scm_core: a stochastic configuration machine"
    assert "// SPDX-License-Identifier: BSD-2-Clause" in header
    assert f"// model     {'0' * 64}" in header
    assert f"// design    {design.digest}" in header
    assert f"// latency   {design.schedule.latency} cycles, a sample every 1" in header
    assert "//                         8  [15:8] x1" in header
    listed = {line.split()[1] for line in header if re.match(r"// \w+ +(in|out) ", line)}
    ports = {"clk", "rst", "in_valid", "in_ready", "in_data", "out_valid", "out_ready", "out_data"}
    assert listed == ports
    assert "_ready" not in without_ready().verilog
    assert design.verilog.endswith("\n`default_nettype wire\n")


def test_a_name_cannot_leave_the_header() -> None:
    text = headed("module m; endmodule", "m", [("core", "a\n`include x\u2028b \\")])
    assert all(line.startswith("//") for line in text.partition("\n\nmodule")[0].splitlines())
    assert "//           " not in text and "a?`include x?b\n" in text


def test_parameters_of_every_kind_are_kept() -> None:
    """Of primitives of a vendor: numbers, signed ones, texts with spaces, and reals."""

    class Clocks(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"a": In(1), "y": Out(1)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            values = {"p_A": 5, "p_B": -3, "p_C": "two words", "p_D": 1.5, "p_E": 2.5}
            m.submodules.pll = Instance("PLL", **values, i_a=self.a, o_y=self.y)
            return m

    text = to_verilog(Clocks(), "clocks")
    found = dict(re.findall(r"\.([A-E])\((.*)\)", text))
    assert found == {"A": "32'd5", "B": "-32'sd3", "C": '"two words"', "D": "1.5", "E": "2.5"}


class Awkward(wiring.Component):
    """Names that no language takes, widths that differ, choices among many, inputs for nobody."""

    def __init__(self) -> None:
        super().__init__({"a": In(4), "b": In(6), "s": In(3), "y": Out(9), "equal": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.output = part = Module()
        a, begin = self.a.as_signed(), Signal(8, name="begin")
        dotted = Signal(9, name="a.b")
        part.d.comb += begin.eq(a + self.b)
        with m.Switch(self.s):
            for value in range(7):
                with m.Case(value):
                    m.d.comb += dotted.eq(begin - 3 * value)
            with m.Default():
                m.d.comb += dotted.eq(Cat(self.a, self.b))
        m.d.comb += [self.y.eq(dotted), self.equal.eq(~(self.b.any()) & (a < self.y.as_signed()))]
        return m


def test_awkward_names_and_widths(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = to_verilog(Awkward(), "awkward")
    assert review(text) == []
    path = tmp_path / "awkward.v"
    path.write_text(text)
    assert slang([path], "awkward", capfd) == ""
    lint([path], "awkward")
