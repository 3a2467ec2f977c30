// The head of the file that the Python side and this program share (tcc/run/host_job.py writes and
// reads the same layout). All fields little-endian, naturally aligned.
#pragma once

namespace {

constexpr uint64_t kMagic = 0x31626f6a63637431;  // "1tccjob1"
constexpr int kNameBytes = 96;

enum FaultKind : uint32_t {
  kNoFault = 0,
  kAccess = 1,            // SIGSEGV or SIGBUS at `address`
  kArithmetic = 2,        // SIGFPE
  kTrap = 3,              // another signal
  kStackOverflow = 4,     // a thread's local variables do not fit
  kTimeout = 5,           // the deadline passed
  kDivergentLines = 6,    // threads of a block wait at different barriers
  kDivergentExit = 7,     // a thread leaves the kernel while others wait at a barrier
  kDeadlock = 8,          // some threads wait at a barrier, the others at a warp operation
  kMaskWithoutCaller = 9, // a warp operation whose mask does not name the calling lane
  kDifferentMasks = 10,   // lanes of one warp operation name different masks
  kSharedOverrun = 11,    // a write past the end of the dynamic shared memory
  kWorkerLost = 12,       // a worker process was killed
  kWorkspaceSize = 13,    // the launcher wants another workspace than its interface says
  kSetup = 14,            // memory could not be mapped
  kMisaligned = 15,       // the CPU refuses the address: a vector access that is not aligned
};

struct Fault {
  uint32_t claimed, kind;
  uint32_t block[3], thread[3];
  int32_t line, other_line;  // lines of the emitted text
  int32_t count;             // threads concerned, or the number of a signal
  int32_t buffer;            // index of the nearest buffer, -1: none
  int64_t offset;            // bytes from the start of that buffer; bytes wanted of the workspace
  uint32_t is_write;         // 0 read, 1 write, 2 unknown
  uint32_t in_kernel;        // 0: in the launcher
  char kernel[kNameBytes];
};

struct Buffer {
  uint64_t file_offset, page_bytes;  // its pages in the file
  uint64_t lead, bytes;              // bytes of the pages before the data, bytes of the data
  uint32_t writable;
  uint32_t granule_shift;            // for the checker: its smallest element has 1 << this bytes,
  uint32_t initialised, is_output;   // it has values before the run; all of it is to be written
};

struct SharedArray {
  uint64_t offset, bytes;  // within the thread-local block of the program
  char kernel[kNameBytes];
};

struct Sample {
  uint64_t launch, file_offset, count;  // run only these linear blocks (uint64 each) of a launch
};

struct Job {
  uint64_t magic, head_bytes;
  uint32_t buffers, sizes, samples, workers;
  uint32_t reverse, launches;
  int32_t error, workspace;  // result of the launcher; index of the workspace buffer, -1: none
  uint64_t timeout_ms, next_block;
  uint32_t arrays, shared_shift;         // shared arrays; log2 bytes of their smallest element
  uint32_t findings, finding_capacity;   // of the checker; more findings than fit are only counted
  Fault fault;
  // Of the tables, from the start of the head.
  uint64_t buffer_offset, size_offset, sample_offset, array_offset, finding_offset;
};

Job* job;
char* const* buffer_data;  // where the data of each buffer begins

template <class T>
T* table(uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(job) + offset);
}

}  // namespace
