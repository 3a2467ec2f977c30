// Atomic operations. Fibers do not interrupt each other; processes that run other blocks do.
#pragma once

template <class T, class Update>
static inline T tcc_atomic(T* address, Update update) {
  T old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    next = update(old);
  } while (!__atomic_compare_exchange(address, &old, &next, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return old;
}

#define TCC_ADD(T)                                                              \
  static inline T atomicAdd(T* address, T value) {                              \
    return tcc_atomic(address, [value](T old) { return (T)(old + value); });    \
  }
#define TCC_INTEGER(T)                                                                    \
  static inline T atomicMax(T* address, T value) {                                        \
    return tcc_atomic(address, [value](T old) { return old > value ? old : value; });     \
  }                                                                                       \
  static inline T atomicMin(T* address, T value) {                                        \
    return tcc_atomic(address, [value](T old) { return old < value ? old : value; });     \
  }                                                                                       \
  static inline T atomicExch(T* address, T value) {                                       \
    return tcc_atomic(address, [value](T) { return value; });                             \
  }                                                                                       \
  static inline T atomicCAS(T* address, T expected, T value) {                            \
    return tcc_atomic(address,                                                            \
                      [=](T old) { return old == expected ? value : old; });              \
  }

TCC_ADD(int)
TCC_ADD(unsigned)
TCC_ADD(unsigned long long)
TCC_ADD(float)
TCC_ADD(double)
TCC_INTEGER(int)
TCC_INTEGER(unsigned)
TCC_INTEGER(long long)
TCC_INTEGER(unsigned long long)

#undef TCC_ADD
#undef TCC_INTEGER

static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
