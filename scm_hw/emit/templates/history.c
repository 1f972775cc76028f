/* What lies before a record, and behind it in each source the codes of the rows before, the newest
 * first. */
static const {{ in_type }} at_rest[{{ history.rest | length }}] = {
{% for line in lines(history.rest) %}
    {{ line }}{{ "" if loop.last else "," }}
{% endfor %}
};

void {{ names.prefix }}_run({{ names.prefix }}_memory *memory,
    const {{ names.prefix }}_input inputs[{{ names.macro }}_MODEL_INPUTS],
    {{ names.prefix }}_output outputs[{{ names.macro }}_MODEL_OUTPUTS])
{
{% for place, top in history.now %}
    const {{ in_type }} now_{{ place }} = ({{ in_type }})clipped(inputs[{{ place }}], 0, {{ top }});
{% endfor %}
    {{ in_type }} taps[{{ history.taps | length }}];
{% if history.nodes %}
    /* Outputs, and behind them the bits of nodes, which come back. */
    {{ out_type }} results[{{ function.results | length }}];
{% endif %}
    int place;
    if ((memory->rows == 0U) || (inputs[{{ names.macro }}_MODEL_INPUTS - 1] != 0)) {
        memory->rows = 0U;
        for (place = 0; place < {{ history.rest | length }}; place++) {
            memory->past[place] = at_rest[place];
        }
    }
{% for tap in history.taps %}
    taps[{{ loop.index0 }}] = {{ tap }};
{% endfor %}
{% if history.nodes %}
    machine(taps, results);
    for (place = 0; place < {{ names.macro }}_MODEL_OUTPUTS - 1; place++) {
        outputs[place] = results[place];
    }
{% else %}
    machine(taps, outputs);
{% endif %}
{% for top in history.tops %}
    outputs[{{ loop.index0 }}] = (outputs[{{ loop.index0 }}] < 0) ? 0 : outputs[{{ loop.index0 }}];
    outputs[{{ loop.index0 }}] = (outputs[{{ loop.index0 }}] > {{ top }}) ? {{ top }} : outputs[{{ loop.index0 }}];
{% endfor %}
    for (place = {{ history.rest | length }} - 1; place > 0; place--) {
        memory->past[place] = memory->past[place - 1];
    }
{% for place, value in history.newest %}
    memory->past[{{ place }}] = {{ value }};
{% endfor %}
    /* The history is full once it has seen as many rows as the oldest lies back. */
    memory->rows += (memory->rows <= {{ history.depth }}U) ? 1U : 0U;
    outputs[{{ names.macro }}_MODEL_OUTPUTS - 1] = (memory->rows > {{ history.depth }}U) ? 1 : 0;
}
