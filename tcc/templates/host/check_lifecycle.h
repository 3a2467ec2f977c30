// What the scheduler and the launcher tell the checker: blocks, barriers, copies, launches.
#pragma once

namespace {

inline void check_image(uintptr_t begin) { image_begin = begin; }

// Buffer i lies in the slot that begins at `begin + (i << shift)`.
void check_slots(char* begin, uint64_t bytes, uint32_t shift) {
  global_begin = begin;
  global_bytes = bytes;
  slot_shift = shift;
}

void check_setup(const Buffer* buffers) {
  epoch = kNeverWritten;
  region_count = job->buffers;
  regions = reserve<Region>(region_count);
  for (uint32_t i = 0; i < job->buffers; ++i) {
    const Buffer& b = buffers[i];
    Region& r = regions[i];
    r.data = buffer_data[i];
    r.bytes = b.bytes;
    r.shift = b.granule_shift;
    r.initialised = b.initialised;
    if (!b.writable) r.free_bytes = b.bytes < 16 ? 0 : b.bytes - 15;
    if (!b.writable) continue;
    const uint64_t cells = (b.bytes >> r.shift) + 1;
    r.cells = reserve<GlobalCell>(cells);
    r.touched = reserve<uint8_t>((cells >> kChunkShift) + 1);
  }
}

void check_find_shared(char* begin, char* end) {
  shared_start = begin;
  shared_bytes = uint64_t(end - begin);
  shared_shift = job->shared_shift;
  shared_cells = reserve<Cell>((shared_bytes >> shared_shift) + 1);
}

// Says of some bytes of shared memory whether they are part of an array of the running kernel.
void mark_shared(uint64_t offset, uint64_t bytes, uint32_t mark) {
  if (!bytes) return;
  for (uint64_t i = offset >> shared_shift; i <= (offset + bytes - 1) >> shared_shift; ++i)
    shared_cells[i].write_epoch = mark;
}

bool same_name(const char* one, const char* other) {
  while (*one && *one == *other) ++one, ++other;
  return *one == *other;
}

template <class Action>
void for_arrays(const char* kernel, Action action) {
  const SharedArray* arrays = table<SharedArray>(job->array_offset);
  for (uint32_t i = 0; i < job->arrays; ++i)
    if (same_name(arrays[i].kernel, kernel)) action(arrays[i]);
}

void mark_arrays(const char* kernel, uint32_t mark) {
  for_arrays(kernel, [mark](const SharedArray& a) { mark_shared(a.offset, a.bytes, mark); });
}

// Calls `action` for the arrays in [begin, end) that the running kernel has.
template <class Action>
void for_declared_arrays(char* begin, char* end, Action action) {
  for_arrays(current_kernel, [=](const SharedArray& a) {
    char* at = shared_start + a.offset;
    if (begin <= at && at < end) action(at, at + a.bytes);
  });
}

// All shared memory but the arrays of the kernel that runs now is out of bounds.
void check_launch_begins(uint64_t dynamic_offset, uint64_t dynamic_bytes) {
  static const char* last_kernel = "";
  static uint64_t last_dynamic_bytes;
  launch_epoch = ++epoch;
  if (!shared_bytes) return;
  mark_arrays(last_kernel, kNoArray);
  mark_shared(dynamic_offset, last_dynamic_bytes, kNoArray);
  mark_arrays(current_kernel, kNeverWritten);
  mark_shared(dynamic_offset, dynamic_bytes, kNeverWritten);
  last_kernel = current_kernel;
  last_dynamic_bytes = dynamic_bytes;
}

// What this launch copied to global memory from a local variable that had no value.
void check_written_values() {
  for (uint32_t i = 0; i < job->buffers; ++i) {
    const Region& r = regions[i];
    if (!r.cells || r.shift < 2) continue;
    for (uint64_t k = 0; k < r.bytes >> r.shift; ++k) {
      const GlobalCell& c = r.cells[k];
      if (c.write_epoch < launch_epoch || !is_from_local(r.data + (k << r.shift))) continue;
      tcc_self.linear = int(c.write_thread());
      set_block(c.write_block);
      report(kFromLocal, c.write_place, int32_t(i), int64_t(k << r.shift), 1u << r.shift, kWrite,
             kNobody);
    }
  }
}

void check_launch_ends(bool all_blocks) {
  check_written_values();
  if (!all_blocks) assume_initialised = true;
}

// After the last launch: elements of the outputs that no thread of any launch has written.
void check_outputs(const Buffer* buffers) {
  for (uint32_t i = 0; i < job->buffers && !assume_initialised; ++i) {
    if (!buffers[i].is_output) continue;
    const Region& r = regions[i];
    uint64_t missing = 0, first = 0;
    for (uint64_t k = r.bytes >> r.shift; k-- > 0;)
      if (!r.cells[k].write_epoch) ++missing, first = k;
    if (missing)
      report(kUnwritten, 0, int32_t(i), int64_t(first << r.shift), 1u << r.shift, kWrite,
             {kUnknownBlock, kNoThread, 0, kRead}, missing);
  }
}

void check_block_begins() {
  block_epoch = ++epoch;
  __builtin_memset(clocks, 0, sizeof clocks);
}

inline void check_barrier() { ++epoch; }

// Lanes that have passed a __syncwarp together see what the others did before it.
void check_warp_synced(int warp, uint32_t lanes) {
  uint16_t latest = 0;
  for (uint32_t l = lanes; l; l &= l - 1)
    if (clocks[warp * 32 + lowest(l)] > latest) latest = clocks[warp * 32 + lowest(l)];
  for (uint32_t l = lanes; l; l &= l - 1) clocks[warp * 32 + lowest(l)] = uint16_t(latest + 1);
}

void check_inactive_lane(int thread, int line) {
  const int running = tcc_self.linear;
  tcc_self.linear = thread;
  report(kInactiveLane, place_of(line), kNowhere, 0, 0, kRead);
  tcc_self.linear = running;
}

template <class Action>
void for_pending(char* to, unsigned bytes, Action action) {
  const uint64_t offset = uint64_t(to - shared_start);
  if (offset >= shared_bytes) return;
  for (uint64_t at = offset >> shared_shift; at <= (offset + bytes - 1) >> shared_shift; ++at)
    action(shared_cells[at]);
}

// From here on, until its thread waits for it, the copy may write at any time.
void check_copy_begins(char* to, const char* from, unsigned bytes, unsigned zeros, int line) {
  const uint32_t place = place_of(line);
  if (bytes > zeros) check_bytes<kRead>(const_cast<char*>(from), place, bytes - zeros);
  if (reinterpret_cast<uintptr_t>(to) & (bytes - 1)) report_misaligned(to, place, bytes, kWrite);
  check_bytes<kWrite>(to, place, bytes);
  for_pending(to, bytes, [](Cell& cell) { cell.write_epoch |= kPending; });
}

void check_copy_lands(char* to, unsigned bytes, int line) {
  for_pending(to, bytes, [](Cell& cell) {
    if (cell.write_thread() == uint32_t(tcc_self.linear)) cell.write_epoch &= ~kPending;
  });
  check_bytes<kWrite>(to, place_of(line), bytes);
}

}  // namespace

extern "C" void tcc_note_atomic(void* address, unsigned bytes, int line) {
  check_bytes<kAtomic>(address, place_of(line), bytes);
}
