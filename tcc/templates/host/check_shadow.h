// Shadow memory: for each granule (the smallest element of its buffer) who wrote it last and who
// has read it since, and when.
//
// Time is an epoch: a number that grows with each block and each barrier. The blocks of a process
// run one after the other, so an epoch also tells whether an access was in this block, in another
// block of the launch, or in an earlier launch. Within an epoch only a __syncwarp orders accesses:
// every thread has a clock that grows with each that it passes.
#pragma once

namespace {

enum CellFlags : uint16_t {
  kAtomicWrite = 1,  // the last write was an atomic operation
  kManyBlocks = 2,   // so were those of other blocks before it, in this launch
  kReadByMany = 4,   // several blocks have read it in this launch
  kPending = 8,      // an asynchronous copy of write_thread to here is under way
};

struct Cell {
  uint32_t write_epoch, read_epoch;
  uint16_t write_thread, write_clock;
  uint16_t read_thread, read_clock;
  uint32_t read_lanes;    // lanes of that thread's warp that have read in read_epoch at read_clock
  uint32_t write_place, read_place;
  uint16_t other_reader;  // a reader of another warp in read_epoch, or kNoThread
  uint16_t flags;
};
struct GlobalCell : Cell {
  uint32_t write_block, read_block;
  uint32_t first_block;   // of those of kReadByMany
  uint16_t first_thread;
  uint16_t spare;
};

struct Region {
  char* data;
  uint64_t bytes;
  GlobalCell* cells;    // null: an input, which has no shadow
  uint8_t* touched;     // a byte for each chunk of cells that this launch has touched
  uint32_t shift;       // a granule has 1 << shift bytes
  bool initialised;     // in/out tensors are before the launch
};

constexpr uint32_t kChunkShift = 12;
constexpr uint32_t kDynamicArray = 255;

uint32_t epoch, block_epoch, launch_epoch;  // now; when this block, this launch began
uint16_t clocks[kMaxThreads];
bool assume_initialised;  // a launch before this one has run only some of its blocks

char* global_begin;  // buffer i lies in slot i: from global_begin + (i << slot_shift)
uint64_t global_bytes;
uint32_t slot_shift;
Region* regions;

char* shared_start;
uint64_t shared_bytes;
uint32_t shared_shift;
Cell* shared_cells;
uint8_t* shared_owner;  // by granule: the array that it is part of; 0: none

template <class T>
T* reserve(uint64_t count) {
  void* memory = mmap(nullptr, (count * sizeof(T) | 4095) + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail(kSetup);
  return static_cast<T*>(memory);
}

inline bool is_ordered(int warp, uint32_t thread, uint32_t clock, uint32_t now) {
  return int(thread >> 5) == warp && clock < now;
}

}  // namespace
