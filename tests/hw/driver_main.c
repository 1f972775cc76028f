/* Every call of the driver on the core in Verilator; "server" as an argument leaves the bus to
 * standard input instead. */
#include <stdio.h>

#include "bus.h"
#include "mill_driver.h"
#include "mill_regs.h"
#include "vectors.h"

static int failures = 0;

static void expect(const char *what, long long found, long long value)
{
    if (found != value) {
        printf("error: %s is %lld, not %lld\n", what, found, value);
        failures++;
    }
}

/* Digest words that are read wrong, as if the core of another build were there. */
int bus_tampered = 0;

uint32_t bus_read_checked(uintptr_t address)
{
    const uint32_t word = bus_read((uint32_t)address);
    return bus_tampered && address == MILL_REG_DIGEST(7u) ? word ^ 1u : word;
}

static void interrupts(mill_device *device)
{
    int64_t outputs[MILL_REGS_OUTPUTS];
    int i;
    mill_enable_interrupt(device, 1);
    expect("interrupt before a sample", bus_interrupt(), 0);
    expect("start", mill_start(device, inputs[0]), MILL_OK);
    for (i = 0; i < 1000 && !bus_interrupt(); i++) {
        (void)mill_done(device);
    }
    expect("interrupt", bus_interrupt(), 1);
    expect("done", mill_done(device), 1);
    expect("finish", mill_finish(device, outputs), MILL_OK);
    expect("output", outputs[0], wanted[0][0]);
    expect("interrupt after it is cleared", bus_interrupt(), 0);
    mill_enable_interrupt(device, 0);
    expect("start", mill_start(device, inputs[0]), MILL_OK);
    while (!mill_done(device)) {
    }
    expect("interrupt while disabled", bus_interrupt(), 0);
    mill_acknowledge(device);
}

static void errors(mill_device *device)
{
    int64_t outputs[MILL_REGS_OUTPUTS];
    bus_write(MILL_REG_ID, 0u);
    bus_write(0x40u, 0u);
    expect("predict after errors", mill_predict(device, inputs[0], outputs), MILL_REFUSED);
    expect("errors", device->errors, MILL_STATUS_READ_ONLY | MILL_STATUS_NO_REGISTER);
    expect("predict after them", mill_predict(device, inputs[0], outputs), MILL_OK);
    device->polls = 0u;
    expect("predict without polls", mill_predict(device, inputs[0], outputs), MILL_TIMEOUT);
    device->polls = 1000u;
    bus_tampered = 1;
    expect("open of another build", mill_open(device, 0u), MILL_NO_DESIGN);
    bus_tampered = 0;
    expect("open elsewhere", mill_open(device, 0x20000u), MILL_NO_DEVICE);
}

int main(int count, char **arguments)
{
    mill_device device;
    int64_t outputs[MILL_REGS_OUTPUTS];
    unsigned vector;
    unsigned field;
    (void)arguments;
    if (count > 1) {
        return bus_server();
    }
    expect("open", mill_open(&device, 0u), MILL_OK);
    for (vector = 0u; vector < VECTORS; vector++) {
        expect("predict", mill_predict(&device, inputs[vector], outputs), MILL_OK);
        for (field = 0u; field < MILL_REGS_OUTPUTS; field++) {
            expect("output", outputs[field], wanted[vector][field]);
        }
        expect("cycles", mill_cycles(&device), LATENCY);
    }
    interrupts(&device);
    errors(&device);
    printf("%s: %u vectors\n", failures ? "FAIL" : "PASS", VECTORS);
    return failures ? 1 : 0;
}
