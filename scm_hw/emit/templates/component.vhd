-- SPDX-License-Identifier: BSD-2-Clause
-- Generated for design {{ digest }}. Do not edit.
-- Components for VHDL; the modules are Verilog, and simulators and synthesis tools bind them by name.
--
-- Instantiation:
{% for module, ports in modules.items() %}
--
--   u_{{ module }} : {{ module }}
--     port map (
{% for port in ports %}
--       {{ port.name }} => {{ port.name }}{{ "" if loop.last else "," }}
{% endfor %}
--     );
{% endfor %}

library ieee;
use ieee.std_logic_1164.all;

package {{ names.prefix }}_components is
{% for module, ports in modules.items() %}

  component {{ module }} is
    port (
{% for port in ports %}
      {{ port.name }} : {{ port.vhdl }}{{ "" if loop.last else ";" }}
{% endfor %}
    );
  end component {{ module }};
{% endfor %}

end package {{ names.prefix }}_components;
