// The checker of the checking build: the emitted text is compiled with
// `-fsanitize=thread,bounds,alignment`, and the calls that this puts before every access end here.
//
//   findings   the table of what is wrong
//   shadow     what is known of each element
//   access     what an access finds there
//   callbacks  the functions that the compiler calls
//   lifecycle  blocks, barriers, asynchronous copies
//   merge      blocks in several processes
#pragma once

#include "check_findings.h"

#include "check_shadow.h"

#include "check_access.h"

#include "check_callbacks.h"

#include "check_lifecycle.h"

#include "check_merge.h"
