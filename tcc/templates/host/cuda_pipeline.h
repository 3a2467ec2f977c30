// Asynchronous copies to shared memory. A copy happens as late as the programming model allows, at
// the wait that names its batch: a kernel that forgets the wait reads poison.
#pragma once

#include "cuda_runtime.h"

extern "C" {
void tcc_async_copy(void* to, const void* from, unsigned bytes, unsigned zeros, int line);
void tcc_async_commit();
void tcc_async_wait(unsigned batches_in_flight);
}

static inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes,
                                           size_t zeros = 0,
                                           int line = __builtin_LINE()) {
  tcc_async_copy(to, from, (unsigned)bytes, (unsigned)zeros, line);
}
static inline void __pipeline_commit() { tcc_async_commit(); }
static inline void __pipeline_wait_prior(size_t batches) { tcc_async_wait((unsigned)batches); }
