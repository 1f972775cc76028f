"""A readout, or a whole model, loaded through the registers of AXI4-Lite and of Wishbone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Module
from amaranth.sim import Simulator, SimulatorContext
from numpy.testing import assert_array_equal

from scm_hw.common.packing import unpack
from scm_hw.design import Design, Options, compile_model
from scm_hw.emit import interface_files
from scm_hw.emit.identity import describe
from scm_hw.emit.registers import register_files
from scm_hw.host.loading import upload_of
from scm_hw.ir.interp import interpret
from scm_hw.load.upload import LoadStatus
from scm_hw.rtl.axi import AxiLiteCore, WishboneCore
from scm_hw.rtl.axi import registers as at
from scm_hw.verify import lint, run_interface
from scm_hw.verify.check import select_vectors
from scm_hw.verify.rows import check_rows
from tests.hw.reloading import BOARD, refitted, reloadable
from tests.support import random_model

MODEL = random_model(3, rows=4, outputs=2, bits=3)
ROWS = check_rows(reloadable(MODEL), MODEL.evaluation).inputs[:6]

Write = Callable[[int, int], Awaitable[None]]
Read = Callable[[int], Awaitable[int]]


def designed(bus: str, reload: str = "readout") -> Design:
    return compile_model(MODEL, BOARD, Options(reload=reload, interface=bus))


def on_the_bus(design: Design, master: Callable[[Write, Read], Awaitable[None]]) -> None:
    """The wrapped core, and what writes and reads its registers."""
    ports = design.ports
    registers = AxiLiteCore(
        design.new_core(),
        in_widths=ports.in_widths,
        out_widths=ports.out_widths,
        out_signed=ports.out_signed,
        digest="00" * 32,
    )
    module = Module()
    module.domains.bus = ClockDomain()
    if design.options.interface == "axil":
        wrapper, access = registers, _axi(registers)
        module.d.comb += [wrapper.aclk.eq(ClockSignal("bus")), wrapper.aresetn.eq(1)]
    else:
        wrapper = WishboneCore(registers)
        access = _wishbone(wrapper)
        module.d.comb += wrapper.clk_i.eq(ClockSignal("bus"))
    module.submodules.wrapper = wrapper

    async def play(ctx: SimulatorContext) -> None:
        await master(*access(ctx))

    simulator = Simulator(module)
    simulator.add_clock(1e-8, domain="bus")
    simulator.add_testbench(play)
    simulator.run()


def _axi(wrapper: AxiLiteCore) -> Callable[[SimulatorContext], tuple[Write, Read]]:
    def accesses(ctx: SimulatorContext) -> tuple[Write, Read]:
        async def write(address: int, word: int) -> None:
            ctx.set(wrapper.s_axi_awaddr, address)
            ctx.set(wrapper.s_axi_wdata, word)
            for pin in (wrapper.s_axi_awvalid, wrapper.s_axi_wvalid, wrapper.s_axi_bready):
                ctx.set(pin, 1)
            await ctx.tick("bus")
            ctx.set(wrapper.s_axi_awvalid, 0)
            ctx.set(wrapper.s_axi_wvalid, 0)
            await ctx.tick("bus").until(wrapper.s_axi_bvalid)

        async def read(address: int) -> int:
            ctx.set(wrapper.s_axi_araddr, address)
            ctx.set(wrapper.s_axi_arvalid, 1)
            ctx.set(wrapper.s_axi_rready, 1)
            await ctx.tick("bus")
            ctx.set(wrapper.s_axi_arvalid, 0)
            (word,) = await ctx.tick("bus").sample(wrapper.s_axi_rdata).until(wrapper.s_axi_rvalid)
            return word

        ctx.set(wrapper.s_axi_wstrb, 0xF)
        return write, read

    return accesses


def _wishbone(wrapper: WishboneCore) -> Callable[[SimulatorContext], tuple[Write, Read]]:
    def accesses(ctx: SimulatorContext) -> tuple[Write, Read]:
        async def access(address: int, word: int, write: int) -> int:
            ctx.set(wrapper.adr_i, address)
            ctx.set(wrapper.dat_i, word)
            ctx.set(wrapper.we_i, write)
            for pin in (wrapper.cyc_i, wrapper.stb_i):
                ctx.set(pin, 1)
            (found,) = await ctx.tick("bus").sample(wrapper.dat_o).until(wrapper.ack_o)
            ctx.set(wrapper.stb_i, 0)
            await ctx.tick("bus")
            return found

        async def write(address: int, word: int) -> None:
            await access(address, word, 1)

        async def read(address: int) -> int:
            return await access(address, 0, 0)

        ctx.set(wrapper.sel_i, 0xF)
        return write, read

    return accesses


async def answers(design: Design, write: Write, read: Read) -> np.ndarray:
    widths, signed = list(design.ports.out_widths), list(design.ports.out_signed)
    found = []
    for row in ROWS.tolist():
        for i, code in enumerate(row):
            await write(at.INPUT_BASE + at.FIELD_BYTES * i, code)
        await write(at.CONTROL, at.START)
        while not await read(at.STATUS) & at.DONE:
            pass
        words = [await read(at.OUTPUT_BASE + at.FIELD_BYTES * i) for i in range(len(widths))]
        packed = start = 0
        for word, width in zip(words, widths, strict=True):
            packed |= (word & (1 << width) - 1) << start
            start += width
        found.append(packed)
    return unpack(found, widths, signed)


async def send(write: Write, data: bytes) -> None:
    await write(at.LOAD_CONTROL, at.LOAD_START)
    for byte in data:
        await write(at.LOAD_DATA, byte)


@pytest.mark.parametrize(
    ("bus", "reload"), [("axil", "readout"), ("wishbone", "readout"), ("wishbone", "all")]
)
def test_a_model_is_loaded_refused_and_taken_back(bus: str, reload: str) -> None:
    design = designed(bus, reload)
    upload = upload_of(describe(design), refitted(MODEL, 1))
    inputs = np.pad(ROWS, ((0, 0), (0, len(design.input_ranges) - ROWS.shape[1])))
    old, new = (interpret(program, inputs) for program in (design.meaning, upload.meaning))
    assert (old != new).any()

    async def master(write: Write, read: Read) -> None:
        assert await read(at.LOAD_STATUS) == LoadStatus.BUILT_IN
        await send(write, upload.data[:-1] + bytes([upload.data[-1] ^ 1]))
        assert await read(at.LOAD_STATUS) == LoadStatus.CRC | LoadStatus.BUILT_IN
        assert_array_equal(await answers(design, write, read), old)
        await send(write, upload.data)
        assert await read(at.LOAD_STATUS) == LoadStatus.LOADED | LoadStatus.REVERTIBLE
        assert_array_equal(await answers(design, write, read), new)
        # Beyond the registers, and on what is only read, nothing happens.
        for address in (at.LOAD_DATA + 4, at.LOAD_STATUS, at.OUTPUT_BASE - 4):
            await write(address, at.LOAD_REVERT)
        errors = at.NO_REGISTER | at.READ_ONLY
        assert await read(at.STATUS) & at.ERRORS == errors
        assert_array_equal(await answers(design, write, read), new)
        await write(at.LOAD_CONTROL, at.LOAD_REVERT)
        assert await read(at.LOAD_STATUS) & LoadStatus.REVERTED
        # The bank that was written in vain and then rightly no longer has the built-in model.
        assert_array_equal(await answers(design, write, read), old)

    on_the_bus(design, master)


@pytest.mark.parametrize(
    ("bus", "reload"), [("axil", "readout"), ("axil", "all"), ("wishbone", "readout")]
)
def test_the_header_has_the_registers_where_there_are_any(bus: str, reload: str) -> None:
    (text,) = register_files(bus, describe(designed(bus, reload)), "00" * 32).values()
    assert f"REG_LOAD_DATA {at.LOAD_DATA:#x}u" in text
    assert f"LOAD_STATUS_CRC {int(LoadStatus.CRC):#x}u" in text


def test_the_bus_models_know_the_registers(tmp_path: Path) -> None:
    """Beside those for uploads the wrapper has what every wrapper has, and lint nothing to say."""
    design = designed("wishbone", "all")
    files = {"scm_core.v": design.verilog}
    files |= interface_files("wishbone", design.ports, design.digest, BOARD, design.names)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    sources = [tmp_path / "scm_core.v", tmp_path / f"{design.names.wrapper('wishbone')}.v"]
    lint(sources, design.names.wrapper("wishbone"))
    vectors = select_vectors(design, check_rows(design, MODEL.evaluation), 24)
    how = (design.ports, design.digest, "icarus")
    run_interface("wishbone", sources, vectors, *how, workdir=tmp_path, names=design.names)
