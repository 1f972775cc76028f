/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All vectors of the hardware's test bench through {{ names.model_source }}:
 * cc -std=c99 -o test {{ names.model_test }} {{ names.model_source }} && ./test */
#include <stdio.h>

#include "{{ names.model_header }}"

#define VECTORS {{ inputs | length }}

static const {{ names.prefix }}_input inputs[VECTORS][{{ names.macro }}_MODEL_INPUTS] = {
{% for row in inputs %}
    { {{- lines(row) | join(",\n     ") -}} },
{% endfor %}
};

static const {{ names.prefix }}_output expected[VECTORS][{{ names.macro }}_MODEL_OUTPUTS] = {
{% for row in outputs %}
    { {{- lines(row) | join(",\n     ") -}} },
{% endfor %}
};

int main(void)
{
    int failures = 0;
    int vector;
    int field;
{% if history %}
    {{ names.prefix }}_memory memory = {0};
{% endif %}
    for (vector = 0; vector < VECTORS; vector++) {
        {{ names.prefix }}_output found[{{ names.macro }}_MODEL_OUTPUTS];
        {{ names.prefix }}_run({% if history %}&memory, {% endif %}inputs[vector], found);
        for (field = 0; field < {{ names.macro }}_MODEL_OUTPUTS; field++) {
            if (found[field] != expected[vector][field]) {
                if (failures == 0) {
                    printf("error: vector %d, output %d gave %lld, not %lld\n", vector, field,
                        (long long)found[field], (long long)expected[vector][field]);
                }
                failures++;
            }
        }
    }
    printf("%s: %d vectors, %d errors\n", failures ? "FAIL" : "PASS", VECTORS, failures);
    return failures ? 1 : 0;
}
