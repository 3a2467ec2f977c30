// The table of findings of a checked run. It lies in the job's file, so all processes write to it.
#pragma once

namespace {

enum FindingKind : uint32_t {
  kRace = 1,             // two threads of a block, one of them writes, no barrier between them
  kWarpRace = 2,         // the same within a warp: a __syncwarp is missing
  kBlockRace = 3,        // two blocks of one launch
  kOutOfBounds = 4,      // outside of a buffer or of a shared array
  kArrayBounds = 5,      // an index outside of the declared extent; `value` is the index
  kUninitialised = 6,    // a read of what nobody wrote
  kMisalignedAccess = 7, // a vector at an address that is not a multiple of its size
  kInputWrite = 8,       // a write to an input
  kPendingCopy = 9,      // an access to where an asynchronous copy is still under way
  kInactiveLane = 10,    // a shuffle from a lane that does not take part
  kUnwritten = 11,       // an element of an output that no thread wrote; `value`: how many
  kFromLocal = 12,       // a read of what was copied from a local variable without a value
};

enum Access : uint32_t { kRead, kWrite, kAtomic };

constexpr int32_t kNowhere = -1, kShared = -2;  // `region` of a finding that is in no buffer
constexpr uint32_t kNoThread = 0xffff, kUnknownBlock = 0xffffffff;
constexpr uint32_t kLineFlag = 0x80000000;  // a place is this and a line, or an offset in the code

struct Finding {
  uint32_t kind, launch;
  uint64_t count;
  uint32_t grid[3], block_shape[3];
  uint32_t block, other_block;    // linear; kUnknownBlock
  uint32_t thread, other_thread;  // linear; kNoThread
  uint32_t place, other_place;    // 0: unknown
  int32_t region;                 // index of the buffer, kShared, kNowhere
  uint32_t bytes;                 // of the access
  int64_t offset;                 // bytes from the start of the region
  uint64_t value;
  uint32_t access, other_access;
  char kernel[kNameBytes];
};

struct Other {
  uint32_t block, thread, place;
  Access access;
};

constexpr uint32_t kSeen = 1024;
struct Seen {
  uint32_t kind, place;
  int32_t region;
  Finding* finding;
} seen[kSeen];

// One finding for each kind, place and region; later ones of the same are only counted.
__attribute__((noinline)) void report(FindingKind kind, uint32_t place, int32_t region,
                                      int64_t offset, uint32_t bytes, Access access,
                                      Other other = {kUnknownBlock, kNoThread, 0, kRead},
                                      uint64_t value = 0) {
  Seen& known = seen[(kind * 0x9e3779b1u ^ place * 0x85ebca6bu ^ uint32_t(region)) % kSeen];
  if (known.finding && known.kind == kind && known.place == place && known.region == region) {
    __atomic_fetch_add(&known.finding->count, 1, __ATOMIC_RELAXED);
    return;
  }
  const uint32_t at = __atomic_fetch_add(&job->findings, 1, __ATOMIC_RELAXED);
  if (at >= job->finding_capacity) return;
  Finding& f = table<Finding>(job->finding_offset)[at];
  const uint64_t block =
      blockIdx.x + uint64_t(gridDim.x) * (blockIdx.y + uint64_t(gridDim.y) * blockIdx.z);
  f = {kind, job->launches - 1, 1, {gridDim.x, gridDim.y, gridDim.z},
       {blockDim.x, blockDim.y, blockDim.z}, uint32_t(block), other.block,
       uint32_t(tcc_self.linear), other.thread, place, other.place, region, bytes, offset, value,
       access, other.access, {}};
  for (int i = 0; i < kNameBytes - 1 && current_kernel[i]; ++i) f.kernel[i] = current_kernel[i];
  known = {kind, place, region, &f};
}

uintptr_t image_begin;  // where the program's code is loaded

inline uint32_t place_of(const void* return_address) {
  return uint32_t(reinterpret_cast<uintptr_t>(return_address) - image_begin - 1);
}
inline uint32_t place_of(int line) { return kLineFlag | uint32_t(line); }

}  // namespace
