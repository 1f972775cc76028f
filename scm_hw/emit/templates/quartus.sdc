create_clock -name clk -period {{ period }} [get_ports clk]
derive_clock_uncertainty
# Registers of the same clock drive the inputs and take the outputs, near by.
{% for port in inputs %}
set_input_delay -clock clk {{ arrival }} [get_ports { {{- port.name }}{% if port.width > 1 %}[*]{% endif -%} }]
{% endfor %}
{% for port in outputs %}
set_output_delay -clock clk {{ setup }} [get_ports { {{- port.name }}{% if port.width > 1 %}[*]{% endif -%} }]
{% endfor %}
