// The CUDA runtime as far as emitted text uses it, for a C++17 compiler on a CPU.
//
// CUDA threads of a block are fibers of one OS thread (runtime_scheduler.h), blocks are spread over
// processes (runtime_launch.h). Everything here is C++ without a C++ library, so that any C++
// compiler with a C library will do.
//
// A macro marks it as included, because compilers tell files apart by path or time, and the
// precompiled form (tcc/run/precompiled.py) was made elsewhere or earlier.
#ifndef TCC_CUDA_RUNTIME_H
#define TCC_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shim_types.h"

#include "shim_atomics.h"
#include "shim_convert.h"
#include "shim_launch.h"
#include "shim_math.h"
#include "shim_sync.h"

#endif
