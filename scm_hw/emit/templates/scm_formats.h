{% macro rows(fields) %}
{% for field in fields %}
    { {{- string(field.name) }}, {{ string(field.kind) }}, {{ field.offset }}, {{ field.bits }},
{{- " " }}{{ field.signed | int }}, {{ field.fraction }}, {{ field.low }}, {{ field.high -}} }
{{- "" if loop.last else ",\n" }}
{%- endfor %}
{% endmacro %}
/* The formats of the fields of in_data and out_data, the first field in the lowest bits.
 *
 * An input of kind "code" is floor((x - low) / (high - low) * 2^fraction), kept to its bits, over
 * the training range; one of kind "adc" is the same over the range of its converter.
 * One of kind "word", and an output, is fixed point: low + n / 2^fraction * (high - low).
 * An output of kind "class" is the index of a class. */
#ifndef {{ names.macro }}_FORMATS_H
#define {{ names.macro }}_FORMATS_H

#define {{ names.macro }}_DIGEST "{{ digest }}"
#define {{ names.macro }}_LATENCY {{ latency }}
#define {{ names.macro }}_IN_WIDTH {{ in_width }}
#define {{ names.macro }}_OUT_WIDTH {{ out_width }}
#define {{ names.macro }}_INPUTS {{ count_in }}
#define {{ names.macro }}_OUTPUTS {{ count_out }}

typedef struct {
    const char *name;
    const char *kind;
    int offset, bits, is_signed, fraction;
    double low, high;
} {{ names.prefix }}_field;

static const {{ names.prefix }}_field {{ names.prefix }}_inputs[{{ names.macro }}_INPUTS] = {
{{ rows(inputs) }}
};

static const {{ names.prefix }}_field {{ names.prefix }}_outputs[{{ names.macro }}_OUTPUTS] = {
{{ rows(outputs) }}
};

#endif
