// The program: argument 1 is the descriptor of the job file. Exit status 0: the launcher returned
// (its result is in the job); 3: the job holds a fault; 2: this is no job.
#pragma once

#include <stdlib.h>

// The glue that is compiled with the emitted text (tcc/run/host_build.py).
extern "C" int tcc_call_launcher(void* const* buffers, const int* sizes);
extern "C" size_t tcc_workspace_bytes(const int* sizes);

namespace {

char* map_shared(int file, uint64_t offset, uint64_t bytes, int protection, char* at) {
  void* memory = mmap(at, bytes, protection, MAP_SHARED | (at ? MAP_FIXED : 0), file, off_t(offset));
  if (memory == MAP_FAILED) fail(kSetup);
  return static_cast<char*>(memory);
}

// Every buffer has a slot of one size, so that an address tells its buffer; the data is kGap bytes
// into it and ends at an inaccessible page, up to 15 bytes.
uint32_t slot_shift_of(const Buffer* buffers) {
  uint64_t largest = 0;
  for (uint32_t i = 0; i < job->buffers; ++i)
    if (buffers[i].page_bytes > largest) largest = buffers[i].page_bytes;
  uint32_t shift = 0;
  while (uint64_t(1) << shift < largest + 2 * kGap) ++shift;
  return shift;
}

char* map_buffer(int file, const Buffer& buffer, char* slot) {
  char* pages = slot + kGap;
  const int protection = buffer.writable ? PROT_READ | PROT_WRITE : PROT_READ;
  if (buffer.page_bytes) map_shared(file, buffer.file_offset, buffer.page_bytes, protection, pages);
  return pages + buffer.lead;
}

void map_buffers(int file) {
  const Buffer* buffers = table<Buffer>(job->buffer_offset);
  char** data = static_cast<char**>(calloc(job->buffers + 1, sizeof(char*)));
  const uint32_t shift = slot_shift_of(buffers);
  const uint64_t bytes = uint64_t(job->buffers) << shift;
  void* range = mmap(nullptr, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
  if (!data || range == MAP_FAILED) fail(kSetup);
  buffer_data = data;
  for (uint32_t i = 0; i < job->buffers; ++i)
    data[i] = map_buffer(file, buffers[i], static_cast<char*>(range) + (uint64_t(i) << shift));
  check_slots(static_cast<char*>(range), bytes, shift);
  check_setup(buffers);
}

void check_workspace(const int* sizes) {
  if (job->workspace < 0) return;
  const uint64_t wanted = tcc_workspace_bytes(sizes);
  if (wanted == table<Buffer>(job->buffer_offset)[job->workspace].bytes) return;
  claim(kWorkspaceSize)->offset = int64_t(wanted);
  _exit(kFaultStatus);
}

bool open_job(int file) {
  void* head = mmap(nullptr, sizeof(Job), PROT_READ, MAP_SHARED, file, 0);
  if (head == MAP_FAILED || static_cast<Job*>(head)->magic != kMagic) return false;
  const uint64_t bytes = static_cast<Job*>(head)->head_bytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  job = static_cast<Job*>(memory);
  return memory != MAP_FAILED;
}

}  // namespace

int main(int count, char** arguments) {
  const int file = count > 1 ? atoi(arguments[1]) : -1;
  if (!open_job(file)) return 2;
  deadline_ns = now_ns() + job->timeout_ms * 1000000u;
  install_handlers();
  start_timer();
  map_buffers(file);
  reserve_stacks();
  dl_iterate_phdr(find_shared, nullptr);
  const int* sizes = table<int>(job->size_offset);
  check_workspace(sizes);
  job->error = tcc_call_launcher(reinterpret_cast<void* const*>(buffer_data), sizes);
  if (job->error == cudaSuccess) check_outputs(table<Buffer>(job->buffer_offset));
  return 0;
}
