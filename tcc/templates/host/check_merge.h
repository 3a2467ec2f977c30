// Blocks in several processes: each knows what its own blocks do. At its end a worker writes down
// what they touched, and the process that started it looks for conflicts with all others.
#pragma once

namespace {

struct Touch {
  uint32_t region, flags;  // kWrote, kHasRead, kAtomicWrite
  uint64_t cell;
  uint32_t write_block, read_block, write_place, read_place;
  uint16_t write_thread, read_thread;
  uint32_t spare;
};
enum : uint32_t { kWrote = 1, kHasRead = 2 };

constexpr uint32_t kMaxWorkers = 256;
int logs[kMaxWorkers];
uint32_t log_count;
uint32_t fork_epoch;

struct LogWriter {
  int file;
  uint32_t count;
  Touch buffer[1024];

  void flush() {
    const char* from = reinterpret_cast<const char*>(buffer);
    for (size_t left = count * sizeof(Touch); left;) {
      const ssize_t written = write(file, from, left);
      if (written < 0) fail(kSetup);
      from += written;
      left -= size_t(written);
    }
    count = 0;
  }
  void add(const Touch& touch) {
    buffer[count++] = touch;
    if (count == 1024) flush();
  }
};

void check_forget_touched() {
  for (uint32_t i = 0; i < job->buffers; ++i) {
    const Region& r = regions[i];
    if (r.touched) __builtin_memset(r.touched, 0, (r.bytes >> r.shift >> kChunkShift) + 1);
  }
}

// Before the fork: a file for the worker, false when there are too many.
bool check_before_fork() {
  if (log_count == kMaxWorkers) return false;
  logs[log_count] = memfd_create("tcc-touched", MFD_CLOEXEC);
  return logs[log_count] >= 0 && ++log_count;
}

void check_worker_begins() {
  fork_epoch = epoch;
  check_forget_touched();
}

void log_cell(LogWriter& log, uint32_t region, uint64_t index, const GlobalCell& c) {
  const bool wrote = c.write_epoch > fork_epoch, has_read = c.read_epoch() > fork_epoch;
  if (!wrote && !has_read) return;
  uint32_t flags = c.writer & kAtomicWrite;
  if (wrote) flags |= kWrote;
  if (has_read) flags |= kHasRead;
  log.add({region, flags, index, c.write_block, c.read_block, c.write_place, c.read_place,
           uint16_t(c.write_thread()), c.reader, 0});
}

void check_worker_ends() {
  static LogWriter log;
  log.file = logs[log_count - 1];
  for (uint32_t i = 0; i < job->buffers; ++i) {
    const Region& r = regions[i];
    const uint64_t cells = r.touched ? (r.bytes >> r.shift) + 1 : 0;
    for (uint64_t at = 0; at < cells; at += uint64_t(1) << kChunkShift) {
      if (!r.touched[at >> kChunkShift]) continue;
      for (uint64_t k = at; k < cells && k < at + (uint64_t(1) << kChunkShift); ++k)
        log_cell(log, i, k, r.cells[k]);
    }
  }
  log.flush();
}

void report_merged(const Touch& t, Access access, Other other) {
  const uint32_t block = access == kRead ? t.read_block : t.write_block;
  set_block(block);
  tcc_self.linear = access == kRead ? t.read_thread : t.write_thread;
  const Region& r = regions[t.region];
  report(kBlockRace, access == kRead ? t.read_place : t.write_place, int32_t(t.region),
         int64_t(t.cell << r.shift), 1u << r.shift, access, other);
}

void merge(const Touch& t) {
  GlobalCell& c = regions[t.region].cells[t.cell];
  const bool wrote = t.flags & kWrote, has_read = t.flags & kHasRead;
  const bool atomics = t.flags & c.writer & kAtomicWrite;
  const bool written = c.write_epoch >= launch_epoch, read = c.read_epoch() >= launch_epoch;
  const Other writer{c.write_block, c.write_thread(), c.write_place,
                     c.writer & kAtomicWrite ? kAtomic : kWrite};
  const Access access = t.flags & kAtomicWrite ? kAtomic : kWrite;
  if (wrote && written && !atomics) report_merged(t, access, writer);
  if (wrote && read)
    report_merged(t, access, {c.read_block, c.reader, c.read_place, kRead});
  if (has_read && written) report_merged(t, kRead, writer);
  if (wrote) {
    c.write_epoch = launch_epoch;
    c.write_block = t.write_block;
    c.writer = uint16_t(t.write_thread | (t.flags & kAtomicWrite));
    c.write_place = t.write_place;
  }
  if (has_read) {
    c.readers = uint64_t(launch_epoch) << 32;
    c.read_block = t.read_block;
    c.reader = t.read_thread;
    c.read_place = t.read_place;
  }
}

void check_merge_workers() {
  for (uint32_t i = 0; i < log_count; ++i) {
    const uint64_t bytes = uint64_t(lseek(logs[i], 0, SEEK_END));
    const void* memory = bytes ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, logs[i], 0) : nullptr;
    if (memory == MAP_FAILED) fail(kSetup);
    const Touch* touches = static_cast<const Touch*>(memory);
    for (uint64_t k = 0; k < bytes / sizeof(Touch); ++k) merge(touches[k]);
    if (bytes) munmap(const_cast<void*>(memory), bytes);
    close(logs[i]);
  }
  log_count = 0;
}

}  // namespace
