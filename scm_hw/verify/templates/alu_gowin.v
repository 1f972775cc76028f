// A bit of Gowin's carry chains without a process: Icarus never evaluates one whose inputs are constant.
module ALU (SUM, COUT, I0, I1, I3, CIN);
  parameter ALU_MODE = 0;
  input I0, I1, I3, CIN;
  output SUM, COUT;
  wire same = I0 ~^ I1;
  wire s =
{% for mode, propagate, _ in modes %}
    ALU_MODE == {{ mode }} ? {{ propagate }} :
{% endfor %}
    1'bx;
  wire c =
{% for mode, _, generate in modes %}
    ALU_MODE == {{ mode }} ? {{ generate }} :
{% endfor %}
    1'bx;
  assign SUM = s ^ CIN;
  assign COUT = s ? CIN : c;
endmodule
