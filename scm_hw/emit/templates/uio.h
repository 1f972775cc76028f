/* SPDX-License-Identifier: BSD-2-Clause
 *
 * {{ wrapper }} from a Linux process: the registers of a UIO device, or of the physical memory. */
#ifndef {{ names.macro }}_UIO_H
#define {{ names.macro }}_UIO_H

#include <stddef.h>

#include "{{ names.driver_header }}"

typedef struct {
    {{ names.prefix }}_device device;
    int file;
    void *map;
    size_t length;
} {{ names.prefix }}_uio;

/* Opens /dev/uioN at offset 0, or /dev/mem at a physical address. 0, or -1 with errno set; where the
 * registers are not those of this build, -1 with ENODEV. */
int {{ names.prefix }}_uio_open({{ names.prefix }}_uio *uio, const char *path, long long address);

/* Waits for the interrupt of a UIO device: 1 once it came, 0 after the time, -1 with errno set. */
int {{ names.prefix }}_uio_wait({{ names.prefix }}_uio *uio, int milliseconds);

void {{ names.prefix }}_uio_close({{ names.prefix }}_uio *uio);

#endif
