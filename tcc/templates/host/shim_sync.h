// Barriers, warp barriers, shuffles and votes. The line of the call travels along for reports.
#pragma once

extern "C" {
void tcc_barrier(int line);
void tcc_sync_warp(unsigned mask, int line);
// Gives `value` to the other lanes; afterwards tcc_values has the value of lane `source`.
void tcc_exchange(unsigned mask, uint64_t value, int source, int line);
// Afterwards tcc_values has a bit for each lane of the mask whose predicate holds.
void tcc_vote(unsigned mask, int predicate, int line);
extern uint64_t tcc_values[];  // by linear thread index
}

static __forceinline__ int tcc_lane() { return tcc_self.linear & 31; }

static __forceinline__ void __syncthreads(int line = __builtin_LINE()) { tcc_barrier(line); }
static __forceinline__ void __syncwarp(unsigned mask = 0xffffffffu,
                                       int line = __builtin_LINE()) {
  tcc_sync_warp(mask, line);
}

template <class T>
static __forceinline__ T tcc_shuffle(unsigned mask, T value, int source, int line) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  tcc_exchange(mask, bits, source, line);
  __builtin_memcpy(&value, &tcc_values[tcc_self.linear], sizeof value);
  return value;
}

// A source past the end of the caller's segment of `width` lanes means the caller's own value.
template <class T>
static __forceinline__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
                                     int line = __builtin_LINE()) {
  return tcc_shuffle(mask, value, (tcc_lane() & ~(width - 1)) + (lane & (width - 1)), line);
}
template <class T>
static __forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                          int line = __builtin_LINE()) {
  const int source = tcc_lane() + (int)delta, end = (tcc_lane() & ~(width - 1)) + width;
  return tcc_shuffle(mask, value, source < end ? source : tcc_lane(), line);
}
template <class T>
static __forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                        int line = __builtin_LINE()) {
  const int source = tcc_lane() - (int)delta, begin = tcc_lane() & ~(width - 1);
  return tcc_shuffle(mask, value, source >= begin ? source : tcc_lane(), line);
}
template <class T>
static __forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                                         int line = __builtin_LINE()) {
  const int source = tcc_lane() ^ lane_mask, end = (tcc_lane() & ~(width - 1)) + width;
  return tcc_shuffle(mask, value, source < end ? source : tcc_lane(), line);
}

static __forceinline__ unsigned __ballot_sync(unsigned mask, int predicate,
                                              int line = __builtin_LINE()) {
  tcc_vote(mask, predicate, line);
  return (unsigned)tcc_values[tcc_self.linear];
}
static __forceinline__ int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, line) != 0;
}
static __forceinline__ int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, !predicate, line) == 0;
}
