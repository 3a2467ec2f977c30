// Keywords, built-in variables, vector types and half-precision storage.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
// What a kernel printed before must not stay in the buffer.
#define __trap() (fflush(stdout), __builtin_trap())
#define __align__(n) __attribute__((aligned(n)))

// `thread_local` is the one storage class that is right both for `__shared__ float s[64];` inside a
// function (it implies static) and for `extern __shared__ float s[];`. The TLS block of the program
// then holds the shared arrays and nothing else, so the runtime can poison all of it. `used`, or an
// array that nothing writes would be known to be zero. In the checking build no array ends where the
// next begins: each has more room than a block may have of declared shared memory.
#ifdef TCC_CHECK
#define __shared__ thread_local __attribute__((aligned(65536), used))
#else
#define __shared__ thread_local __attribute__((aligned(128), used))
#endif

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Clang takes the copy of a vector apart when its elements go different ways, and the checker would
// see as many accesses. An assignment of one piece stays one; `nodebug` gives it the caller's line.
#if defined(TCC_CHECK) && defined(__clang__)
#define TCC_ASSIGNMENT(T, N, NAME)                                                     \
  typedef T bits __attribute__((vector_size(N * sizeof(T)), may_alias));               \
  __attribute__((nodebug, always_inline)) NAME& operator=(const NAME& other) {         \
    *reinterpret_cast<bits*>(this) = *reinterpret_cast<const bits*>(&other);           \
    return *this;                                                                      \
  }
#else
#define TCC_ASSIGNMENT(T, N, NAME)
#endif

#define TCC_VECTOR2(T, NAME, ALIGN)                                     \
  struct __attribute__((aligned(ALIGN))) NAME {                         \
    T x, y;                                                             \
    TCC_ASSIGNMENT(T, 2, NAME)                                          \
  };                                                                    \
  static inline NAME make_##NAME(T x, T y) { return NAME{x, y}; }
#define TCC_VECTOR3(T, NAME, ALIGN)                                     \
  struct __attribute__((aligned(ALIGN))) NAME {                         \
    T x, y, z;                                                          \
  };                                                                    \
  static inline NAME make_##NAME(T x, T y, T z) { return NAME{x, y, z}; }
#define TCC_VECTOR4(T, NAME, ALIGN)                                     \
  struct __attribute__((aligned(ALIGN))) NAME {                         \
    T x, y, z, w;                                                       \
    TCC_ASSIGNMENT(T, 4, NAME)                                          \
  };                                                                    \
  static inline NAME make_##NAME(T x, T y, T z, T w) { return NAME{x, y, z, w}; }
#define TCC_VECTORS(T, NAME)                        \
  TCC_VECTOR2(T, NAME##2, 2 * sizeof(T))            \
  TCC_VECTOR3(T, NAME##3, sizeof(T))                \
  TCC_VECTOR4(T, NAME##4, sizeof(T) > 4 ? 16 : 4 * sizeof(T))

TCC_VECTORS(signed char, char)
TCC_VECTORS(unsigned char, uchar)
TCC_VECTORS(short, short)
TCC_VECTORS(unsigned short, ushort)
TCC_VECTORS(int, int)
TCC_VECTOR2(unsigned, uint2, 8)
TCC_VECTOR4(unsigned, uint4, 16)
TCC_VECTORS(long long, longlong)
TCC_VECTORS(unsigned long long, ulonglong)
TCC_VECTORS(float, float)
TCC_VECTORS(double, double)

static inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }

#undef TCC_ASSIGNMENT
#undef TCC_VECTOR2
#undef TCC_VECTOR3
#undef TCC_VECTOR4
#undef TCC_VECTORS

// The thread that runs now; the scheduler sets it before it enters a fiber.
struct __attribute__((aligned(16))) tcc_thread {
  uint3 index;
  int linear;
};
extern "C" {
extern tcc_thread tcc_self;
extern uint3 blockIdx;
extern dim3 blockDim, gridDim;
}
#define threadIdx tcc_self.index
static constexpr int warpSize = 32;

// The value of another type that has the same bits.
template <class To, class From>
static inline To tcc_bits(From value) {
  static_assert(sizeof(To) == sizeof(From), "the types differ in size");
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}

static inline float __int_as_float(int v) { return tcc_bits<float>(v); }
static inline int __float_as_int(float v) { return tcc_bits<int>(v); }
static inline float __uint_as_float(unsigned v) { return tcc_bits<float>(v); }
static inline unsigned __float_as_uint(float v) { return tcc_bits<unsigned>(v); }
static inline double __longlong_as_double(long long v) { return tcc_bits<double>(v); }
static inline long long __double_as_longlong(double v) { return tcc_bits<long long>(v); }

// A macro, so that reports name the line that reads.
#define __ldg(...) (*(__VA_ARGS__))

// A value narrowed so that a second rounding to fewer bits is the single rounding of the original:
// toward zero, with the last bit set where something was cut off.
static inline float tcc_round_to_odd(double value) {
  float narrow = (float)value;
  if ((double)narrow == value || value != value) return narrow;
  uint32_t bits = tcc_bits<uint32_t>(narrow);
  if (__builtin_fabs((double)narrow) > __builtin_fabs(value)) --bits;
  return tcc_bits<float>(bits | 1);
}
