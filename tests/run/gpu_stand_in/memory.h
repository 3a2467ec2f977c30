// The calls of the CUDA runtime that small programs make besides launches, on memory of the host.
// A self-test compiled with this before its own text runs on the host device.
#pragma once

#include <cuda_runtime.h>

#ifdef __global__
// The runtime has functions of these names of its own.
#define abs libc_abs
#define llabs libc_llabs
#include <stdlib.h>
#undef abs
#undef llabs
#include <string.h>
#endif

typedef int* cudaEvent_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

extern "C" void tcc_stand_in_starts();

static inline cudaError_t cudaGetDeviceCount(int* count) {
  tcc_stand_in_starts();
  *count = 1;
  return cudaSuccess;
}
static inline cudaError_t cudaMalloc(void** data, size_t bytes) {
  return posix_memalign(data, 256, bytes) ? cudaErrorMemoryAllocation : cudaSuccess;
}
static inline cudaError_t cudaFree(void* data) { return free(data), cudaSuccess; }
static inline cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  return memset(data, value, bytes), cudaSuccess;
}
static inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return memcpy(to, from, bytes), cudaSuccess;
}
static inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
static inline cudaError_t cudaStreamCreate(cudaStream_t*) { return cudaSuccess; }
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
static inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
static inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 1000.0f;
  return cudaSuccess;
}
static inline const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaErrorInvalidValue ? "invalid value" : "error";
}
