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
 * One of kind "category" is the place of its label among those of the field.
 * One of kind "word", and an output, is fixed point: low + n / 2^fraction * (high - low).
 * An output of kind "class" is the index of a class. */
#ifndef {{ names.macro }}_FORMATS_H
#define {{ names.macro }}_FORMATS_H

{% if inputs | selectattr("labels") | list or inputs | selectattr("missing") | list %}
#include <stddef.h>

{% endif %}
#define {{ names.macro }}_DIGEST "{{ digest }}"
#define {{ names.macro }}_LATENCY {{ latency }}
#define {{ names.macro }}_IN_WIDTH {{ in_width }}
#define {{ names.macro }}_OUT_WIDTH {{ out_width }}
#define {{ names.macro }}_INPUTS {{ count_in }}
#define {{ names.macro }}_OUTPUTS {{ count_out }}

{% if row_formats %}
/* A row of AXI4-Stream beats of {{ row_formats[0].tdata }} bits: fields, then what fills up the last beat. An array of rows is
 * what a DMA sends and receives:
 *
 *     static const {{ names.prefix }}_in rows[N][{{ names.macro }}_ROW_IN] = { {1200, 77, ...}, ... };
 *     static {{ names.prefix }}_out results[N][{{ names.macro }}_ROW_OUT];
 */
#include <stdint.h>

#define {{ names.macro }}_TDATA {{ row_formats[0].tdata }}
#define {{ names.macro }}_ROW_IN {{ row_formats[0].places }}
#define {{ names.macro }}_ROW_OUT {{ row_formats[1].places }}
typedef uint{{ row_formats[0].field_bits }}_t {{ names.prefix }}_in;
typedef {{ "" if rows_signed else "u" }}int{{ row_formats[1].field_bits }}_t {{ names.prefix }}_out;

{% endif %}
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
{% if inputs | selectattr("labels") | list or inputs | selectattr("missing") | list %}

/* What an input is besides a number: its labels in the order of their codes, where it is a category
 * (NULL is the label of a missing value), and the code of any other label; the code that stands for
 * a missing number. -1 where there is none. */
typedef struct {
    const char *const *labels;
    int count, other, missing;
} {{ names.prefix }}_column;
{% for field in inputs if field.labels %}

static const char *const {{ names.prefix }}_labels_{{ inputs.index(field) }}[{{ field.labels | length }}] = {
{% for label in field.labels %}
    {{ "NULL" if label is none else string(label) }}{{ "" if loop.last else "," }}
{% endfor %}
};
{% endfor %}

static const {{ names.prefix }}_column {{ names.prefix }}_columns[{{ names.macro }}_INPUTS] = {
{% for field in inputs %}
    { {{- names.prefix ~ "_labels_" ~ loop.index0 if field.labels else "NULL" }}, {{ (field.labels or ()) | length }}, {{ -1 if field.other is none else field.other }}, {{ -1 if field.missing is none else field.missing -}} }
{{- "" if loop.last else "," }}
{% endfor %}
};
{% endif %}

#endif
