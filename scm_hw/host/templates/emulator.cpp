// A board in a simulator, behind a pseudo-terminal: emulator FD NOISE SEED
#include "Vscm_top.h"
#include "verilated.h"
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sys/prctl.h>
#include <csignal>
#include <unistd.h>

static const double BIT = {{ bit_cycles }};
static const uint64_t IDLE = {{ idle_cycles }};
static const size_t MOST_WAITING = 4096;

static Vscm_top* top;
static int terminal;
static double noise;
static std::mt19937 random_bits;

static bool spoils() {
  return noise > 0 && std::uniform_real_distribution<>(0, 1)(random_bits) < noise;
}

// What the host sends, on the board's input pin.
struct Sender {
  std::deque<uint8_t> waiting;
  unsigned bits = 0;
  int left = 0;
  double until = 0;

  bool busy() const { return left > 0 || !waiting.empty(); }

  void step(double now) {
    if (left > 0 && now < until) return;
    if (left > 0 && --left > 0) {
      bits >>= 1;
    } else if (!waiting.empty()) {
      bits = 0x200u | waiting.front() << 1;
      // Any of the ten bits: a start or stop bit gone is worse than a wrong datum.
      if (spoils()) bits ^= 1u << random_bits() % 10;
      waiting.pop_front();
      if (now > until + 1) until = now;
      left = 10;
    } else {
      bits = 1;
      top->{{ rx }} = 1;
      return;
    }
    until += BIT;
    top->{{ rx }} = bits & 1;
  }
};

// What the board sends, on its output pin.
struct Listener {
  int left = 0;
  unsigned bits = 0;
  double at = 0;

  bool step(double now, uint8_t* byte) {
    if (left == 0) {
      if (top->{{ tx }}) return false;
      left = 10;
      at = now + BIT / 2;
    }
    if (now < at) return false;
    bits = bits >> 1 | (top->{{ tx }} ? 0x200u : 0u);
    at += BIT;
    if (--left > 0) return false;
    *byte = bits >> 1;
    if (spoils()) *byte ^= 1u << random_bits() % 8;
    return true;
  }
};

// False where the host is gone for good.
static bool take(Sender& sender, bool wait) {
  struct pollfd ready = {terminal, POLLIN, 0};
  if (wait) poll(&ready, 1, -1);
  uint8_t data[512];
  ssize_t count = read(terminal, data, sizeof data);
  for (ssize_t i = 0; i < count; ++i) sender.waiting.push_back(data[i]);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

// A host that doesn't read loses bytes, as it does on a wire.
static void give(uint8_t byte) {
  if (write(terminal, &byte, 1) == 1 || errno != EAGAIN) return;
  struct pollfd ready = {terminal, POLLOUT, 0};
  if (poll(&ready, 1, 1000) > 0 && write(terminal, &byte, 1) != 1) return;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  terminal = atoi(argv[1]);
  noise = atof(argv[2]);
  random_bits.seed(atoi(argv[3]));
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  VerilatedContext context;
  top = new Vscm_top{&context};
  {{ rest }}
  top->{{ rx }} = 1;
  Sender sender;
  Listener listener;
  uint64_t cycle = 0, active = 0, looked = 0;
  for (;; ++cycle) {
    bool idle = cycle - active > IDLE;
    if (idle || (cycle - looked > 10 * BIT && sender.waiting.size() < MOST_WAITING)) {
      looked = cycle;
      if (!take(sender, idle)) return 0;
      if (sender.busy()) active = cycle;
    }
    sender.step(cycle);
    top->{{ clk }} = 0;
    top->eval();
    top->{{ clk }} = 1;
    top->eval();
    uint8_t byte;
    if (listener.step(cycle, &byte)) give(byte);
    if (listener.left > 0 || sender.busy()) active = cycle;
  }
}
