/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The machine of the design {{ names.core }} in C99: equal to its hardware, bit for bit.
 * Design {{ digest }},
 * written by scm-hw {{ version }}.
 *
 * Inputs and outputs are the fields of in_data and out_data, in their order; what the integers
 * mean is in {{ names.formats_header }}. An input outside its range is taken as the nearest end.
 * It allocates nothing, and keeps nothing between calls. */
#ifndef {{ names.macro }}_MODEL_H
#define {{ names.macro }}_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define {{ names.macro }}_MODEL_INPUTS {{ count_in }}
#define {{ names.macro }}_MODEL_OUTPUTS {{ count_out }}

typedef {{ function.in_type }} {{ names.prefix }}_input;
typedef {{ function.out_type }} {{ names.prefix }}_output;

void {{ names.prefix }}_run(const {{ names.prefix }}_input inputs[{{ names.macro }}_MODEL_INPUTS],
    {{ names.prefix }}_output outputs[{{ names.macro }}_MODEL_OUTPUTS]);

#ifdef __cplusplus
}
#endif

#endif
