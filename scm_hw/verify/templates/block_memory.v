// A read-only block memory, RAMB18E1 or RAMB36E1.
// A port as wide as both outputs ("SDP") leaves its upper half on the other port's pins. Bits of an
// unused place of a port are undefined, and so is all of it after a reset of the memory's own.
module {{ name }} (
  input CLKARDCLK, CLKBWRCLK, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
  input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB,
{% if cascaded %}
  input CASCADEINA, CASCADEINB, INJECTDBITERR, INJECTSBITERR,
  output CASCADEOUTA, CASCADEOUTB, SBITERR, DBITERR,
  output [7:0] ECCPARITY, output [8:0] RDADDRECC,
{% endif %}
  input [{{ address_top }}:0] ADDRARDADDR, ADDRBWRADDR,
  input [{{ out_top }}:0] DIADI, DIBDI, input [{{ parity_top }}:0] DIPADIP, DIPBDIP,
  input [{{ we_a_top }}:0] WEA, input [{{ we_b_top }}:0] WEBWE,
  output [{{ out_top }}:0] DOADO, DOBDO, output [{{ parity_top }}:0] DOPADOP, DOPBDOP
);
  parameter DOA_REG = 0, DOB_REG = 0, RAM_MODE = "TDP", READ_WIDTH_A = 0, READ_WIDTH_B = 0;
  parameter WRITE_WIDTH_A = 0, WRITE_WIDTH_B = 0, WRITE_MODE_A = "", WRITE_MODE_B = "";
  parameter RAM_EXTENSION_A = "NONE", RAM_EXTENSION_B = "NONE";
  parameter [71:0] INIT_A = 72'd0, INIT_B = 72'd0, SRVAL_A = 72'd0, SRVAL_B = 72'd0;
{% for init in inits + parities %}
  parameter [255:0] {{ init }} = 256'd0;
{% endfor %}

  reg [255:0] data [0:{{ last_row }}];
  reg [255:0] parity [0:{{ last_parity_row }}];
  initial begin
{% for init in inits %}
    data[{{ loop.index0 }}] = {{ init }};
{% endfor %}
{% for init in parities %}
    parity[{{ loop.index0 }}] = {{ init }};
{% endfor %}
  end

  // Bits of a word, and of its parity where it has one; a word's place in bits.
  localparam BITS_A = READ_WIDTH_A < 9 ? READ_WIDTH_A : READ_WIDTH_A / 9 * 8;
  localparam BITS_B = READ_WIDTH_B < 9 ? READ_WIDTH_B : READ_WIDTH_B / 9 * 8;
  function [{{ both_top }}:0] word;
    input [{{ row_top }}:0] place;
    input integer bits;
    word = data[place[{{ row_top }}:8]] >> place[7:0] / bits * bits;
  endfunction
  function [{{ both_parity_top }}:0] check;
    input [{{ row_top }}:0] place;
    input integer bits;
    check = parity[place[{{ row_top }}:11]] >> place[10:3] / (bits / 8) * (bits / 8);
  endfunction

  reg [{{ both_top }}:0] read_a = INIT_A;
  reg [{{ both_parity_top }}:0] check_a;
  reg [{{ out_top }}:0] read_b = INIT_B;
  reg [{{ parity_top }}:0] check_b;
  reg upper = 1'b0;
  always @(posedge CLKARDCLK) if (ENARDEN && BITS_A != 0) begin
    upper <= {{ 'ADDRARDADDR[15]' if cascaded else "1'b1" }};
    read_a <= RSTRAMARSTRAM ? 64'bx : word(ADDRARDADDR, BITS_A);
    if (BITS_A > 7) check_a <= check(ADDRARDADDR, BITS_A);
  end
  always @(posedge CLKBWRCLK) if (ENBWREN && BITS_B != 0) begin
    read_b <= RSTRAMB ? 64'bx : word(ADDRBWRADDR, BITS_B);
    if (BITS_B > 7) check_b <= check(ADDRBWRADDR, BITS_B);
  end

  wire below = RAM_EXTENSION_A == "UPPER" && !upper;
  assign DOADO = below ? {{ 'CASCADEINA' if cascaded else "1'bx" }} : read_a[{{ out_top }}:0];
  assign DOPADOP = check_a[{{ parity_top }}:0];
  assign DOBDO = RAM_MODE == "SDP" ? read_a[{{ both_top }}:{{ out_top }}+1] : read_b;
  assign DOPBDOP = RAM_MODE == "SDP" ? check_a[{{ both_parity_top }}:{{ parity_top }}+1] : check_b;
{% if cascaded %}
  assign CASCADEOUTA = read_a[0];
{% endif %}

endmodule
