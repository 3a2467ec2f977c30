// Atomic operations. Fibers do not interrupt each other; processes that run other blocks do.
#pragma once

#ifdef TCC_CHECK
extern "C" void tcc_note_atomic(void* address, unsigned bytes, int line);
#else
static inline void tcc_note_atomic(void*, unsigned, int) {}
#endif

template <class T, class Update>
static inline T tcc_atomic(T* address, int line, Update update) {
  tcc_note_atomic(address, sizeof(T), line);
  T old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    next = update(old);
  } while (!__atomic_compare_exchange(address, &old, &next, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return old;
}

#define TCC_LINE int line = __builtin_LINE()
#define TCC_ADD(T)                                                                        \
  static inline T atomicAdd(T* address, T value, TCC_LINE) {                              \
    return tcc_atomic(address, line, [value](T old) { return (T)(old + value); });        \
  }
#define TCC_INTEGER(T)                                                                    \
  static inline T atomicMax(T* address, T value, TCC_LINE) {                              \
    return tcc_atomic(address, line, [value](T old) { return old > value ? old : value; }); \
  }                                                                                       \
  static inline T atomicMin(T* address, T value, TCC_LINE) {                              \
    return tcc_atomic(address, line, [value](T old) { return old < value ? old : value; }); \
  }                                                                                       \
  static inline T atomicExch(T* address, T value, TCC_LINE) {                             \
    return tcc_atomic(address, line, [value](T) { return value; });                       \
  }                                                                                       \
  static inline T atomicCAS(T* address, T expected, T value, TCC_LINE) {                  \
    return tcc_atomic(address, line,                                                      \
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
#undef TCC_LINE

static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
