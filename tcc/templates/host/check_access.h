// What an access does to the shadow, and what it finds there.
#pragma once

namespace {

inline FindingKind race_kind(uint32_t thread, uint32_t other) {
  return thread >> 5 == other >> 5 ? kWarpRace : kRace;
}

// Where an access happens, for a report.
struct Site {
  uint32_t place;
  int32_t region;
  int64_t offset;
  uint32_t bytes;
  Access access;
};

inline void report(FindingKind kind, const Site& site, Other other) {
  report(kind, site.place, site.region, site.offset, site.bytes, site.access, other);
}

__attribute__((noinline)) void report_write(const Site& site, const Cell& cell, FindingKind kind,
                                            uint32_t block) {
  const Access access = cell.flags & kAtomicWrite ? kAtomic : kWrite;
  report(kind, site, {block, cell.write_thread, cell.write_place, access});
}

__attribute__((noinline)) void report_read(const Site& site, const Cell& cell, FindingKind kind,
                                           uint32_t block, uint32_t thread) {
  report(kind, site, {block, thread, cell.read_place, kRead});
}

// Conflicts with what other threads of this block have done since the last barrier.
template <Access A>
inline __attribute__((always_inline)) void check_block(const Cell& cell, const Site& site, int me,
                                                       uint32_t clock) {
  const int warp = me >> 5;
  if (cell.write_epoch == epoch && cell.write_thread != me &&
      !is_ordered(warp, cell.write_thread, cell.write_clock, clock) &&
      !(A == kAtomic && cell.flags & kAtomicWrite))
    report_write(site, cell, race_kind(me, cell.write_thread), kUnknownBlock);
  if (A == kRead || cell.read_epoch != epoch) return;
  const uint32_t others = cell.read_lanes & ~bit(me);
  if (cell.read_thread >> 5 != warp)
    report_read(site, cell, kRace, kUnknownBlock, cell.read_thread);
  else if (cell.other_reader != kNoThread)
    report_read(site, cell, kRace, kUnknownBlock, cell.other_reader);
  else if (others && cell.read_clock >= clock)
    report_read(site, cell, kWarpRace, kUnknownBlock, uint32_t(warp * 32 + lowest(others)));
}

inline __attribute__((always_inline)) void note_read(Cell& cell, int me, uint32_t clock,
                                                     uint32_t place) {
  if (cell.read_epoch != epoch) {
    cell.read_epoch = epoch;
    cell.other_reader = kNoThread;
  } else if (cell.read_thread >> 5 != me >> 5) {
    cell.other_reader = uint16_t(me);
    return;
  } else if (clock <= cell.read_clock) {
    cell.read_lanes |= bit(me);
    return;
  }
  cell.read_thread = uint16_t(me);
  cell.read_clock = uint16_t(clock);
  cell.read_lanes = bit(me);
  cell.read_place = place;
}

template <Access A>
inline __attribute__((always_inline)) void note_write(Cell& cell, int me, uint32_t clock,
                                                      uint32_t place, uint32_t flags) {
  // A plain write that an atomic operation of the same thread covers stays a plain one.
  if (A == kAtomic &&
      !(cell.write_epoch == epoch && cell.write_thread == me && !(cell.flags & kAtomicWrite)))
    flags |= kAtomicWrite;
  cell.write_epoch = epoch;
  cell.write_thread = uint16_t(me);
  cell.write_clock = uint16_t(clock);
  cell.write_place = place;
  cell.flags = uint16_t(flags);
}

inline __attribute__((always_inline)) void check_pending(const Cell& cell, const Site& site) {
  if (__builtin_expect(cell.flags & kPending, 0) && cell.write_epoch >= block_epoch)
    report_write(site, cell, kPendingCopy, kUnknownBlock);
}

template <unsigned N, Access A>
inline __attribute__((always_inline)) void access_shared(uint64_t offset, uint32_t place,
                                                         unsigned bytes = N) {
  const uint64_t first = offset >> shared_shift, last = (offset + bytes - 1) >> shared_shift;
  Site site{place, kShared, int64_t(offset), bytes, A};
  if (__builtin_expect(!shared_owner[first] || shared_owner[first] != shared_owner[last], 0))
    return report(kOutOfBounds, site, {kUnknownBlock, kNoThread, 0, kRead});
  const int me = tcc_self.linear;
  const uint32_t clock = clocks[me];
  for (Cell* cell = shared_cells + first; cell <= shared_cells + last; ++cell) {
    site.offset = int64_t(cell - shared_cells) << shared_shift;
    check_pending(*cell, site);
    if (A != kWrite && __builtin_expect(cell->write_epoch < block_epoch, 0))
      report(kUninitialised, site, {kUnknownBlock, kNoThread, 0, kRead});
    check_block<A>(*cell, site, me, clock);
    if (A == kRead)
      note_read(*cell, me, clock, place);
    else
      note_write<A>(*cell, me, clock, place, 0);
  }
}

// Conflicts with what other blocks of this launch have done.
template <Access A>
inline __attribute__((always_inline)) void check_grid(const GlobalCell& cell, const Site& site) {
  if (cell.write_epoch >= launch_epoch && !(A == kAtomic && cell.flags & kAtomicWrite)) {
    if (cell.write_epoch < block_epoch)
      report_write(site, cell, kBlockRace, cell.write_block);
    else if (cell.flags & kManyBlocks)
      report(kBlockRace, site, {kUnknownBlock, kNoThread, 0, kAtomic});
  }
  if (A == kRead || cell.read_epoch < launch_epoch) return;
  if (cell.read_epoch < block_epoch)
    report_read(site, cell, kBlockRace, cell.read_block, cell.read_thread);
  else if (cell.flags & kReadByMany)
    report_read(site, cell, kBlockRace, cell.first_block, cell.first_thread);
}

inline uint32_t linear_block() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

inline __attribute__((always_inline)) void note_global_read(GlobalCell& cell, int me,
                                                            uint32_t clock, uint32_t place) {
  if (cell.read_epoch < launch_epoch) {
    cell.flags &= uint16_t(~kReadByMany);
  } else if (cell.read_epoch < block_epoch && !(cell.flags & kReadByMany)) {
    cell.flags |= kReadByMany;
    cell.first_block = cell.read_block;
    cell.first_thread = cell.read_thread;
  }
  note_read(cell, me, clock, place);
  cell.read_block = linear_block();
}

template <Access A>
inline __attribute__((always_inline)) void note_global_write(GlobalCell& cell, int me,
                                                             uint32_t clock, uint32_t place) {
  uint32_t flags = cell.flags & kReadByMany;
  if (A == kAtomic && cell.write_epoch >= launch_epoch &&
      (cell.write_epoch < block_epoch || cell.flags & kManyBlocks))
    flags |= kManyBlocks;
  note_write<A>(cell, me, clock, place, flags);
  cell.write_block = linear_block();
}

template <unsigned N, Access A>
inline __attribute__((always_inline)) void access_global(char* address, uint32_t place,
                                                         unsigned bytes = N) {
  const int32_t index = int32_t((uint64_t(address - global_begin)) >> slot_shift);
  const Region& region = regions[index];
  const uint64_t offset = uint64_t(address - region.data);
  Site site{place, index, int64_t(offset), bytes, A};
  if (__builtin_expect(offset + bytes > region.bytes || offset >= region.bytes, 0))
    return report(kOutOfBounds, site, {kUnknownBlock, kNoThread, 0, kRead});
  if (!region.cells) {
    if (A != kRead) report(kInputWrite, site, {kUnknownBlock, kNoThread, 0, kRead});
    return;
  }
  const uint64_t first = offset >> region.shift, last = (offset + bytes - 1) >> region.shift;
  region.touched[first >> kChunkShift] = region.touched[last >> kChunkShift] = 1;
  const int me = tcc_self.linear;
  const uint32_t clock = clocks[me];
  for (GlobalCell* cell = region.cells + first; cell <= region.cells + last; ++cell) {
    site.offset = int64_t(cell - region.cells) << region.shift;
    if (A != kWrite && !cell->write_epoch && !region.initialised && !assume_initialised)
      report(kUninitialised, site, {kUnknownBlock, kNoThread, 0, kRead});
    check_grid<A>(*cell, site);
    check_block<A>(*cell, site, me, clock);
    if (A == kRead)
      note_global_read(*cell, me, clock, place);
    else
      note_global_write<A>(*cell, me, clock, place);
  }
}

template <unsigned N, Access A>
inline __attribute__((always_inline)) void check_access(void* pointer, uint32_t place,
                                                        unsigned bytes = N) {
  char* address = static_cast<char*>(pointer);
  const uint64_t in_shared = uint64_t(address - shared_start);
  if (in_shared < shared_bytes) return access_shared<N, A>(in_shared, place, bytes);
  if (uint64_t(address - global_begin) < global_bytes)
    access_global<N, A>(address, place, bytes);
}

__attribute__((noinline)) void report_misaligned(void* pointer, uint32_t place, unsigned bytes,
                                                 Access access) {
  char* address = static_cast<char*>(pointer);
  const uint64_t in_shared = uint64_t(address - shared_start);
  int32_t region = kNowhere;
  int64_t offset = 0;
  if (in_shared < shared_bytes) {
    region = kShared;
    offset = int64_t(in_shared);
  } else if (uint64_t(address - global_begin) < global_bytes) {
    region = int32_t(uint64_t(address - global_begin) >> slot_shift);
    offset = address - regions[region].data;
  } else {
    return;
  }
  report(kMisalignedAccess, place, region, offset, bytes, access);
}

}  // namespace
