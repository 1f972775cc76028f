/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The machine of the design {{ names.core }} in C99: equal to its hardware, bit for bit.
 * Design {{ digest }},
 * written by scm-hw {{ version }}.
 *
 * Inputs and outputs are the fields of in_data and out_data, in their order; what the integers
 * mean is in {{ names.formats_header }}. An input outside its range is taken as the nearest end.
{% if history %}
 * It allocates nothing. What it keeps between calls is in a {{ names.prefix }}_memory of the caller's, one for
 * each plant, all zero at first: then, and where the last input is not 0, a record begins. */
{% else %}
 * It allocates nothing, and keeps nothing between calls. */
{% endif %}
#ifndef {{ names.macro }}_MODEL_H
#define {{ names.macro }}_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define {{ names.macro }}_MODEL_INPUTS {{ count_in }}
#define {{ names.macro }}_MODEL_OUTPUTS {{ count_out }}

typedef {{ in_type }} {{ names.prefix }}_input;
typedef {{ out_type }} {{ names.prefix }}_output;

{% if history %}
typedef struct {
    uint32_t rows; /* of this record, up to those that fill the history and one more */
    {{ in_type }} past[{{ history.rest | length }}];
} {{ names.prefix }}_memory;

{% endif %}
void {{ names.prefix }}_run({% if history %}{{ names.prefix }}_memory *memory,
    {% endif %}const {{ names.prefix }}_input inputs[{{ names.macro }}_MODEL_INPUTS],
    {{ names.prefix }}_output outputs[{{ names.macro }}_MODEL_OUTPUTS]);

#ifdef __cplusplus
}
#endif

#endif
