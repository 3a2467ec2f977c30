// Conversions of floats to integers, toward zero. C++ leaves a value that does not fit undefined;
// a GPU gives the nearest integer that does, and for NaN what PTX says of `cvt`.
#pragma once

template <class To, class From>
static inline To tcc_to_integer(From value, To minimum, To maximum, To nan) {
  if (value != value) return nan;
  // 2^31, 2^32, 2^63, 2^64: exact, where `maximum` itself may round up in a float.
  if (value >= (From)(maximum / 2 + 1) * 2) return maximum;
  if (value <= (From)minimum) return minimum;
  return (To)value;
}

#define TCC_CONVERT(NAME, From, To, MINIMUM, MAXIMUM, NAN_VALUE) \
  static inline To NAME(From value) {                            \
    return tcc_to_integer<To>(value, MINIMUM, MAXIMUM, NAN_VALUE); \
  }
TCC_CONVERT(__float2int_rz, float, int, INT32_MIN, INT32_MAX, 0)
TCC_CONVERT(__float2uint_rz, float, unsigned, 0, UINT32_MAX, 0)
TCC_CONVERT(__float2ll_rz, float, long long, INT64_MIN, INT64_MAX, INT64_MIN)
TCC_CONVERT(__float2ull_rz, float, unsigned long long, 0, UINT64_MAX, 1ull << 63)
TCC_CONVERT(__double2int_rz, double, int, INT32_MIN, INT32_MAX, INT32_MIN)
TCC_CONVERT(__double2uint_rz, double, unsigned, 0, UINT32_MAX, 1u << 31)
TCC_CONVERT(__double2ll_rz, double, long long, INT64_MIN, INT64_MAX, INT64_MIN)
TCC_CONVERT(__double2ull_rz, double, unsigned long long, 0, UINT64_MAX, 1ull << 63)
#undef TCC_CONVERT
