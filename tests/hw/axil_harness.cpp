// The core behind AXI4-Lite in Verilator, as a bus that a driver reads and writes word by word: by
// the functions below, or by lines on standard input (bus_server): "r ADDRESS", "w ADDRESS WORD".
#include <cstdint>
#include <cstdio>

#include "Vdut.h"
#include "verilated.h"

static Vdut *dut() {
    static Vdut *found = nullptr;
    return found ? found : (found = new Vdut);
}

static void tick() {
    dut()->aclk = 0;
    dut()->eval();
    dut()->aclk = 1;
    dut()->eval();
}

static void start() {
    static bool started = false;
    if (started) return;
    started = true;
    dut()->aresetn = 0;
    for (int i = 0; i < 4; i++) tick();
    dut()->aresetn = 1;
    tick();
}

extern "C" uint32_t bus_read(uint32_t address) {
    start();
    dut()->s_axi_araddr = address;
    dut()->s_axi_arvalid = 1;
    dut()->s_axi_rready = 1;
    for (;;) {
        dut()->aclk = 0;
        dut()->eval();
        const bool taken = dut()->s_axi_arready && dut()->s_axi_arvalid;
        const bool answered = dut()->s_axi_rvalid;
        const uint32_t word = dut()->s_axi_rdata, response = dut()->s_axi_rresp;
        dut()->aclk = 1;
        dut()->eval();
        if (taken) dut()->s_axi_arvalid = 0;
        if (answered) {
            dut()->s_axi_rready = 0;
            if (response) std::printf("error: a read of %x was answered with %u\n", address, response);
            return word;
        }
    }
}

extern "C" void bus_write(uint32_t address, uint32_t word) {
    start();
    dut()->s_axi_awaddr = address;
    dut()->s_axi_awvalid = 1;
    dut()->s_axi_wdata = word;
    dut()->s_axi_wstrb = 15;
    dut()->s_axi_wvalid = 1;
    dut()->s_axi_bready = 1;
    for (;;) {
        dut()->aclk = 0;
        dut()->eval();
        const bool place = dut()->s_axi_awready && dut()->s_axi_awvalid;
        const bool data = dut()->s_axi_wready && dut()->s_axi_wvalid;
        const bool answered = dut()->s_axi_bvalid;
        const uint32_t response = dut()->s_axi_bresp;
        dut()->aclk = 1;
        dut()->eval();
        if (place) dut()->s_axi_awvalid = 0;
        if (data) dut()->s_axi_wvalid = 0;
        if (answered) {
            dut()->s_axi_bready = 0;
            if (response) std::printf("error: a write to %x was answered with %u\n", address, response);
            return;
        }
    }
}

extern "C" int bus_interrupt(void) {
    start();
    dut()->eval();
    return dut()->irq;
}

extern "C" int bus_server(void) {
    char kind;
    unsigned address, word;
    while (std::scanf(" %c", &kind) == 1) {
        if (kind == 'r' && std::scanf("%x", &address) == 1) {
            std::printf("%x\n", bus_read(address));
        } else if (kind == 'w' && std::scanf("%x %x", &address, &word) == 2) {
            bus_write(address, word);
            std::printf("0\n");
        }
        std::fflush(stdout);
    }
    return 0;
}
