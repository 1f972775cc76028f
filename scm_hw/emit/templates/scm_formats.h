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
#ifndef SCM_FORMATS_H
#define SCM_FORMATS_H

#define SCM_DIGEST "{{ digest }}"
#define SCM_LATENCY {{ latency }}
#define SCM_IN_WIDTH {{ in_width }}
#define SCM_OUT_WIDTH {{ out_width }}
#define SCM_INPUTS {{ count_in }}
#define SCM_OUTPUTS {{ count_out }}

typedef struct {
    const char *name;
    const char *kind;
    int offset, bits, is_signed, fraction;
    double low, high;
} scm_field;

static const scm_field scm_inputs[SCM_INPUTS] = {
{{ rows(inputs) }}
};

static const scm_field scm_outputs[SCM_OUTPUTS] = {
{{ rows(outputs) }}
};

#endif
