// Faults end the run: the first one of any process is recorded in the job.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <ucontext.h>
#endif

extern "C" {
extern tcc_thread tcc_self;
uint3 blockIdx;
dim3 blockDim, gridDim;
}

namespace {

constexpr uint64_t kGap = uint64_t(1) << 28;  // inaccessible bytes on either side of a buffer
constexpr int kFaultStatus = 3;

const char* current_kernel = "";
bool in_kernel;
char* stacks_begin;
char* stacks_end;
uint64_t deadline_ns;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

// The record to fill in, or nothing when another process was first.
Fault* claim(FaultKind kind) {
  Fault& fault = job->fault;
  uint32_t unclaimed = 0;
  if (!__atomic_compare_exchange_n(&fault.claimed, &unclaimed, 1u, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST))
    _exit(kFaultStatus);
  fault.kind = kind;
  fault.in_kernel = in_kernel;
  fault.buffer = -1;
  const uint3 where[2] = {blockIdx, threadIdx};
  __builtin_memcpy(fault.block, &where[0], sizeof fault.block);
  __builtin_memcpy(fault.thread, &where[1], sizeof fault.thread);
  for (int i = 0; i < kNameBytes - 1 && current_kernel[i]; ++i) fault.kernel[i] = current_kernel[i];
  return &fault;
}

[[noreturn]] void fail(FaultKind kind, int line = 0, int other_line = 0, int count = 0) {
  Fault* fault = claim(kind);
  fault->line = line;
  fault->other_line = other_line;
  fault->count = count;
  _exit(kFaultStatus);
}

uint32_t access_direction(void* context) {
#if defined(__x86_64__)
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
#else
  (void)context;
  return 2;
#endif
}

// x86 gives no address for a misaligned vector, nor for one outside of the address space.
bool has_no_address(const siginfo_t* info) {
#if defined(__x86_64__)
  return info->si_code == SI_KERNEL && info->si_addr == nullptr;
#else
  return info->si_signo == SIGBUS && info->si_code == BUS_ADRALN;
#endif
}

FaultKind kind_of(const siginfo_t* info) {
  const char* address = static_cast<const char*>(info->si_addr);
  switch (info->si_signo) {
    case SIGALRM: return kTimeout;
    case SIGFPE: return kArithmetic;
    case SIGSEGV:
    case SIGBUS:
      if (has_no_address(info)) return kMisaligned;
      return address >= stacks_begin && address < stacks_end ? kStackOverflow : kAccess;
    default: return kTrap;
  }
}

void locate(char* address, Fault& fault) {
  const Buffer* buffers = table<Buffer>(job->buffer_offset);
  for (uint32_t i = 0; i < job->buffers; ++i) {
    const int64_t offset = address - buffer_data[i];
    if (offset < -int64_t(kGap) || offset >= int64_t(buffers[i].bytes + kGap)) continue;
    fault.buffer = int32_t(i);
    fault.offset = offset;
  }
}

void on_signal(int signal, siginfo_t* info, void* context) {
  Fault* fault = claim(kind_of(info));
  fault->count = signal;
  if (fault->kind == kAccess) {
    locate(static_cast<char*>(info->si_addr), *fault);
    fault->is_write = access_direction(context);
  }
  _exit(kFaultStatus);
}

// Every process has its own timer: a fork does not inherit it.
void start_timer() {
  const uint64_t now = now_ns();
  const uint64_t left_us = deadline_ns > now + 1000 ? (deadline_ns - now) / 1000 : 1;
  itimerval timer = {};
  timer.it_value.tv_sec = time_t(left_us / 1000000);
  timer.it_value.tv_usec = suseconds_t(left_us % 1000000);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void install_handlers() {
  static char stack_for_handlers[65536];
  stack_t alternate = {};
  alternate.ss_sp = stack_for_handlers;
  alternate.ss_size = sizeof stack_for_handlers;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGALRM};
  for (int signal : signals) sigaction(signal, &action, nullptr);
}

}  // namespace
