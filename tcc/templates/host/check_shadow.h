// Shadow memory: for each granule (the smallest element of its buffer) who wrote it last and who
// has read it since, and when.
//
// Time is an epoch: a number that grows with each block and each barrier. The blocks of a process
// run one after the other, so an epoch also tells whether an access was in this block, in another
// block of the launch, or in an earlier launch. Within an epoch only a __syncwarp orders accesses:
// every thread has a clock that grows with each that it passes.
#pragma once

namespace {

enum WriterFlags : uint16_t {
  kThread = 0x03ff,       // the bits of the thread
  kManyBlocks = 0x4000,   // several blocks of this launch have updated it atomically
  kAtomicWrite = 0x8000,  // the last write was an atomic operation
};
constexpr uint32_t kPending = 0x80000000;  // in write_epoch: an asynchronous copy is under way
constexpr uint32_t kManyWarps = 0xffffffff;
constexpr uint32_t kNoArray = 0, kNeverWritten = 1;  // epochs of shared memory; others are larger

struct Cell {
  uint32_t write_epoch;
  uint32_t read_lanes;  // lanes of the reader's warp that have read, see `readers`
  uint64_t readers;     // epoch << 32 | warp << 16 | clock of the last reads; or kManyWarps
  uint16_t writer, write_clock;
  uint16_t reader, other_reader;  // of two warps where `readers` says kManyWarps
  uint32_t write_place, read_place;

  uint32_t read_epoch() const { return uint32_t(readers >> 32); }
  uint32_t write_thread() const { return writer & kThread; }
};
struct GlobalCell : Cell {
  uint32_t write_block, read_block;
  uint32_t first_block;   // of those that have read it, where read_by_many
  uint16_t first_thread;
  bool read_by_many;      // several blocks of this launch have read it
};

struct Region {
  char* data;
  uint64_t free_bytes;  // reads of up to 16 bytes that begin within them are right: of an input
  uint64_t bytes;
  GlobalCell* cells;    // null: an input, which has no shadow
  uint8_t* touched;     // a byte for each chunk of cells that this launch has touched
  uint32_t shift;       // a granule has 1 << shift bytes
  bool initialised;     // in/out tensors are before the launch
  uint64_t spare[2];    // 64 bytes
};

constexpr uint32_t kChunkShift = 12;

uint32_t epoch, block_epoch, launch_epoch;  // now; when this block, this launch began
uint16_t clocks[kMaxThreads];
bool assume_initialised;  // a launch before this one has run only some of its blocks

char* global_begin;  // buffer i lies in slot i: from global_begin + (i << slot_shift)
uint64_t global_bytes;
uint32_t slot_shift;
uint64_t region_count;
Region* regions;

char* shared_start;
uint64_t shared_bytes;
uint32_t shared_shift;
Cell* shared_cells;

template <class T>
T* reserve(uint64_t count) {
  void* memory = mmap(nullptr, (count * sizeof(T) | 4095) + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail(kSetup);
  return static_cast<T*>(memory);
}

// The thread that runs, and now.
struct Now {
  uint32_t thread, lane_bit, clock;
  uint64_t reads;  // what `readers` of a cell is that only this warp has read since it synchronised

  Now()
      : thread(uint32_t(tcc_self.linear)),
        lane_bit(bit(tcc_self.linear)),
        clock(clocks[thread]),
        reads(uint64_t(epoch) << 32 | (thread >> 5) << 16 | clock) {}

  uint32_t warp() const { return thread >> 5; }
  // Whether an access of this epoch by `other` came before a __syncwarp of both.
  bool is_after(uint32_t other, uint32_t other_clock) const {
    return other >> 5 == warp() && other_clock < clock;
  }
};

}  // namespace
