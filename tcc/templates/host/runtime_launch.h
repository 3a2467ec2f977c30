// A launch: its blocks one after the other, in several processes when it takes long.
#pragma once

#include <errno.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>

// The runtime's own thread-local array, for `extern __shared__`: the text's name for it is a macro.
constexpr size_t kMaxShared = 227 * 1024;
constexpr size_t kSharedTail = 128;  // poisoned bytes past the end that a block must leave alone
thread_local __attribute__((aligned(1024))) unsigned char
    tcc_dynamic_shared[kMaxShared + kSharedTail];

namespace {

constexpr size_t kDefaultShared = 48 * 1024;
constexpr int kPoison = 0xff;
constexpr uint64_t kAloneNs = 3000000;  // how long a launch runs before it takes other processes
constexpr int kMaxRaised = 64;

cudaError_t last_error = cudaSuccess;
char* shared_begin;  // the thread-local block of the program: its shared arrays ...
char* shared_end;
char* dynamic_begin;  // ... and among them the dynamic one
char* dynamic_end;

struct Raised {
  const void* function;
  size_t bytes;
} raised[kMaxRaised];  // kernels that may have more than 48 KiB of dynamic shared memory
int raised_count;

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

int find_shared(dl_phdr_info* info, size_t, void*) {
  check_image(info->dlpi_addr);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_TLS || !info->dlpi_tls_data) continue;
    shared_begin = static_cast<char*>(info->dlpi_tls_data);
    shared_end = shared_begin + info->dlpi_phdr[i].p_memsz;
  }
  dynamic_begin = reinterpret_cast<char*>(tcc_dynamic_shared);
  dynamic_end = dynamic_begin + sizeof tcc_dynamic_shared;
  check_find_shared(shared_begin, shared_end);
  return 1;  // the program itself comes first; the libraries' blocks are theirs
}

void poison(char* begin, char* end) {
  if (begin < end) __builtin_memset(begin, kPoison, size_t(end - begin));
}

void poison_shared(size_t dynamic_bytes) {
  for_declared_arrays(shared_begin, dynamic_begin, poison);
  for_declared_arrays(dynamic_end, shared_end, poison);
  if (dynamic_bytes) poison(dynamic_begin, dynamic_begin + dynamic_bytes + kSharedTail);
}

void check_shared_tail(size_t dynamic_bytes) {
  if (!dynamic_bytes) return;
  for (size_t i = 0; i < kSharedTail; ++i)
    if (tcc_dynamic_shared[dynamic_bytes + i] != kPoison) fail(kSharedOverrun, 0, 0, int(i));
}

struct Blocks {
  const uint64_t* chosen;  // linear indices; null: all
  uint64_t count;
  size_t shared_bytes;
};

Blocks blocks_of_launch(uint32_t launch, dim3 grid, size_t shared_bytes) {
  const Sample* samples = table<Sample>(job->sample_offset);
  for (uint32_t i = 0; i < job->samples; ++i)
    if (samples[i].launch == launch)
      return {table<uint64_t>(samples[i].file_offset), samples[i].count, shared_bytes};
  return {nullptr, uint64_t(grid.x) * grid.y * grid.z, shared_bytes};
}

void run_block(uint64_t linear, size_t shared_bytes) {
  blockIdx = uint3{unsigned(linear % gridDim.x), unsigned(linear / gridDim.x % gridDim.y),
                   unsigned(linear / gridDim.x / gridDim.y)};
  poison_shared(shared_bytes);
  drop_copies();
  check_block_begins();
  in_kernel = true;
  run_threads();
  in_kernel = false;
  check_shared_tail(shared_bytes);
}

// Runs blocks until none is left or the time is over; says whether some are left.
bool run_blocks(const Blocks& blocks, uint64_t until_ns) {
  for (;;) {
    if (__atomic_load_n(&job->fault.claimed, __ATOMIC_RELAXED)) _exit(kFaultStatus);
    const uint64_t i = __atomic_fetch_add(&job->next_block, 1, __ATOMIC_RELAXED);
    if (i >= blocks.count) return false;
    const uint64_t at = job->reverse ? blocks.count - 1 - i : i;
    const uint64_t linear = blocks.chosen ? blocks.chosen[at] : at;
    if (linear < uint64_t(gridDim.x) * gridDim.y * gridDim.z) run_block(linear, blocks.shared_bytes);
    if (until_ns && now_ns() > until_ns) return i + 1 < blocks.count;
  }
}

[[noreturn]] void run_worker(const Blocks& blocks) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  start_timer();
  check_worker_begins();
  run_blocks(blocks, 0);
  check_worker_ends();
  _exit(0);
}

void await_a_worker() {
  int status = 0;
  while (waitpid(-1, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) fail(kWorkerLost, 0, 0, WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) _exit(kFaultStatus);
}

void run_in_processes(const Blocks& blocks) {
  uint32_t workers = 0;
  for (uint32_t i = 1; i < job->workers; ++i) {
    if (!check_before_fork()) break;
    const pid_t child = fork();
    if (child == 0) run_worker(blocks);
    if (child > 0) ++workers;
  }
  run_blocks(blocks, 0);
  for (; workers; --workers) await_a_worker();
  check_merge_workers();
}

bool valid_shape(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  return grid.x && grid.x <= 0x7fffffff && grid.y && grid.y <= 65535 && grid.z &&
         grid.z <= 65535 && threads && threads <= kMaxThreads && block.z <= 64;
}

size_t shared_limit(const void* function) {
  for (int i = 0; i < raised_count; ++i)
    if (raised[i].function == function) return raised[i].bytes;
  return kDefaultShared;
}

}  // namespace

extern "C" {

cudaError_t tcc_launch(const char* kernel, const void* function, void (*call)(void*),
                       void* context, dim3 grid, dim3 block, size_t shared_bytes) {
  if (!valid_shape(grid, block)) return remember(cudaErrorInvalidConfiguration);
  if (shared_bytes > shared_limit(function)) return remember(cudaErrorInvalidValue);
  const Blocks blocks = blocks_of_launch(job->launches++, grid, shared_bytes);
  current_kernel = kernel;
  blockDim = block;
  gridDim = grid;
  scheduler.call = call;
  scheduler.context = context;
  prepare_threads(block);
  job->next_block = 0;
  check_launch_begins(uint64_t(dynamic_begin - shared_begin), shared_bytes);
  const uint64_t alone_until = job->workers > 1 ? now_ns() + kAloneNs : 0;
  if (run_blocks(blocks, alone_until)) run_in_processes(blocks);
  check_launch_ends(!blocks.chosen);
  return cudaSuccess;
}

cudaError_t tcc_set_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || size_t(value) > kMaxShared) return remember(cudaErrorInvalidValue);
  int at = 0;
  while (at < raised_count && raised[at].function != function) ++at;
  if (at == kMaxRaised) return remember(cudaErrorMemoryAllocation);
  raised[at] = {function, size_t(value)};
  if (at == raised_count) ++raised_count;
  return cudaSuccess;
}

cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

}  // extern "C"
