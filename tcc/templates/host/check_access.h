// What an access does to the shadow, and what it finds there.
#pragma once

#define TCC_INLINE inline __attribute__((always_inline))
#define TCC_COLD __attribute__((noinline))

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

inline void report(FindingKind kind, Site site, Other other) {
  report(kind, site.place, site.region, site.offset, site.bytes, site.access, other);
}

const Other kNobody = {kUnknownBlock, kNoThread, 0, kRead};

TCC_COLD void report_write(Site site, const Cell& cell, FindingKind kind,
                                            uint32_t block) {
  const Access access = cell.writer & kAtomicWrite ? kAtomic : kWrite;
  report(kind, site, {block, cell.write_thread(), cell.write_place, access});
}

TCC_COLD void report_read(Site site, const Cell& cell, FindingKind kind,
                                           uint32_t block, uint32_t thread) {
  report(kind, site, {block, thread, cell.read_place, kRead});
}

// The last write was not in an earlier epoch of this block: it may be a conflict, or missing. Says
// whether the granule is part of an array at all.
template <Access A>
TCC_COLD bool check_last_write(const Cell& cell, Site site, Now now, bool initialised) {
  if (cell.write_epoch == kNoArray && site.region == kShared) {
    report(kOutOfBounds, site, kNobody);
    return false;
  }
  const uint32_t writer = cell.write_thread();
  if (cell.write_epoch & kPending && (cell.write_epoch & ~kPending) >= block_epoch)
    report_write(site, cell, kPendingCopy, kUnknownBlock);
  else if (cell.write_epoch != epoch && A != kWrite && !initialised)
    report(kUninitialised, site, kNobody);
  else if (cell.write_epoch == epoch && writer != now.thread &&
           !now.is_after(writer, cell.write_clock) &&
           !(A == kAtomic && cell.writer & kAtomicWrite))
    report_write(site, cell, race_kind(now.thread, writer), kUnknownBlock);
  return true;
}

// A write, in an epoch in which the element has been read.
TCC_COLD void check_readers(const Cell& cell, Site site, Now now) {
  const bool many = uint32_t(cell.readers) == kManyWarps;
  if (cell.reader >> 5 != now.warp())
    return report_read(site, cell, kRace, kUnknownBlock, cell.reader);
  if (many) return report_read(site, cell, kRace, kUnknownBlock, cell.other_reader);
  const uint32_t others = cell.read_lanes & ~now.lane_bit;
  if (others && (cell.readers & 0xffff) >= now.clock)
    report_read(site, cell, kWarpRace, kUnknownBlock, now.warp() * 32 + uint32_t(lowest(others)));
}

TCC_COLD void note_other_read(Cell& cell, Now now, uint32_t place) {
  if (cell.read_epoch() == epoch) {
    if (cell.reader >> 5 != now.warp()) {
      cell.other_reader = uint16_t(now.thread);
      cell.readers |= kManyWarps;
      return;
    }
    if ((cell.readers & 0xffff) > now.clock) {
      cell.read_lanes |= now.lane_bit;
      return;
    }
  }
  cell.readers = now.reads;
  cell.reader = uint16_t(now.thread);
  cell.read_lanes = now.lane_bit;
  cell.read_place = place;
}

TCC_INLINE void note_read(Cell& cell, const Now& now, uint32_t place) {
  if (cell.readers == now.reads)
    cell.read_lanes |= now.lane_bit;
  else if (cell.readers != (now.reads | kManyWarps))
    note_other_read(cell, now, place);
}

template <Access A>
TCC_INLINE void note_write(Cell& cell, const Now& now, uint32_t place,
                                                      uint32_t flags = 0) {
  // A plain write that an atomic operation of the same thread covers stays a plain one.
  const bool covers = cell.write_epoch == epoch && cell.writer == now.thread;
  if (A == kAtomic && !covers) flags |= kAtomicWrite;
  cell.write_epoch = epoch;
  cell.writer = uint16_t(now.thread | flags);
  cell.write_clock = uint16_t(now.clock);
  cell.write_place = place;
}

// Conflicts with what threads of this block have done since the last barrier. Says whether the
// granule is part of an array.
template <Access A>
TCC_INLINE bool check_block(const Cell& cell, const Site& site, const Now& now,
                            bool initialised) {
  const bool is_earlier = cell.write_epoch - block_epoch < epoch - block_epoch;
  if (__builtin_expect(!is_earlier, 0) &&
      !check_last_write<A>(cell, site, now, initialised))
    return false;
  if (A != kRead && cell.read_epoch() == epoch) check_readers(cell, site, now);
  return true;
}

// Whether four bytes are those with which GCC fills local variables: then they come from one that
// had no value. Clang fills them with NaN, which needs no help to show.
TCC_INLINE bool is_from_local(const char* at) {
#if defined(__clang__)
  (void)at;
  return false;
#else
  constexpr uint32_t kLocal = 0xfefefefe;
  return *reinterpret_cast<const uint32_t*>(at) == kLocal;
#endif
}

template <Access A>
TCC_INLINE void access_shared(uint64_t offset, uint32_t place, unsigned bytes) {
  const uint64_t first = offset >> shared_shift, last = (offset + bytes - 1) >> shared_shift;
  const Now now;
  for (uint64_t i = first; i <= last; ++i) {
    Cell& cell = shared_cells[i];
    const Site site{place, kShared, int64_t(i << shared_shift), bytes, A};
    if (!check_block<A>(cell, site, now, false)) return;
    if (A == kRead) {
      note_read(cell, now, place);
      const char* at = shared_start + (i << shared_shift);
      if (shared_shift >= 2 && __builtin_expect(is_from_local(at), 0))
        report(kFromLocal, site, {kUnknownBlock, cell.write_thread(), cell.write_place, kWrite});
    } else {
      note_write<A>(cell, now, place);
    }
  }
}

// Conflicts with what other blocks of this launch have done.
template <Access A>
TCC_INLINE void check_grid(const GlobalCell& cell, const Site& site) {
  if (cell.write_epoch >= launch_epoch && !(A == kAtomic && cell.writer & kAtomicWrite)) {
    if (cell.write_epoch < block_epoch)
      report_write(site, cell, kBlockRace, cell.write_block);
    else if (cell.writer & kManyBlocks)
      report(kBlockRace, site, {kUnknownBlock, kNoThread, 0, kAtomic});
  }
  if (A == kRead || cell.read_epoch() < launch_epoch) return;
  if (cell.read_epoch() < block_epoch)
    report_read(site, cell, kBlockRace, cell.read_block, cell.reader);
  else if (cell.read_by_many)
    report_read(site, cell, kBlockRace, cell.first_block, cell.first_thread);
}

inline void set_block(uint32_t linear) {
  blockIdx = uint3{linear % gridDim.x, linear / gridDim.x % gridDim.y,
                   linear / gridDim.x / gridDim.y};
}

inline uint32_t linear_block() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

TCC_INLINE void note_global_read(GlobalCell& cell, const Now& now,
                                                            uint32_t place) {
  if (cell.read_epoch() < launch_epoch) {
    cell.read_by_many = false;
  } else if (cell.read_epoch() < block_epoch && !cell.read_by_many) {
    cell.read_by_many = true;
    cell.first_block = cell.read_block;
    cell.first_thread = cell.reader;
  }
  note_read(cell, now, place);
  cell.read_block = linear_block();
}

template <Access A>
TCC_INLINE void note_global_write(GlobalCell& cell, const Now& now,
                                                             uint32_t place) {
  const bool atomics = A == kAtomic && cell.write_epoch >= launch_epoch;
  const bool many = atomics && (cell.write_epoch < block_epoch || cell.writer & kManyBlocks);
  note_write<A>(cell, now, place, many ? kManyBlocks : 0);
  cell.write_block = linear_block();
}

template <Access A>
TCC_INLINE void access_cells(const Region& region, int32_t index, uint64_t offset, uint32_t place,
                             unsigned bytes) {
  const uint64_t first = offset >> region.shift, last = (offset + bytes - 1) >> region.shift;
  region.touched[first >> kChunkShift] = region.touched[last >> kChunkShift] = 1;
  const bool initialised = region.initialised || assume_initialised;
  const Now now;
  for (uint64_t i = first; i <= last; ++i) {
    GlobalCell& cell = region.cells[i];
    const Site site{place, index, int64_t(i << region.shift), bytes, A};
    check_grid<A>(cell, site);
    check_block<A>(cell, site, now, initialised || cell.write_epoch);
    if (A == kRead)
      note_global_read(cell, now, place);
    else
      note_global_write<A>(cell, now, place);
  }
}

template <Access A>
TCC_COLD void report_global(int32_t index, uint64_t offset, uint32_t place, unsigned bytes) {
  const bool inside = offset < regions[index].bytes && offset + bytes <= regions[index].bytes;
  report(inside ? kInputWrite : kOutOfBounds, {place, index, int64_t(offset), bytes, A}, kNobody);
}

// A call of its own, so that a read of an input saves no registers.
template <unsigned N, Access A>
__attribute__((noinline)) void enter_shared(uint64_t offset, uint32_t place) {
  access_shared<A>(offset, place, N);
}

// An access of any length. Everything but most reads of inputs comes here.
template <Access A>
TCC_INLINE void find_region(char* address, uint32_t place, unsigned bytes) {
  const uint64_t in_global = uint64_t(address - global_begin);
  if (in_global >= global_bytes) return;
  const int32_t index = int32_t(in_global >> slot_shift);
  const Region& region = regions[index];
  const uint64_t offset = uint64_t(address - region.data);
  if (__builtin_expect(offset >= region.bytes || region.bytes - offset < bytes, 0))
    return report_global<A>(index, offset, place, bytes);
  if (region.cells) return access_cells<A>(region, index, offset, place, bytes);
  if (A != kRead) report_global<A>(index, offset, place, bytes);
}
template <unsigned N, Access A>
__attribute__((noinline)) void find_region(char* address, uint32_t place) {
  find_region<A>(address, place, N);
}

template <unsigned N, Access A>
TCC_INLINE void check_access(void* pointer, uint32_t place) {
  char* address = static_cast<char*>(pointer);
  if (A == kRead) {
    const uint64_t index = uint64_t(address - global_begin) >> slot_shift;
    if (index < region_count && uint64_t(address - regions[index].data) < regions[index].free_bytes)
      return;
  }
  const uint64_t in_shared = uint64_t(address - shared_start);
  if (in_shared < shared_bytes) return enter_shared<N, A>(in_shared, place);
  find_region<N, A>(address, place);
}

template <Access A>
TCC_COLD void check_bytes(void* pointer, uint32_t place, unsigned bytes) {
  char* address = static_cast<char*>(pointer);
  const uint64_t in_shared = uint64_t(address - shared_start);
  if (in_shared < shared_bytes) return access_shared<A>(in_shared, place, bytes);
  find_region<A>(address, place, bytes);
}

TCC_COLD void report_misaligned(void* pointer, uint32_t place, unsigned bytes,
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
