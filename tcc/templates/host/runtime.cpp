// The runtime of host execution: one translation unit, compiled once and linked to every program.
//
//   job        the memory that parent and child share: buffers, settings, the fault record
//   faults     what ends a run: signals, and misuse that the scheduler sees
//   check      what the checking build adds, TCC_CHECK; see runtime_check.h
//   fiber      stacks and the switch between them
//   scheduler  the threads of a block: barriers, warp operations
//   async      asynchronous copies to shared memory
//   launch     blocks over processes; poisoned shared memory
//   main       maps the buffers, calls the launcher
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "shim_types.h"

#include "shim_launch.h"

#include "runtime_math.h"

#include "runtime_job.h"

#include "runtime_faults.h"

#include "runtime_fiber.h"

#include "runtime_bits.h"

#ifdef TCC_CHECK
#include "runtime_check.h"
#else
#include "runtime_unchecked.h"
#endif

#include "runtime_scheduler.h"

#include "runtime_async.h"

#include "runtime_launch.h"

#include "runtime_main.h"
