/* Registers of {{ module }}, the core behind AXI4-Lite: byte offsets and bits.
 *
 * A register is a word of 32 bits; the two words of a field are {{ hex(4) }} apart, low word first.
 * Every access is answered with OKAY. What can't be done changes nothing and sets a bit in STATUS.
 * The meaning of the fields is in scm_formats.h. */
#ifndef SCM_REGS_H
#define SCM_REGS_H

#define SCM_REGS_DIGEST "{{ digest }}"

/* Values of the constant registers ID, MAP_VERSION, INPUTS and OUTPUTS. */
#define SCM_REGS_ID {{ hex(at.MAGIC) }}
#define SCM_REGS_VERSION {{ at.VERSION }}u
#define SCM_REGS_INPUTS {{ inputs | length }}u
#define SCM_REGS_OUTPUTS {{ outputs | length }}u

/* Byte offsets. */
{% for register in at.REGISTERS %}
/* {{ register.meaning }} ({{ register.access }}) */
{% if register.count == 1 %}
#define SCM_REG_{{ register.name }} {{ hex(register.address) }}
{% else %}
#define SCM_REG_{{ register.name }}(i) ({{ hex(register.address) }} + {{ hex(register.step) }} * (i))
{% endif %}
{% endfor %}
#define SCM_REG_INPUT_HIGH(i) (SCM_REG_INPUT(i) + {{ hex(4) }})
#define SCM_REG_OUTPUT_HIGH(i) (SCM_REG_OUTPUT(i) + {{ hex(4) }})
#define SCM_REGS_BYTES {{ hex(2 ** at.ADDRESS_BITS) }}
{% for register, bits in (("CONTROL", at.CONTROL_BITS), ("STATUS", at.STATUS_BITS)) %}

/* Bits of {{ register }}. */
{% for bit in bits %}
/* {{ bit.meaning }} */
#define SCM_{{ register }}_{{ bit.name }} {{ hex(bit.mask) }}
{% endfor %}
{% endfor %}
#define SCM_STATUS_ERRORS {{ hex(at.ERRORS) }}
{% for side, ports in (("INPUT", inputs), ("OUTPUT", outputs)) %}

/* {{ side | capitalize }} fields: byte offset of the low word, and bits. */
{% for port in ports %}
/* {{ comment(port.name) }}, {{ "signed" if port.signed else "unsigned" }} */
#define SCM_REG_{{ side }}_{{ loop.index0 }} {{ hex(port.address) }}
#define SCM_{{ side }}_{{ loop.index0 }}_BITS {{ port.bits }}u
{% endfor %}
{% endfor %}

#endif
