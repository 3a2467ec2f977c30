// CUDA's mathematical functions. Those that <math.h> lacks, or has with a poor float version, are
// in runtime_math.h under internal names; macros lead to them, so that it does not matter whether
// a C library has begun to declare one (sinpi, rsqrt, ...).
#pragma once

#define TCC_MATH_1(X)                                                                        \
  X(cospi) X(cyl_bessel_i0) X(cyl_bessel_i1) X(erfcinv) X(erfcx) X(erfinv) X(j0) X(j1)       \
  X(lgamma) X(normcdf) X(normcdfinv) X(rcbrt) X(rsqrt) X(sinpi) X(tgamma) X(y0) X(y1)
#define TCC_MATH_2(X) X(rhypot)
#define TCC_MATH_3(X) X(norm3d) X(rnorm3d)
#define TCC_MATH_4(X) X(norm4d) X(rnorm4d)

extern "C" {
#define TCC_DECLARE(name) double tcc_math_##name(double);
TCC_MATH_1(TCC_DECLARE)
#undef TCC_DECLARE
#define TCC_DECLARE(name) double tcc_math_##name(double, double);
TCC_MATH_2(TCC_DECLARE)
#undef TCC_DECLARE
#define TCC_DECLARE(name) double tcc_math_##name(double, double, double);
TCC_MATH_3(TCC_DECLARE)
#undef TCC_DECLARE
#define TCC_DECLARE(name) double tcc_math_##name(double, double, double, double);
TCC_MATH_4(TCC_DECLARE)
#undef TCC_DECLARE
}

// tcc_NAME(double), tcc_NAME(float) and tcc_NAMEf(float); the float versions compute in double.
#define TCC_DEFINE(name)                                                            \
  static inline double tcc_##name(double x) { return tcc_math_##name(x); }          \
  static inline float tcc_##name(float x) { return (float)tcc_math_##name(x); }     \
  static inline float tcc_##name##f(float x) { return (float)tcc_math_##name(x); }
TCC_MATH_1(TCC_DEFINE)
#undef TCC_DEFINE
#define TCC_DEFINE(name)                                                                        \
  static inline double tcc_##name(double x, double y) { return tcc_math_##name(x, y); }         \
  static inline float tcc_##name(float x, float y) { return (float)tcc_math_##name(x, y); }     \
  static inline float tcc_##name##f(float x, float y) { return (float)tcc_math_##name(x, y); }
TCC_MATH_2(TCC_DEFINE)
#undef TCC_DEFINE
#define TCC_DEFINE(name)                                               \
  static inline double tcc_##name(double x, double y, double z) {      \
    return tcc_math_##name(x, y, z);                                   \
  }                                                                    \
  static inline float tcc_##name(float x, float y, float z) {          \
    return (float)tcc_math_##name(x, y, z);                            \
  }                                                                    \
  static inline float tcc_##name##f(float x, float y, float z) {       \
    return (float)tcc_math_##name(x, y, z);                            \
  }
TCC_MATH_3(TCC_DEFINE)
#undef TCC_DEFINE
#define TCC_DEFINE(name)                                                      \
  static inline double tcc_##name(double x, double y, double z, double w) {   \
    return tcc_math_##name(x, y, z, w);                                       \
  }                                                                           \
  static inline float tcc_##name(float x, float y, float z, float w) {        \
    return (float)tcc_math_##name(x, y, z, w);                                \
  }                                                                           \
  static inline float tcc_##name##f(float x, float y, float z, float w) {     \
    return (float)tcc_math_##name(x, y, z, w);                                \
  }
TCC_MATH_4(TCC_DEFINE)
#undef TCC_DEFINE

#define cospi tcc_cospi
#define cospif tcc_cospif
#define cyl_bessel_i0 tcc_cyl_bessel_i0
#define cyl_bessel_i0f tcc_cyl_bessel_i0f
#define cyl_bessel_i1 tcc_cyl_bessel_i1
#define cyl_bessel_i1f tcc_cyl_bessel_i1f
#define erfcinv tcc_erfcinv
#define erfcinvf tcc_erfcinvf
#define erfcx tcc_erfcx
#define erfcxf tcc_erfcxf
#define erfinv tcc_erfinv
#define erfinvf tcc_erfinvf
#define j0 tcc_j0
#define j0f tcc_j0f
#define j1 tcc_j1
#define j1f tcc_j1f
#define lgamma tcc_lgamma
#define lgammaf tcc_lgammaf
#define norm3d tcc_norm3d
#define norm3df tcc_norm3df
#define norm4d tcc_norm4d
#define norm4df tcc_norm4df
#define normcdf tcc_normcdf
#define normcdff tcc_normcdff
#define normcdfinv tcc_normcdfinv
#define normcdfinvf tcc_normcdfinvf
#define rcbrt tcc_rcbrt
#define rcbrtf tcc_rcbrtf
#define rhypot tcc_rhypot
#define rhypotf tcc_rhypotf
#define rnorm3d tcc_rnorm3d
#define rnorm3df tcc_rnorm3df
#define rnorm4d tcc_rnorm4d
#define rnorm4df tcc_rnorm4df
#define rsqrt tcc_rsqrt
#define rsqrtf tcc_rsqrtf
#define sinpi tcc_sinpi
#define sinpif tcc_sinpif
#define tgamma tcc_tgamma
#define tgammaf tcc_tgammaf
#define y0 tcc_y0
#define y0f tcc_y0f
#define y1 tcc_y1
#define y1f tcc_y1f

// CUDA overloads the plain names for float.
#define TCC_OVERLOAD(name) \
  static inline float name(float x) { return name##f(x); }
TCC_OVERLOAD(acos)
TCC_OVERLOAD(acosh)
TCC_OVERLOAD(asin)
TCC_OVERLOAD(asinh)
TCC_OVERLOAD(atan)
TCC_OVERLOAD(atanh)
TCC_OVERLOAD(cbrt)
TCC_OVERLOAD(ceil)
TCC_OVERLOAD(cos)
TCC_OVERLOAD(cosh)
TCC_OVERLOAD(erf)
TCC_OVERLOAD(erfc)
TCC_OVERLOAD(exp)
TCC_OVERLOAD(exp10)
TCC_OVERLOAD(exp2)
TCC_OVERLOAD(expm1)
TCC_OVERLOAD(fabs)
TCC_OVERLOAD(floor)
TCC_OVERLOAD(log)
TCC_OVERLOAD(log10)
TCC_OVERLOAD(log1p)
TCC_OVERLOAD(log2)
TCC_OVERLOAD(logb)
TCC_OVERLOAD(rint)
TCC_OVERLOAD(round)
TCC_OVERLOAD(sin)
TCC_OVERLOAD(sinh)
TCC_OVERLOAD(sqrt)
TCC_OVERLOAD(tan)
TCC_OVERLOAD(tanh)
TCC_OVERLOAD(trunc)
#undef TCC_OVERLOAD
#define TCC_OVERLOAD(name) \
  static inline float name(float x, float y) { return name##f(x, y); }
TCC_OVERLOAD(atan2)
TCC_OVERLOAD(copysign)
TCC_OVERLOAD(fdim)
TCC_OVERLOAD(fmax)
TCC_OVERLOAD(fmin)
TCC_OVERLOAD(fmod)
TCC_OVERLOAD(hypot)
TCC_OVERLOAD(nextafter)
TCC_OVERLOAD(pow)
TCC_OVERLOAD(remainder)
#undef TCC_OVERLOAD
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline double fdivide(double x, double y) { return x / y; }
static inline float fdivide(float x, float y) { return x / y; }
static inline float fdividef(float x, float y) { return x / y; }

#define TCC_EXTREMA(T)                                      \
  static inline T min(T a, T b) { return b < a ? b : a; }   \
  static inline T max(T a, T b) { return a < b ? b : a; }
TCC_EXTREMA(int)
TCC_EXTREMA(unsigned)
TCC_EXTREMA(long)
TCC_EXTREMA(unsigned long)
TCC_EXTREMA(long long)
TCC_EXTREMA(unsigned long long)
#undef TCC_EXTREMA
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

static inline int abs(int x) { return __builtin_abs(x); }
static inline long long abs(long long x) { return __builtin_llabs(x); }
static inline long long llabs(long long x) { return __builtin_llabs(x); }
static inline float abs(float x) { return fabsf(x); }
static inline double abs(double x) { return fabs(x); }
