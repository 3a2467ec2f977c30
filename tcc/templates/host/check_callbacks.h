// The functions that `-fsanitize=thread,bounds,alignment` calls; no library of a sanitizer is
// linked. Accesses to what is neither in a buffer nor shared, such as a stack, are none of theirs.
#pragma once

namespace {

// A vector access that the compiler believes to be aligned.
template <unsigned N, Access A>
TCC_INLINE void check_aligned(void* pointer, uint32_t place) {
  if (N > 1 && __builtin_expect(reinterpret_cast<uintptr_t>(pointer) & (N - 1), 0))
    report_misaligned(pointer, place, N, A);
  check_access<N, A>(pointer, place);
}

// Clang copies a vector of 16 bytes by memcpy, which forgets its alignment.
TCC_INLINE void check_range(void* pointer, uint64_t bytes,
                                                       uint32_t place, bool write) {
  if (!bytes) return;
  if (bytes == 16 && __builtin_expect(reinterpret_cast<uintptr_t>(pointer) & 15, 0))
    report_misaligned(pointer, place, 16, write ? kWrite : kRead);
  if (bytes == 16) return write ? check_access<16, kWrite>(pointer, place)
                                : check_access<16, kRead>(pointer, place);
  return write ? check_bytes<kWrite>(pointer, place, unsigned(bytes))
               : check_bytes<kRead>(pointer, place, unsigned(bytes));
}

// Of the name of an array type, such as `'float [64]'`.
int64_t first_extent(const char* name) {
  while (*name && *name != '[') ++name;
  int64_t extent = 0;
  for (; *name && *name != ']'; ++name)
    if (*name >= '0' && *name <= '9') extent = extent * 10 + (*name - '0');
  return extent;
}

}  // namespace

#define TCC_HERE place_of(__builtin_return_address(0))

#define TCC_ACCESSES(N)                                                                        \
  void __tsan_read##N(void* p) { check_aligned<N, kRead>(p, TCC_HERE); }                       \
  void __tsan_write##N(void* p) { check_aligned<N, kWrite>(p, TCC_HERE); }                     \
  void __tsan_unaligned_read##N(void* p) { check_access<N, kRead>(p, TCC_HERE); }              \
  void __tsan_unaligned_write##N(void* p) { check_access<N, kWrite>(p, TCC_HERE); }            \
  void __tsan_volatile_read##N(void* p) { check_aligned<N, kRead>(p, TCC_HERE); }              \
  void __tsan_volatile_write##N(void* p) { check_aligned<N, kWrite>(p, TCC_HERE); }

// Loads and exchanges of the shim's atomic operations, which report for themselves.
#define TCC_ATOMICS(BITS)                                                                      \
  uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t* p, int) {           \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
  }                                                                                            \
  int __tsan_atomic##BITS##_compare_exchange_strong(                                           \
      volatile uint##BITS##_t* p, uint##BITS##_t* expected, uint##BITS##_t desired, int, int) { \
    return __atomic_compare_exchange_n(p, expected, desired, false, __ATOMIC_SEQ_CST,          \
                                       __ATOMIC_SEQ_CST);                                      \
  }                                                                                            \
  uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(                                   \
      volatile uint##BITS##_t* p, uint##BITS##_t expected, uint##BITS##_t desired, int, int) { \
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST,                \
                                __ATOMIC_SEQ_CST);                                             \
    return expected;                                                                           \
  }

extern "C" {

TCC_ACCESSES(1)
TCC_ACCESSES(2)
TCC_ACCESSES(4)
TCC_ACCESSES(8)
TCC_ACCESSES(16)
TCC_ATOMICS(32)
TCC_ATOMICS(64)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* p, uint64_t bytes) { check_range(p, bytes, TCC_HERE, false); }
void __tsan_write_range(void* p, uint64_t bytes) { check_range(p, bytes, TCC_HERE, true); }

void* __tsan_memcpy(void* to, const void* from, uint64_t bytes) {
  check_range(const_cast<void*>(from), bytes, TCC_HERE, false);
  check_range(to, bytes, TCC_HERE, true);
  return __builtin_memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, uint64_t bytes) {
  check_range(const_cast<void*>(from), bytes, TCC_HERE, false);
  check_range(to, bytes, TCC_HERE, true);
  return __builtin_memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, uint64_t bytes) {
  check_range(to, bytes, TCC_HERE, true);
  return __builtin_memset(to, value, bytes);
}

// `data` has a location of 16 bytes and a pointer to the array's type: 4 bytes, then its name.
void __ubsan_handle_out_of_bounds(void* data, uint64_t index) {
  const char* type = *reinterpret_cast<const char* const*>(static_cast<const char*>(data) + 16);
  report(kArrayBounds, TCC_HERE, kNowhere, first_extent(type + 4), 0, kRead,
         {kUnknownBlock, kNoThread, 0, kRead}, index);
}
// `data` has a location of 16 bytes, a type of 8, the logarithm of the alignment, and the kind of
// access: 1 for a store.
void __ubsan_handle_type_mismatch_v1(void* data, uintptr_t pointer) {
  const uint8_t* kind = static_cast<const uint8_t*>(data) + 24;
  report_misaligned(reinterpret_cast<void*>(pointer), TCC_HERE, 1u << kind[0],
                    kind[1] == 1 ? kWrite : kRead);
}
// A pointer that the text says is aligned, and is not.
void __ubsan_handle_alignment_assumption(void*, uintptr_t pointer, uintptr_t alignment,
                                         uintptr_t) {
  report_misaligned(reinterpret_cast<void*>(pointer), TCC_HERE, unsigned(alignment), kRead);
}

}  // extern "C"
