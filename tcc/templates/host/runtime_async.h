// Asynchronous copies to shared memory wait in a queue for each thread.
#pragma once

namespace {

struct AsyncCopy {
  char* to;
  const char* from;
  unsigned bytes, zeros, batch;
  int line;
};
// A full queue does its copies at once, which the programming model allows at any time.
constexpr unsigned kMaxCopies = 256;
struct AsyncQueue {
  AsyncCopy copies[kMaxCopies];
  unsigned count, batch;
} async_queues[kMaxThreads];
bool async_used;

void copy_now(const AsyncCopy& copy) {
  const unsigned bytes = copy.bytes - copy.zeros;
  __builtin_memcpy(copy.to, copy.from, bytes);
  __builtin_memset(copy.to + bytes, 0, copy.zeros);
  check_copy_lands(copy.to, copy.bytes, copy.line);
}

// Copies of the block before that nobody waited for do not happen in this one.
void drop_copies() {
  if (!async_used) return;
  for (AsyncQueue& queue : async_queues) queue.count = 0;
  async_used = false;
}

}  // namespace

extern "C" {

void tcc_async_copy(void* to, const void* from, unsigned bytes, unsigned zeros, int line) {
  AsyncQueue& queue = async_queues[tcc_self.linear];
  const AsyncCopy copy{static_cast<char*>(to), static_cast<const char*>(from), bytes, zeros,
                       queue.batch, line};
  check_copy_begins(copy.to, copy.from, bytes, zeros, line);
  async_used = true;
  if (queue.count == kMaxCopies) return copy_now(copy);
  queue.copies[queue.count++] = copy;
}

void tcc_async_commit() { ++async_queues[tcc_self.linear].batch; }

void tcc_async_wait(unsigned batches_in_flight) {
  AsyncQueue& queue = async_queues[tcc_self.linear];
  unsigned kept = 0;
  for (unsigned i = 0; i < queue.count; ++i) {
    const AsyncCopy copy = queue.copies[i];
    if (copy.batch + batches_in_flight < queue.batch)
      copy_now(copy);
    else
      queue.copies[kept++] = copy;
  }
  queue.count = kept;
}

}  // extern "C"
