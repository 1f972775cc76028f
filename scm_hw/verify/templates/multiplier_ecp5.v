// MULT18X18D without any of its registers, as Yosys uses it.
module MULT18X18D (
  input {{ sides | join(", ") }},
  input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  output {{ product | join(", ") }}
);
  wire [17:0] a = { {{- left | join(", ") -}} }, b = { {{- right | join(", ") -}} };
  wire signed [35:0] wide_a = { {18{SIGNEDA & a[17]} }, a};
  wire signed [35:0] wide_b = { {18{SIGNEDB & b[17]} }, b};
  assign { {{- product | reverse | join(", ") -}} } = wide_a * wide_b;
endmodule
