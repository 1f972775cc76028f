/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See {{ names.uio_header }}. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "{{ names.uio_header }}"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "{{ names.registers_header }}"

int {{ names.prefix }}_uio_open({{ names.prefix }}_uio *uio, const char *path, long long address)
{
    uio->length = {{ names.macro }}_REGS_BYTES;
    uio->file = open(path, O_RDWR | O_SYNC);
    if (uio->file < 0) {
        return -1;
    }
    uio->map = mmap(NULL, uio->length, PROT_READ | PROT_WRITE, MAP_SHARED, uio->file,
        (off_t)address);
    if (uio->map == MAP_FAILED) {
        const int reason = errno;
        (void)close(uio->file);
        errno = reason;
        return -1;
    }
    if ({{ names.prefix }}_open(&uio->device, (uintptr_t)uio->map) != {{ names.macro }}_OK) {
        {{ names.prefix }}_uio_close(uio);
        errno = ENODEV;
        return -1;
    }
    return 0;
}

int {{ names.prefix }}_uio_wait({{ names.prefix }}_uio *uio, int milliseconds)
{
    struct pollfd ready = { 0 };
    uint32_t count = 1u;
    int found;
    /* Lets the kernel pass the interrupt on once more. */
    if (write(uio->file, &count, sizeof count) != (ssize_t)sizeof count) {
        return -1;
    }
    ready.fd = uio->file;
    ready.events = POLLIN;
    found = poll(&ready, 1, milliseconds);
    if (found <= 0) {
        return found;
    }
    return (read(uio->file, &count, sizeof count) == (ssize_t)sizeof count) ? 1 : -1;
}

void {{ names.prefix }}_uio_close({{ names.prefix }}_uio *uio)
{
    (void)munmap(uio->map, uio->length);
    (void)close(uio->file);
}
