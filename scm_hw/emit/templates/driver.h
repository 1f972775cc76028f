/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Driver of {{ wrapper }}, the core behind {{ bus }}: bare metal and Linux alike, C99, nothing
 * allocated. Design {{ digest[:16] }}, written by scm-hw {{ version }}.
 *
 * Open the device once, then predict. What the integers mean is in {{ names.formats_header }}, the
 * registers are in {{ names.registers_header }}. */
#ifndef {{ names.macro }}_DRIVER_H
#define {{ names.macro }}_DRIVER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    {{ names.macro }}_OK = 0,
    {{ names.macro }}_NO_DEVICE,  /* no register map of scm-hw at this address */
    {{ names.macro }}_NO_VERSION, /* a register map that this driver does not know */
    {{ names.macro }}_NO_DESIGN,  /* the core of another build */
    {{ names.macro }}_BUSY,       /* a sample is under way */
    {{ names.macro }}_TIMEOUT,    /* no result within the polls that were allowed */
    {{ names.macro }}_REFUSED     /* the core reported an error; see errors */
} {{ names.prefix }}_result;

typedef struct {
    uintptr_t base;
    /* Reads of STATUS before a result counts as missing. */
    uint32_t polls;
    /* Error bits of STATUS of the last call that gave {{ names.macro }}_REFUSED. */
    uint32_t errors;
} {{ names.prefix }}_device;

/* Checks that the core of this build is at the address, and clears what it reports. */
{{ names.prefix }}_result {{ names.prefix }}_open({{ names.prefix }}_device *device, uintptr_t base);

/* Writes the inputs and starts the sample; poll, or wait for the interrupt, and then finish. */
{{ names.prefix }}_result {{ names.prefix }}_start({{ names.prefix }}_device *device,
    const int64_t inputs[{{ inputs | length }}]);

/* 1 where the sample has its result. */
int {{ names.prefix }}_done(const {{ names.prefix }}_device *device);

/* Reads the result, and clears the interrupt. */
{{ names.prefix }}_result {{ names.prefix }}_finish({{ names.prefix }}_device *device,
    int64_t outputs[{{ outputs | length }}]);

/* All of it: one sample, by polling. */
{{ names.prefix }}_result {{ names.prefix }}_predict({{ names.prefix }}_device *device,
    const int64_t inputs[{{ inputs | length }}], int64_t outputs[{{ outputs | length }}]);

/* The interrupt output follows the results, or stays low. */
void {{ names.prefix }}_enable_interrupt(const {{ names.prefix }}_device *device, int enable);

/* Clears the interrupt; for a handler. */
void {{ names.prefix }}_acknowledge(const {{ names.prefix }}_device *device);

/* Clock cycles that the last sample took in the core. */
uint32_t {{ names.prefix }}_cycles(const {{ names.prefix }}_device *device);

#ifdef __cplusplus
}
#endif

#endif
