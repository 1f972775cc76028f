"""Words that no signal, module or instance may be called, by IEEE 1364, 1800 and 1076."""

from __future__ import annotations

_VERILOG = """
always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign
default defparam design disable edge else end endcase endconfig endfunction endgenerate endmodule
endprimitive endspecify endtable endtask event for force forever fork function generate genvar
highz0 highz1 if ifnone incdir include initial inout input instance integer join large liblist
library localparam macromodule medium module nand negedge nmos nor noshowcancelled not notif0
notif1 or output parameter pmos posedge primitive pull0 pull1 pulldown pullup
pulsestyle_ondetect pulsestyle_onevent rcmos real realtime reg release repeat rnmos rpmos rtran
rtranif0 rtranif1 scalared showcancelled signed small specify specparam strong0 strong1 supply0
supply1 table task time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg unsigned use uwire
vectored wait wand weak0 weak1 while wire wor xnor xor
"""
_SYSTEMVERILOG = """
accept_on alias always_comb always_ff always_latch assert assume before bind bins binsof bit break
byte chandle checker class clocking const constraint context continue cover covergroup coverpoint
cross dist do endchecker endclass endclocking endgroup endinterface endpackage endprogram
endproperty endsequence enum eventually expect export extends extern final first_match foreach
forkjoin global iff ignore_bins illegal_bins implements implies import inside int interconnect
interface intersect join_any join_none let local logic longint matches modport nettype new
nexttime null package packed priority program property protected pure rand randc randcase
randsequence ref reject_on restrict return s_always s_eventually s_nexttime s_until s_until_with
sequence shortint shortreal soft solve static string strong struct super sync_accept_on
sync_reject_on tagged this throughout timeprecision timeunit type typedef union unique unique0
until until_with untyped var virtual void wait_order weak wildcard with within
"""
_VHDL = """
abs access after all architecture array attribute block body buffer bus component configuration
constant disconnect downto elsif entity exit file generic group guarded impure in inertial is
label linkage literal loop map mod next null of on open others out postponed procedure process
protected range record register reject rem report rol ror select severity shared signal sla sll
sra srl subtype then to transport units until variable when
"""
KEYWORDS = frozenset(f"{_VERILOG} {_SYSTEMVERILOG} {_VHDL}".split())
