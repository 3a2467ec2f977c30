// The threads of one block. A thread runs until it waits; then the next runnable one does, in
// ascending order, or in descending order when the job says so.
#pragma once

extern "C" {
tcc_thread tcc_self;
uint64_t tcc_values[kMaxThreads];
void tcc_barrier(int line);
}

namespace {

constexpr int kMaxWarps = kMaxThreads / 32;
constexpr int kNoLine = -1;
enum WarpOperation : uint8_t { kSync, kExchange, kVote };

// What a lane waits for; its value is in tcc_values.
struct Wait {
  uint32_t mask;
  int source, line;
  WarpOperation operation;
};

struct Scheduler {
  uint32_t ready[kMaxWarps];    // a bit for each lane that can run
  uint32_t ready_warps;         // a bit for each warp with a lane that can run
  uint32_t alive[kMaxWarps];    // lanes that have not left the kernel
  uint32_t waiting[kMaxWarps];  // lanes that wait at a warp operation
  int missing;                  // threads that the barrier still waits for
  int barrier_line;             // the line where threads wait; kNoLine: none does
  bool reverse;
  void* stacks[kMaxThreads];    // where a thread goes on; null: it has not begun
  tcc_thread threads[kMaxThreads];
  Wait waits[kMaxThreads];
  int thread_count, warp_count, living;
  void* outside;                // the stack of the context that started the block
  Fiber fibers[kMaxThreads];
  Fiber* fiber_of[kMaxThreads];
  Fiber* free_fibers[kMaxThreads];
  int free_count, fiber_count;
  void (*call)(void*);
  void* context;
} scheduler;

// The next ready thread in another warp, or at this one's other end; -1: none.
int next_around(int warp) {
  const Scheduler& s = scheduler;
  uint32_t warps = s.ready_warps & (s.reverse ? bits_below(warp) : bits_above(warp));
  if (!warps) warps = s.ready_warps;
  if (!warps) return -1;
  if (s.reverse) return highest(warps) * 32 + highest(s.ready[highest(warps)]);
  return lowest(warps) * 32 + lowest(s.ready[lowest(warps)]);
}

// The lanes that come next within the warp of a thread.
inline uint32_t next_lanes(int thread) {
  const Scheduler& s = scheduler;
  return s.ready[thread >> 5] & (s.reverse ? bits_below(thread) : bits_above(thread));
}

inline int first_of(int thread, uint32_t lanes) {
  return (thread & ~31) + (scheduler.reverse ? highest(lanes) : lowest(lanes));
}

// The next ready thread after `thread`, around the block; -1: none.
int next_ready(int thread) {
  const uint32_t lanes = next_lanes(thread);
  return lanes ? first_of(thread, lanes) : next_around(thread >> 5);
}

inline void make_ready(int warp, uint32_t lanes) {
  scheduler.ready[warp] |= lanes;
  if (scheduler.ready[warp]) scheduler.ready_warps |= bit(warp);
}

inline void make_waiting(int thread) {
  const int warp = thread >> 5;
  scheduler.ready[warp] &= ~bit(thread);
  if (!scheduler.ready[warp]) scheduler.ready_warps &= ~bit(warp);
}

void fiber_main();

// Gives a thread that has not begun a fiber.
__attribute__((noinline)) void begin(int thread) {
  Scheduler& s = scheduler;
  if (!s.free_count) {
    Fiber* fresh = &s.fibers[s.fiber_count];
    make_fiber(*fresh, s.fiber_count++, fiber_main);
    s.free_fibers[s.free_count++] = fresh;
  }
  s.fiber_of[thread] = s.free_fibers[--s.free_count];
  s.stacks[thread] = s.fiber_of[thread]->stack;
}

[[noreturn]] __attribute__((noinline)) void report_deadlock() {
  const Scheduler& s = scheduler;
  const int arrived = s.living - s.missing;
  for (int w = 0; w < s.warp_count; ++w)
    if (s.waiting[w])
      fail(kDeadlock, s.barrier_line, s.waits[w * 32 + lowest(s.waiting[w])].line, arrived);
  fail(kDeadlock, s.barrier_line, 0, arrived);
}

inline __attribute__((always_inline)) void switch_to(int from, int next) {
  Scheduler& s = scheduler;
  tcc_self = s.threads[next];
  tcc_switch(&s.stacks[from], s.stacks[next]);
}

// The rare cases of run_next: the warp is done, or the next thread has not begun.
__attribute__((noinline)) void run_next_slowly() {
  const int from = tcc_self.linear, next = next_ready(from);
  if (next < 0) report_deadlock();
  if (!scheduler.stacks[next]) begin(next);
  switch_to(from, next);
}

// Leaves the current, waiting thread. All calls are tail calls: no register is saved but by the
// switch, and the switch jumps straight back into the kernel.
inline __attribute__((always_inline)) void run_next() {
  const int from = tcc_self.linear;
  const uint32_t lanes = next_lanes(from);
  if (!lanes) return run_next_slowly();
  const int next = first_of(from, lanes);
  if (!scheduler.stacks[next]) return run_next_slowly();
  switch_to(from, next);
}

// Everybody has arrived, so everybody can go on; the thread that came last does.
__attribute__((noinline)) void release_barrier() {
  Scheduler& s = scheduler;
  s.missing = s.living;
  s.barrier_line = kNoLine;
  check_barrier();
  for (int w = 0; w < s.warp_count; ++w) make_ready(w, s.alive[w]);
}

// The first thread arrives; or one arrives at another barrier than those before it.
__attribute__((noinline)) void open_barrier(int line) {
  Scheduler& s = scheduler;
  if (s.barrier_line != kNoLine)
    fail(kDivergentLines, line, s.barrier_line, s.living - s.missing);
  if (s.living != s.thread_count) fail(kDivergentExit, line, 0, s.living);
  s.barrier_line = line;
  tcc_barrier(line);
}

// All of `lanes` have arrived: does the operation for them and lets them go on.
void complete(int warp, uint32_t lanes) {
  Scheduler& s = scheduler;
  const Wait* waits = &s.waits[warp * 32];
  uint64_t* values = &tcc_values[warp * 32];
  uint64_t given[32], votes = 0;
  for (uint32_t l = lanes; l; l &= l - 1) {
    given[lowest(l)] = values[lowest(l)];
    if (values[lowest(l)]) votes |= bit(lowest(l));
  }
  for (uint32_t l = lanes; l; l &= l - 1) {
    const int lane = lowest(l), source = waits[lane].source & 31;
    if (waits[lane].operation == kVote) values[lane] = votes;
    // A lane that does not take part gives an undefined value: poison.
    if (waits[lane].operation != kExchange) continue;
    if (!(lanes & bit(source))) check_inactive_lane(warp * 32 + lane, waits[lane].line);
    values[lane] = lanes & bit(source) ? given[source] : ~uint64_t(0);
  }
  if (waits[lowest(lanes)].operation == kSync) check_warp_synced(warp, lanes);
  s.waiting[warp] &= ~lanes;
  make_ready(warp, lanes);
}

// Completes the operation that `lane` waits at when no lane that its mask names is still missing.
bool try_complete(int warp, int lane) {
  Scheduler& s = scheduler;
  const Wait* waits = &s.waits[warp * 32];
  const uint32_t lanes = waits[lane].mask & s.alive[warp];
  if ((s.waiting[warp] & lanes) != lanes) return false;
  for (uint32_t l = lanes; l; l &= l - 1) {
    const Wait& other = waits[lowest(l)];
    if ((other.mask & s.alive[warp]) != lanes || other.operation != waits[lane].operation)
      fail(kDifferentMasks, waits[lane].line, other.line);
  }
  complete(warp, lanes);
  return true;
}

inline __attribute__((always_inline)) void arrive_at_warp(WarpOperation operation, uint32_t mask,
                                                          int source, int line) {
  Scheduler& s = scheduler;
  const int thread = tcc_self.linear, warp = thread >> 5;
  if (!(mask & bit(thread))) fail(kMaskWithoutCaller, line);
  s.waits[thread] = Wait{mask, source, line, operation};
  s.waiting[warp] |= bit(thread);
  const uint32_t lanes = mask & s.alive[warp];
  if ((s.waiting[warp] & lanes) == lanes && try_complete(warp, thread & 31)) return;
  make_waiting(thread);
  run_next();
}

// A thread has left the kernel: warp operations that named it must not wait for it any longer.
void retire(int thread) {
  Scheduler& s = scheduler;
  const int warp = thread >> 5;
  if (s.barrier_line != kNoLine) fail(kDivergentExit, s.barrier_line, 0, s.living - s.missing);
  s.missing = --s.living;
  s.alive[warp] &= ~bit(thread);
  make_waiting(thread);
  while (s.waiting[warp] && try_complete(warp, lowest(s.waiting[warp]))) {
  }
}

void fiber_main() {
  Scheduler& s = scheduler;
  for (;;) {
    s.call(s.context);
    const int from = tcc_self.linear;
    retire(from);
    const int next = next_ready(from);
    if (next >= 0 && !s.stacks[next]) {  // a new thread goes on here, without a switch
      s.fiber_of[next] = s.fiber_of[from];
      s.stacks[next] = &s.stacks[next];  // any address but null; a wait puts the right one there
      tcc_self = s.threads[next];
      continue;
    }
    if (next < 0 && s.living) report_deadlock();
    Fiber* mine = s.fiber_of[from];
    s.free_fibers[s.free_count++] = mine;
    if (next >= 0) tcc_self = s.threads[next];
    tcc_switch(&mine->stack, next < 0 ? s.outside : s.stacks[next]);
  }
}

// Sets up the threads of blocks of this shape; the blocks of a launch share it.
void prepare_threads(dim3 block) {
  Scheduler& s = scheduler;
  s.thread_count = int(block.x * block.y * block.z);
  s.warp_count = (s.thread_count + 31) / 32;
  s.reverse = job->reverse;
  for (int t = 0; t < s.thread_count; ++t) {
    const unsigned u = unsigned(t);
    s.threads[t] = {uint3{u % block.x, u / block.x % block.y, u / (block.x * block.y)}, t};
  }
}

void run_threads() {
  Scheduler& s = scheduler;
  s.living = s.missing = s.thread_count;
  s.barrier_line = kNoLine;
  s.ready_warps = 0;
  for (int w = 0; w < s.warp_count; ++w) {
    const int lanes = s.thread_count - w * 32;
    s.alive[w] = lanes >= 32 ? ~0u : bits_below(lanes);
    s.ready[w] = s.waiting[w] = 0;
    make_ready(w, s.alive[w]);
  }
  __builtin_memset(s.stacks, 0, sizeof(void*) * size_t(s.thread_count));
  const int first = s.reverse ? s.thread_count - 1 : 0;
  begin(first);
  tcc_self = s.threads[first];
  tcc_switch(&s.outside, s.stacks[first]);
}

}  // namespace

extern "C" {

void tcc_barrier(int line) {
  Scheduler& s = scheduler;
  if (line != s.barrier_line) return open_barrier(line);
  if (--s.missing == 0) return release_barrier();
  make_waiting(tcc_self.linear);
  run_next();
}

void tcc_sync_warp(unsigned mask, int line) { arrive_at_warp(kSync, mask, 0, line); }

void tcc_exchange(unsigned mask, uint64_t value, int source, int line) {
  tcc_values[tcc_self.linear] = value;
  arrive_at_warp(kExchange, mask, source, line);
}

void tcc_vote(unsigned mask, int predicate, int line) {
  tcc_values[tcc_self.linear] = predicate != 0;
  arrive_at_warp(kVote, mask, 0, line);
}

}  // extern "C"
