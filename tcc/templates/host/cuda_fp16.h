// float16 as storage: conversions only, each rounds once, to nearest even.
#pragma once

#include "cuda_runtime.h"

struct __half {
  unsigned short bits;
};
typedef __half half;

static inline __half __ushort_as_half(unsigned short bits) { return __half{bits}; }
static inline unsigned short __half_as_ushort(__half value) { return value.bits; }

static inline float __half2float(__half value) {
  const uint32_t sign = (uint32_t)(value.bits & 0x8000) << 16;
  const uint32_t rest = value.bits & 0x7fff;
  if (rest >= 0x7c00) return tcc_bits<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x0400) return tcc_bits<float>(sign | ((rest << 13) + (112u << 23)));
  const float magnitude = (float)rest * 0x1p-24f;  // a subnormal: an exact product
  return tcc_bits<float>(sign | tcc_bits<uint32_t>(magnitude));
}

static inline __half __float2half_rn(float value) {
  const uint32_t bits = tcc_bits<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return __half{0x7fff};
  if (rest >= 0x477ff000) return __half{(unsigned short)(sign | 0x7c00)};  // 65520 and above
  if (rest < 0x38800000) {
    // Below 2^-14: adding 0.5 moves the last bit of float16 to the last bit of float32, and the
    // addition rounds to nearest even.
    const float shifted = tcc_bits<float>(rest) + 0.5f;
    return __half{(unsigned short)(sign | (tcc_bits<uint32_t>(shifted) - 0x3f000000))};
  }
  const uint32_t rounded = rest - (112u << 23) + 0xfff + (rest >> 13 & 1);
  return __half{(unsigned short)(sign | rounded >> 13)};
}

static inline __half __float2half(float value) { return __float2half_rn(value); }
static inline __half __double2half(double value) {
  return __float2half_rn(tcc_round_to_odd(value));
}
