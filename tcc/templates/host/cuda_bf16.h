// bfloat16 as storage: conversions only, each rounds once, to nearest even.
#pragma once

#include "cuda_runtime.h"

struct __nv_bfloat16 {
  unsigned short bits;
};
typedef __nv_bfloat16 nv_bfloat16;

static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16{bits};
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }

static inline float __bfloat162float(__nv_bfloat16 value) {
  return tcc_bits<float>((uint32_t)value.bits << 16);
}

static inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  if (value != value) return __nv_bfloat16{0x7fff};
  const uint32_t bits = tcc_bits<uint32_t>(value);
  return __nv_bfloat16{(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

static inline __nv_bfloat16 __float2bfloat16(float value) { return __float2bfloat16_rn(value); }
static inline __nv_bfloat16 __double2bfloat16(double value) {
  return __float2bfloat16_rn(tcc_round_to_odd(value));
}
