// Sets of 32 lanes or warps as bits.
#pragma once

namespace {

inline int lowest(uint32_t bits) { return __builtin_ctz(bits); }
inline int highest(uint32_t bits) { return 31 - __builtin_clz(bits); }
inline uint32_t bit(int i) { return 1u << (i & 31); }
inline uint32_t bits_above(int i) { return ~((bit(i) << 1) - 1); }  // of bit 31: none
inline uint32_t bits_below(int i) { return bit(i) - 1; }

}  // namespace
