/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See {{ names.driver_header }}. For a bus that is not in the memory map, define {{ names.macro }}_READ32(address)
 * and {{ names.macro }}_WRITE32(address, word) on the command line of the compiler. */
#include "{{ names.driver_header }}"

#include "{{ names.registers_header }}"

#ifdef {{ names.macro }}_BUS_HEADER
#include {{ names.macro }}_BUS_HEADER
#endif

#ifndef {{ names.macro }}_READ32
#define {{ names.macro }}_READ32(address) (*(volatile uint32_t *)(address))
#define {{ names.macro }}_WRITE32(address, word) (*(volatile uint32_t *)(address) = (word))
#endif

#define POLLS 1000000u

static const uint8_t digest[32] = {
{% for row in digest_bytes %}
    {{ row }}{{ "" if loop.last else "," }}
{% endfor %}
};

static const uint8_t input_bits[{{ inputs | length }}] = {
{% for row in bits(inputs) %}
    {{ row }}{{ "" if loop.last else "," }}
{% endfor %}
};

static uint32_t get(const {{ names.prefix }}_device *device, uint32_t offset)
{
    return {{ names.macro }}_READ32(device->base + offset);
}

static void put(const {{ names.prefix }}_device *device, uint32_t offset, uint32_t word)
{
    {{ names.macro }}_WRITE32(device->base + offset, word);
}

{{ names.prefix }}_result {{ names.prefix }}_open({{ names.prefix }}_device *device, uintptr_t base)
{
    uint32_t i;
    device->base = base;
    device->polls = POLLS;
    device->errors = 0u;
    if (get(device, {{ names.macro }}_REG_ID) != {{ names.macro }}_REGS_ID) {
        return {{ names.macro }}_NO_DEVICE;
    }
    if (get(device, {{ names.macro }}_REG_MAP_VERSION) != {{ names.macro }}_REGS_VERSION) {
        return {{ names.macro }}_NO_VERSION;
    }
    for (i = 0u; i < 8u; i++) {
        const uint32_t word = (uint32_t)digest[4u * i] | ((uint32_t)digest[4u * i + 1u] << 8u)
            | ((uint32_t)digest[4u * i + 2u] << 16u) | ((uint32_t)digest[4u * i + 3u] << 24u);
        if (get(device, {{ names.macro }}_REG_DIGEST(i)) != word) {
            return {{ names.macro }}_NO_DESIGN;
        }
    }
    put(device, {{ names.macro }}_REG_CONTROL, 0u);
    put(device, {{ names.macro }}_REG_STATUS, {{ names.macro }}_STATUS_ERRORS | {{ names.macro }}_STATUS_INTERRUPT);
    return {{ names.macro }}_OK;
}

{{ names.prefix }}_result {{ names.prefix }}_start({{ names.prefix }}_device *device,
    const int64_t inputs[{{ inputs | length }}])
{
    uint32_t i;
    uint32_t control;
    if ((get(device, {{ names.macro }}_REG_STATUS) & {{ names.macro }}_STATUS_BUSY) != 0u) {
        return {{ names.macro }}_BUSY;
    }
    for (i = 0u; i < {{ names.macro }}_REGS_INPUTS; i++) {
        const uint64_t value = (uint64_t)inputs[i];
        put(device, {{ names.macro }}_REG_INPUT(i), (uint32_t)(value & 0xFFFFFFFFu));
        if (input_bits[i] > 32u) {
            put(device, {{ names.macro }}_REG_INPUT_HIGH(i), (uint32_t)(value >> 32u));
        }
    }
    control = get(device, {{ names.macro }}_REG_CONTROL);
    put(device, {{ names.macro }}_REG_CONTROL, control | {{ names.macro }}_CONTROL_START);
    return {{ names.macro }}_OK;
}

int {{ names.prefix }}_done(const {{ names.prefix }}_device *device)
{
    return ((get(device, {{ names.macro }}_REG_STATUS) & {{ names.macro }}_STATUS_DONE) != 0u) ? 1 : 0;
}

{{ names.prefix }}_result {{ names.prefix }}_finish({{ names.prefix }}_device *device,
    int64_t outputs[{{ outputs | length }}])
{
    uint32_t i;
    const uint32_t status = get(device, {{ names.macro }}_REG_STATUS);
    if ((status & {{ names.macro }}_STATUS_ERRORS) != 0u) {
        device->errors = status & {{ names.macro }}_STATUS_ERRORS;
        put(device, {{ names.macro }}_REG_STATUS, device->errors);
        return {{ names.macro }}_REFUSED;
    }
    if ((status & {{ names.macro }}_STATUS_DONE) == 0u) {
        return {{ names.macro }}_BUSY;
    }
    for (i = 0u; i < {{ names.macro }}_REGS_OUTPUTS; i++) {
        const uint64_t low = get(device, {{ names.macro }}_REG_OUTPUT(i));
        const uint64_t high = get(device, {{ names.macro }}_REG_OUTPUT_HIGH(i));
        const uint64_t word = low | (high << 32u);
        /* Without a conversion of what int64_t does not hold, which C leaves open. */
        outputs[i] = (word >> 63u) != 0u ? -(int64_t)(~word) - 1 : (int64_t)word;
    }
    {{ names.prefix }}_acknowledge(device);
    return {{ names.macro }}_OK;
}

{{ names.prefix }}_result {{ names.prefix }}_predict({{ names.prefix }}_device *device,
    const int64_t inputs[{{ inputs | length }}], int64_t outputs[{{ outputs | length }}])
{
    uint32_t poll;
    const {{ names.prefix }}_result started = {{ names.prefix }}_start(device, inputs);
    if (started != {{ names.macro }}_OK) {
        return started;
    }
    for (poll = 0u; poll < device->polls; poll++) {
        if ({{ names.prefix }}_done(device) != 0) {
            return {{ names.prefix }}_finish(device, outputs);
        }
    }
    return {{ names.macro }}_TIMEOUT;
}

void {{ names.prefix }}_enable_interrupt(const {{ names.prefix }}_device *device, int enable)
{
    put(device, {{ names.macro }}_REG_CONTROL, (enable != 0) ? {{ names.macro }}_CONTROL_INTERRUPT_ENABLE : 0u);
}

void {{ names.prefix }}_acknowledge(const {{ names.prefix }}_device *device)
{
    put(device, {{ names.macro }}_REG_STATUS, {{ names.macro }}_STATUS_INTERRUPT);
}

uint32_t {{ names.prefix }}_cycles(const {{ names.prefix }}_device *device)
{
    return get(device, {{ names.macro }}_REG_CYCLES);
}
