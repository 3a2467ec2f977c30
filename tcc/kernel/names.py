"""C++ names for the user's names: legal, distinct from each other and from what CUDA declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
DECLARED = """
NULL INFINITY NAN EOF errno assert stdin stdout stderr linux unix signgam min max main std
threadIdx blockIdx blockDim gridDim warpSize stream workspace arguments status cudaError_t cudaStream_t dim3 size_t
char1 char2 char3 char4 uchar1 uchar2 uchar3 uchar4 short1 short2 short3 short4 ushort1 ushort2
ushort3 ushort4 int1 int2 int3 int4 uint1 uint2 uint3 uint4 long1 long2 long3 long4 float1 float2
float3 float4 double1 double2 double3 double4 half half2 abs labs llabs div ldiv lldiv atexit exit
abort atof atoi atol strtod strtol rand srand malloc calloc realloc free system getenv qsort
bsearch random time clock difftime mktime read write open close index rindex remove rename signal
raise select send recv bind connect listen accept socket link unlink pipe dup kill fork wait sleep
pause alarm access sync nice printf puts putchar getchar scanf memcpy memset memmove memcmp strlen
strcpy strcat strcmp y0 y1 yn j0 j1 jn gamma drem significand scalb pow10 exp10 isnan isinf finite
dev_t id_t step advance swap copy fill sort sum environ daemon stat truncate gets ffs rotate
half half2 nv_bfloat16 bfloat16 uint ushort ulong u_int u_char u_short u_long quad_t key_t mode_t off_t pid_t uid_t gid_t
"""
OURS = "floor_div floor_mod minimum maximum absolute sigmoid relu"
RESERVED = frozenset(f"{KEYWORDS} {DECLARED} {OURS}".split())


def spell(name: str, taken: Iterable[str] = ()) -> str:
    """A legal C++ identifier near `name` that is none of `taken`: `int` becomes `int_`."""
    used = set(taken)
    while name in RESERVED or name in used or name.startswith("__"):
        name = name.strip("_") + "_" if name.startswith("__") else name + "_"
    return name


class Names:
    """Hands out distinct identifiers of one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """An identifier near `wanted`; it is taken from now on."""
        name = spell(wanted, self._taken)
        self._taken.add(name)
        return name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names taken inside are free again afterwards."""
        saved = set(self._taken)
        yield
        self._taken = saved
