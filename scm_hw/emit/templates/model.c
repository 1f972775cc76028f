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
{% if function.reads_inputs or history %}
static {{ in_type }} clipped({{ in_type }} value,
    {{ in_type }} low, {{ in_type }} high)
{
    {{ in_type }} found = value;
    if (found < low) {
        found = low;
    }
    if (found > high) {
        found = high;
    }
    return found;
}
{% endif %}

{% if history %}
/* One row of codes of now and of the past. */
static void machine(const {{ in_type }} inputs[{{ history.taps | length }}],
    {{ out_type }} outputs[{{ function.results | length }}])
{% else %}
void {{ names.prefix }}_run(const {{ names.prefix }}_input inputs[{{ names.macro }}_MODEL_INPUTS],
    {{ names.prefix }}_output outputs[{{ names.macro }}_MODEL_OUTPUTS])
{% endif %}
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
{% if history %}

{% include "history.c" %}
{% endif %}
