// Mathematical functions of CUDA that the C library lacks, in double, accurate to a few ulp.
// Formulas: Abramowitz and Stegun (AS).
#pragma once

#include <math.h>

extern "C" double tcc_math_erfcx(double x);

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrtPi = 1.77245385090551602730;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double kInf = __builtin_inf();
constexpr double kNan = __builtin_nan("");

// y exp(x^2) with the rounding error of the square put back; only the product may overflow.
double times_exp_square(double y, double x) {
  const double square = x * x, half = exp(square / 2);
  return half * y * half * (1 + fma(x, x, -square));
}

// sum_k (x^2/4)^k / (k! (k+order)!), all terms positive (AS 9.6.10). In long double: the rounding
// of x^2 comes back x/2 times in the sum.
double bessel_i_series(long double x, int order) {
  const long double quarter = x * x / 4;
  long double term = 1, sum = 1;
  for (int k = 1; term > sum * 0x1p-55; ++k) {
    term *= quarter / ((long double)k * (k + order));
    sum += term;
  }
  return (double)(order == 0 ? sum : sum * x / 2);
}

// e^x / sqrt(2 pi x) (1 - (mu-1)/(8x) + (mu-1)(mu-9)/(2! (8x)^2) - ...) with mu = 4 order^2
// (AS 9.7.1); from x = 25 on its smallest term is below e^-50.
double bessel_i_asymptotic(double x, int order) {
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; fabs(term) > 0x1p-55; ++k) {
    const double odd = 2 * k - 1;
    term *= (odd * odd - mu) / (8 * x * k);
    sum += term;
  }
  const double half = exp(x / 2);  // e^x overflows before the quotient does
  return half * (sum / sqrt(2 * kPi * x)) * half;
}

double bessel_i(double x, int order) {
  const double magnitude = fabs(x);
  if (x != x || magnitude == kInf) return order == 0 ? magnitude : x;
  const double value =
      magnitude < 25 ? bessel_i_series(magnitude, order) : bessel_i_asymptotic(magnitude, order);
  return order == 1 ? copysign(value, x) : value;
}

// sin(pi/2 (2x + quarter)) by exact reduction to |t| <= 1/4.
double sin_pi(double x, int quarter) {
  if (x != x || fabs(x) == kInf) return kNan;
  const double turn = fmod(x, 2.0);
  const double nearest = rint(2 * turn);
  const double t = kPi * (turn - nearest / 2);
  switch (((int)nearest + quarter) & 3) {
    case 0: return sin(t);
    case 1: return cos(t);
    case 2: return -sin(t);
    default: return -cos(t);
  }
}

// 1 - 1/(2x^2) + 3/(4x^4) - ... over x sqrt(pi) (AS 7.1.23), for x >= 25.
double erfcx_asymptotic(double x) {
  const double step = -0.5 / (x * x);
  double term = 1, sum = 1;
  for (int k = 1; fabs(term) > 0x1p-55; ++k) {
    term *= step * (2 * k - 1);
    sum += term;
  }
  return sum / (x * kSqrtPi);
}

// Winitzki's approximation of erfinv(1 - p) for 0 < p <= 1, good to about 2e-3.
double erfcinv_guess(double p) {
  const double logarithm = log(p) + log(2 - p);
  const double a = 2 / (kPi * 0.147) + logarithm / 2;
  return sqrt(sqrt(a * a - logarithm / 0.147) - a);
}

// Newton's iteration on log(erfc(x)) = log(y), which far out is all but linear where erfc is not.
double erfcinv_by_logarithm(double y, double x) {
  for (int i = 0; i < 3; ++i) {
    const double scaled = tcc_math_erfcx(x);
    x += (log(scaled) - x * x - log(y)) * kSqrtPi * scaled / 2;
  }
  return x;
}

// Halley's iteration for erf(x) = y; `ratio` is the error over the derivative of erf at x.
double halley(double x, double ratio) { return x - ratio / (1 + x * ratio); }

}  // namespace

extern "C" {

double tcc_math_cyl_bessel_i0(double x) { return bessel_i(x, 0); }
double tcc_math_cyl_bessel_i1(double x) { return bessel_i(x, 1); }

double tcc_math_sinpi(double x) {
  const double value = sin_pi(x, 0);
  return value == 0 ? copysign(0.0, x) : value;
}
double tcc_math_cospi(double x) { return sin_pi(fabs(x), 1) + 0.0; }

double tcc_math_erfcx(double x) {
  if (x < -26.7) return kInf;
  return x < 25 ? times_exp_square(erfc(x), x) : erfcx_asymptotic(x);
}

double tcc_math_erfcinv(double y) {
  if (!(y >= 0 && y <= 2)) return kNan;
  if (y == 0 || y == 2) return y == 0 ? kInf : -kInf;
  if (y > 1) return -tcc_math_erfcinv(2 - y);
  double x = erfcinv_guess(y);
  if (y < 0.5) x = erfcinv_by_logarithm(y, x);
  for (int i = 0; i < 3; ++i) {
    // erfc(x) - y over -2/sqrt(pi) exp(-x^2), without underflow; near 1, where 1 - y is exact, by
    // erf, which keeps its digits there.
    const double ratio = y < 0.5 ? times_exp_square(y, x) - tcc_math_erfcx(x)
                                 : times_exp_square(erf(x) - (1 - y), x);
    x = halley(x, kSqrtPi / 2 * ratio);
  }
  return x;
}

double tcc_math_erfinv(double y) {
  if (!(y >= -1 && y <= 1)) return kNan;
  if (fabs(y) > 0.5) return y > 0 ? tcc_math_erfcinv(1 - y) : -tcc_math_erfcinv(1 + y);
  double x = y * kSqrtPi / 2;
  for (int i = 0; i < 4; ++i)
    x = halley(x, kSqrtPi / 2 * times_exp_square(erf(x) - y, x));
  return x;
}

double tcc_math_normcdf(double x) {
  if (x > 9) return 1;
  if (x < -38.6) return 0;
  // -x / sqrt(2) as high + low: erfc falls so fast that the rounding of its argument shows.
  const double high = -x / kSqrt2;
  const double low = (fma(-high, kSqrt2, -x) + high * 9.667293313452913e-17) / kSqrt2;
  return 0.5 * erfc(high) * (1 - low * 2 / (kSqrtPi * tcc_math_erfcx(high)));
}
double tcc_math_normcdfinv(double p) { return -kSqrt2 * tcc_math_erfcinv(2 * p) + 0.0; }

double tcc_math_j0(double x) { return j0(x); }
double tcc_math_j1(double x) { return j1(x); }
double tcc_math_y0(double x) { return x < 0 ? kNan : y0(x); }
double tcc_math_y1(double x) { return x < 0 ? kNan : y1(x); }
double tcc_math_lgamma(double x) { return lgamma(x); }
double tcc_math_tgamma(double x) { return tgamma(x); }

double tcc_math_rcbrt(double x) { return (double)(1 / cbrtl(x)); }
double tcc_math_rsqrt(double x) { return 1 / sqrt(x); }
double tcc_math_rhypot(double x, double y) { return 1 / hypot(x, y); }
double tcc_math_norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
double tcc_math_norm4d(double x, double y, double z, double w) {
  return hypot(hypot(x, y), hypot(z, w));
}
double tcc_math_rnorm3d(double x, double y, double z) { return 1 / tcc_math_norm3d(x, y, z); }
double tcc_math_rnorm4d(double x, double y, double z, double w) {
  return 1 / tcc_math_norm4d(x, y, z, w);
}

}  // extern "C"
