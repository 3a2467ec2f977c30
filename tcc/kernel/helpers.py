"""Functions that emitted text brings along, for what C++ has no operator for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

QUALIFIERS = "__host__ __device__ __forceinline__"

HELPERS: Mapping[str, str] = {
    # The quotient of the smallest integer and -1 is out of range: it wraps.
    "floor_div": """template <typename T> HD T floor_div(T a, T b) {
  if (b == -1) return (T)(0 - (unsigned long long)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}""",
    "floor_mod": """template <typename T> HD T floor_mod(T a, T b) {
  const T r = b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}""",
    "minimum": "template <typename T> HD T minimum(T a, T b) { return b < a ? b : a; }",
    "maximum": "template <typename T> HD T maximum(T a, T b) { return a < b ? b : a; }",
    # One multiplication of 32 to 64 bits. A product of operands that are widened first takes three.
    "row_start": """HD long long row_start(unsigned row, unsigned length) {
  return (long long)((unsigned long long)row * length);
}""",
    # A subscript that comes from data; what is printed leaves the kernel with the error.
    "inside": """template <typename T>
__device__ __forceinline__ T inside(T index, long long extent, const char* what) {
  if ((unsigned long long)(long long)index >= (unsigned long long)extent) {
    printf("%s is %lld, outside of 0:%lld\\n", what, (long long)index, extent);
    __trap();
  }
  return index;
}""",
    # Atomic operations that CUDA has not: an element is exchanged as long as nobody was faster.
    "Word": """template <unsigned Bytes> struct Word { typedef unsigned int type; };
template <> struct Word<8> { typedef unsigned long long type; };""",
    **{
        f"atomic_{name}": f"""template <typename T>
__device__ __forceinline__ void atomic_{name}(T* address, T value) {{
  typedef typename Word<sizeof(T)>::type Bits;
  union {{ T number; Bits bits; }} before, after;
  before.bits = 0;
  for (Bits found = atomicCAS(reinterpret_cast<Bits*>(address), before.bits, before.bits);;) {{
    before.bits = found;
    after.number = {combined};
    found = atomicCAS(reinterpret_cast<Bits*>(address), before.bits, after.bits);
    if (found == before.bits) return;
  }}
}}"""
        for name, combined in (
            ("multiply", "before.number * value"),
            ("minimum", "fmin(before.number, value)"),
            ("maximum", "fmax(before.number, value)"),
        )
    },
    "sigmoid": """HD float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
HD double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }""",
    "relu": """HD float relu(float x) { return fmaxf(x, 0.0f); }
HD double relu(double x) { return fmax(x, 0.0); }""",
}


def helper_texts(names: Collection[str]) -> list[str]:
    """The definitions of some helpers, in a fixed order."""
    return [text.replace("HD", QUALIFIERS) for name, text in HELPERS.items() if name in names]
