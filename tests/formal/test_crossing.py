"""Streams between two clocks of any ratio and phase: in order, no word lost, none twice."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

import pytest
from amaranth.hdl import Instance, Module, Value
from amaranth.lib import fifo
from amaranth.lib.wiring import Component, In, Out

from scm_hw.rtl import to_verilog
from scm_hw.rtl.axi import CrossedStream, crossing
from tests.formal.prover import proves

# Words in each FIFO: few, so that it is full within a few steps of the solver.
DEPTH = 2
# Steps, of which an edge of each clock takes two: both FIFOs have been full, and two words are out.
STEPS = 15
# A reset with a word on its way, and what could come out wrongly once it is over.
RESET_STEPS = 19

# A word is its place since the last reset, so that each receiver knows by itself what must come.
# More places than a FIFO holds: a word that is lost or given twice is not mistaken for another.
RULES = Template("""\
module sender(
  input clk, input resetn, input offers, output valid, input ready, output [1:0] data, output last
);
  reg [1:0] number = 1;
  assign valid = offers, data = number, last = ^number;
  always @(posedge clk) begin
    if (!resetn) number <= 1;
    else if (valid && ready) number <= number + 1;
    // The FIFO is full.
    cover (resetn && valid && !ready);
  end
endmodule

module receiver(
  input clk, input resetn, input takes, input valid, output ready, input [1:0] data, input last
);
  reg [1:0] number = 1;
  reg waiting = 0;
  assign ready = takes;
  always @(posedge clk) begin
    waiting <= resetn && valid && !ready;
    if (!resetn) number <= 1;
    else begin
      if (valid && ready) number <= number + 1;
      if (valid) assert (data == number && last == ^number);
      // Once offered, a word stays.
      if (waiting) assert (valid);
    end
    cover (resetn && valid && number == 2);
  end
endmodule

// The core's side of both streams.
module ends(
  input aclk, input aresetn,
  input s_axis_tvalid, output s_axis_tready, input [1:0] s_axis_tdata, input s_axis_tlast,
  output m_axis_tvalid, input m_axis_tready, output [1:0] m_axis_tdata, output m_axis_tlast
);
  (* anyseq *) wire offers, takes;
  receiver samples(
    aclk, aresetn, takes, s_axis_tvalid, s_axis_tready, s_axis_tdata, s_axis_tlast
  );
  sender results(
    aclk, aresetn, offers && $results, m_axis_tvalid, m_axis_tready, m_axis_tdata, m_axis_tlast
  );
endmodule

// Each wire is one step of the global clock late, or not: bits of a register that change together
// are not seen together by the other clock.
module skew #(parameter W = 1) (input [W-1:0] sent, output [W-1:0] seen);
  (* anyseq *) wire [W-1:0] late;
  reg [W-1:0] before = 0;
  always @($$global_clock) before <= sent;
  assign seen = (late & before) | (~late & sent);
endmodule

module rules(input aclk, input core_clk, input resets, input offers, input takes);
  wire [1:0] sample, result;
  wire sample_last, result_last, sample_valid, sample_ready, result_valid, result_ready;
  reg aresetn = 1, was_aresetn = 1, was_aclk = 0, was_core_clk = 0, started = 0;
  reg bus_seen = 0, core_seen = 0;
  // Registers begin as a reset leaves them: two rounds are enough before the first words.
  reg [1:0] rounds = $rounds - 2;
  wire bus_edge = aclk && !was_aclk, core_edge = core_clk && !was_core_clk;
  wire changed = aresetn != was_aresetn;
  wire bus_now = !changed && (bus_seen || bus_edge);
  wire core_now = !changed && (core_seen || core_edge);
  wire round = bus_now && core_now;
  wire [1:0] rounds_now = changed ? 2'd0 : rounds + (round && rounds != $rounds);
  // A reset lasts for three edges of both clocks, and as many pass after it. As a clock may stop
  // here for a while, these are rounds in each of which both clocks have an edge.
  wire settled = rounds_now == $rounds;
  always @($$global_clock) begin
    started <= 1;
    if (!started) assume (!aclk && !core_clk);
    // Nothing happens at falling edges, nor where no clock changes: these are not varied.
    assume (!(was_aclk && aclk) && !(was_core_clk && core_clk));
    if (started) assume (aclk || core_clk || was_aclk || was_core_clk);
    was_aclk <= aclk; was_core_clk <= core_clk; was_aresetn <= aresetn;
    bus_seen <= bus_now && !round; core_seen <= core_now && !round; rounds <= rounds_now;
  end
  always @(posedge aclk) if (settled) aresetn <= !(resets && $resets);

  sender samples(
    aclk, aresetn, offers && settled && $samples, sample_valid, sample_ready, sample, sample_last
  );
  receiver results(aclk, aresetn, takes, result_valid, result_ready, result, result_last);
  wrapper wrapped(
    .aclk(aclk), .aresetn(aresetn), .core_clk(core_clk),
    .s_axis_tvalid(sample_valid), .s_axis_tready(sample_ready),
    .s_axis_tdata(sample), .s_axis_tlast(sample_last),
    .m_axis_tvalid(result_valid), .m_axis_tready(result_ready),
    .m_axis_tdata(result), .m_axis_tlast(result_last)
  );
endmodule
""")


class Ends(Component):
    """In the place of a core: the module `ends` of the rules."""

    def __init__(self) -> None:
        words = {"tdata": 2, "tlast": 1, "tvalid": 1}
        ports = {"aclk": In(1), "aresetn": In(1), "s_axis_tready": Out(1), "m_axis_tready": In(1)}
        ports |= {f"s_axis_{name}": In(width) for name, width in words.items()}
        ports |= {f"m_axis_{name}": Out(width) for name, width in words.items()}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = {
            f"{'i' if member.flow is In else 'o'}_{name}": getattr(self, name)
            for name, member in self.signature.members.items()
        }
        m.submodules.ends = Instance("ends", **ports)
        return m


@pytest.fixture
def wrapper(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(crossing, "DEPTH", DEPTH)
    return to_verilog(CrossedStream(Ends()), "wrapper")


@pytest.fixture
def binary(monkeypatch: pytest.MonkeyPatch) -> str:
    """With pointers that are not Gray coded, and the full flag that belongs to these."""

    def same(value: Value) -> Value:
        return value

    monkeypatch.setattr(crossing, "DEPTH", DEPTH)
    monkeypatch.setattr(fifo, "_gray_encode", same)
    monkeypatch.setattr(fifo, "_gray_decode", same)
    verilog = to_verilog(CrossedStream(Ends()), "wrapper")
    return planted(
        verilog,
        "produce_w_gry[0] != consume_w_gry[0]",
        "produce_w_gry[0] == consume_w_gry[0]",
    )


def planted(verilog: str, old: str, new: str) -> str:
    """With one fault in both FIFOs."""
    assert verilog.count(old) == 2
    return verilog.replace(old, new)


# The first register behind a pointer of the other clock.
FIRST_STAGE = re.compile(
    r"  (reg \[(\d):0\]) stage0 = (.*?)stage0 <= (produce_w_gry|consume_r_gry);", re.DOTALL
)


def skewed(verilog: str) -> str:
    """With wires of unequal delay from each pointer to the registers of the other clock."""
    text, count = FIRST_STAGE.subn(
        r"  wire [\2:0] seen;\n  skew #(\2 + 1) skew(\4, seen);\n  \1 stage0 = \3stage0 <= seen;",
        verilog,
    )
    assert count == 4, "two pointers for each of two FIFOs"
    return text


def holds(
    folder: Path,
    verilog: str,
    *,
    streams: tuple[str, ...] = ("samples",),
    resets: bool = False,
    rounds: int = 3,
    steps: int = STEPS,
    mode: str = "bmc",
) -> bool:
    """With words on these streams; `resets` allows resets at any time, of so many rounds each."""
    rules = RULES.substitute(
        samples=int("samples" in streams),
        results=int("results" in streams),
        resets=int(resets),
        rounds=rounds,
    )
    sources = {"wrapper.v": verilog, "rules.sv": rules}
    return proves(folder, sources, "rules", steps, mode=mode, clocks=True)


@pytest.mark.parametrize("stream", ["samples", "results"])
def test_words_cross_in_order(stream: str, wrapper: str, tmp_path: Path) -> None:
    assert holds(tmp_path, skewed(wrapper), streams=(stream,))


def test_full_fifos_and_words_that_pass_are_within_the_bound(wrapper: str, tmp_path: Path) -> None:
    assert holds(tmp_path, skewed(wrapper), streams=("samples", "results"), mode="cover")


@pytest.mark.parametrize("stream", ["samples", "results"])
def test_a_fifo_that_is_never_full_has_a_counterexample(
    stream: str, wrapper: str, tmp_path: Path
) -> None:
    verilog = planted(wrapper, "assign w_rdy = ~ w_full;", "assign w_rdy = 1'h1;")
    assert not holds(tmp_path, skewed(verilog), streams=(stream,))


def test_pointers_without_gray_code_have_a_counterexample(binary: str, tmp_path: Path) -> None:
    assert not holds(tmp_path, skewed(binary))


@pytest.mark.long
def test_only_skew_shows_pointers_without_gray_code(binary: str, tmp_path: Path) -> None:
    assert holds(tmp_path, binary)


@pytest.mark.long
@pytest.mark.parametrize("stream", ["samples", "results"])
def test_resets_leave_nothing_behind(stream: str, wrapper: str, tmp_path: Path) -> None:
    """Nothing from before a reset comes out after it."""
    assert holds(tmp_path, skewed(wrapper), streams=(stream,), resets=True, steps=RESET_STEPS)


@pytest.mark.long
def test_a_reset_that_is_too_short_has_a_counterexample(wrapper: str, tmp_path: Path) -> None:
    """A pointer from before the reset is still on its way."""
    assert not holds(tmp_path, skewed(wrapper), resets=True, rounds=2, steps=RESET_STEPS)
