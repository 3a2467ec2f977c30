// What a C++ file that calls launchers needs of the CUDA runtime; the kernels have the host's.
#pragma once

#include <stdlib.h>
#include <string.h>

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 };
typedef struct CUstream_st* cudaStream_t;

#include "../memory.h"
