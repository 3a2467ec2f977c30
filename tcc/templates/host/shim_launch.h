// Kernel launches and the few runtime calls of a launcher.
#pragma once

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999
};
typedef enum cudaError cudaError_t;
typedef struct CUstream_st* cudaStream_t;
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

extern "C" {
cudaError_t tcc_launch(const char* kernel, const void* function, void (*call)(void*),
                       void* context, dim3 grid, dim3 block, size_t shared_bytes);
cudaError_t tcc_set_attribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
}

template <size_t... I>
struct tcc_indices {};
template <size_t N, size_t... I>
struct tcc_count : tcc_count<N - 1, N - 1, I...> {};
template <size_t... I>
struct tcc_count<0, I...> {
  typedef tcc_indices<I...> type;
};

template <class... A>
struct tcc_kernel_call {
  void (*function)(A...);
  void** arguments;

  template <size_t... I>
  void apply(tcc_indices<I...>) const {
    function(*static_cast<A*>(arguments[I])...);
  }
  static void run(void* self) {
    static_cast<tcc_kernel_call*>(self)->apply(typename tcc_count<sizeof...(A)>::type{});
  }
};

template <class... A>
static inline cudaError_t tcc_launch_kernel(const char* name, void (*function)(A...), dim3 grid,
                                            dim3 block, void** arguments, size_t shared_bytes = 0,
                                            cudaStream_t = nullptr) {
  tcc_kernel_call<A...> call{function, arguments};
  return tcc_launch(name, reinterpret_cast<const void*>(function), tcc_kernel_call<A...>::run,
                    &call, grid, block, shared_bytes);
}

template <class T>
static inline cudaError_t cudaFuncSetAttribute(T* function, cudaFuncAttribute attribute,
                                               int value) {
  return tcc_set_attribute(reinterpret_cast<const void*>(function), attribute, value);
}

struct cudaFuncAttributes {
  int binaryVersion, ptxVersion;
};

static inline cudaError_t tcc_get_attributes(cudaFuncAttributes* attributes, int architecture) {
  *attributes = {architecture, architecture};
  return cudaSuccess;
}

// The architecture, in tenths, that a file with kernels for several takes this machine for; a macro,
// so that the file can say it itself.
#define TCC_HOST_ARCHITECTURE 90
#define cudaFuncGetAttributes(attributes, kernel) \
  tcc_get_attributes(attributes, TCC_HOST_ARCHITECTURE)

// A macro, because reports name the kernel.
#define cudaLaunchKernel(kernel, ...) tcc_launch_kernel(#kernel, kernel, __VA_ARGS__)
