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

// Maps one buffer between two inaccessible gaps; its data ends at the second one, up to 15 bytes.
char* map_buffer(int file, const Buffer& buffer) {
  void* range = mmap(nullptr, buffer.page_bytes + 2 * kGap, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) fail(kSetup);
  char* pages = static_cast<char*>(range) + kGap;
  const int protection = buffer.writable ? PROT_READ | PROT_WRITE : PROT_READ;
  if (buffer.page_bytes) map_shared(file, buffer.file_offset, buffer.page_bytes, protection, pages);
  return pages + buffer.lead;
}

void map_buffers(int file) {
  const Buffer* buffers = table<Buffer>(job->buffer_offset);
  char** data = static_cast<char**>(calloc(job->buffers + 1, sizeof(char*)));
  if (!data) fail(kSetup);
  buffer_data = data;
  for (uint32_t i = 0; i < job->buffers; ++i) data[i] = map_buffer(file, buffers[i]);
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
  return 0;
}
