/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Design {{ digest }},
 * written by scm-hw {{ version }}. See {{ names.model_header }}. */
#include "{{ names.model_header }}"

{% for table in function.tables %}
/* {{ table.comment }} */
static const {{ table.type }} {{ table.name }}[{{ table.contents | length }}] = {
{% for line in lines(table.contents) %}
    {{ line }}{{ "" if loop.last else "," }}
{% endfor %}
};

{% endfor %}
{% if function.reads_inputs %}
static {{ function.in_type }} clipped({{ function.in_type }} value,
    {{ function.in_type }} low, {{ function.in_type }} high)
{
    {{ function.in_type }} found = value;
    if (found < low) {
        found = low;
    }
    if (found > high) {
        found = high;
    }
    return found;
}
{% endif %}

void {{ names.prefix }}_run(const {{ names.prefix }}_input inputs[{{ names.macro }}_MODEL_INPUTS],
    {{ names.prefix }}_output outputs[{{ names.macro }}_MODEL_OUTPUTS])
{
{% if not function.reads_inputs %}
    (void)inputs;
{% endif %}
{% for line in function.statements %}
    {{ line }}
{% endfor %}
{% for result in function.results %}
    outputs[{{ loop.index0 }}] = {{ result }};
{% endfor %}
}
