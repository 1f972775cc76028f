/* Registers of {{ wrapper }}, the core behind {{ bus }}: byte offsets and bits.
 *
 * A register is a word of 32 bits; the two words of a field are {{ hex(4) }} apart, low word first.
 * Every access is answered with OKAY. What can't be done changes nothing and sets a bit in STATUS.
 * The meaning of the fields is in {{ names.formats_header }}. */
#ifndef {{ names.macro }}_REGS_H
#define {{ names.macro }}_REGS_H

#define {{ names.macro }}_REGS_DIGEST "{{ digest }}"

/* Values of the constant registers ID, MAP_VERSION, INPUTS and OUTPUTS. */
#define {{ names.macro }}_REGS_ID {{ hex(at.MAGIC) }}
#define {{ names.macro }}_REGS_VERSION {{ at.VERSION }}u
#define {{ names.macro }}_REGS_INPUTS {{ inputs | length }}u
#define {{ names.macro }}_REGS_OUTPUTS {{ outputs | length }}u

/* Byte offsets. */
{% for register in registers %}
/* {{ register.meaning }} ({{ register.access }}) */
{% if register.count == 1 %}
#define {{ names.macro }}_REG_{{ register.name }} {{ hex(register.address) }}
{% else %}
#define {{ names.macro }}_REG_{{ register.name }}(i) ({{ hex(register.address) }} + {{ hex(register.step) }} * (i))
{% endif %}
{% endfor %}
#define {{ names.macro }}_REG_INPUT_HIGH(i) ({{ names.macro }}_REG_INPUT(i) + {{ hex(4) }})
#define {{ names.macro }}_REG_OUTPUT_HIGH(i) ({{ names.macro }}_REG_OUTPUT(i) + {{ hex(4) }})
#define {{ names.macro }}_REGS_BYTES {{ hex(2 ** at.ADDRESS_BITS) }}
{% for register, bits in bits %}

/* Bits of {{ register }}. */
{% for bit in bits %}
/* {{ bit.meaning }} */
#define {{ names.macro }}_{{ register }}_{{ bit.name }} {{ hex(bit.mask) }}
{% endfor %}
{% endfor %}
#define {{ names.macro }}_STATUS_ERRORS {{ hex(at.ERRORS) }}
{% for side, ports in (("INPUT", inputs), ("OUTPUT", outputs)) %}

/* {{ side | capitalize }} fields: byte offset of the low word, and bits. */
{% for port in ports %}
/* {{ comment(port.name) }}, {{ "signed" if port.signed else "unsigned" }} */
#define {{ names.macro }}_REG_{{ side }}_{{ loop.index0 }} {{ hex(port.address) }}
#define {{ names.macro }}_{{ side }}_{{ loop.index0 }}_BITS {{ port.bits }}u
{% endfor %}
{% endfor %}

#endif
