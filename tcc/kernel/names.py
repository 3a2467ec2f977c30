"""C++ names for the user's names: legal, distinct from each other and from what CUDA declares.

Names inside of functions (tensors, sizes, indices) may hide functions of libraries; they must not
hide what emitted text uses, nor be macros. Functions must not clash with any library function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tcc.frontend.builtins import BUILTINS
from tcc.kernel.helpers import HELPERS

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
USED = """
threadIdx blockIdx blockDim gridDim warpSize dim3 size_t int2 int4 uint2 uint4 float2 float4 double2
longlong2 ulonglong2 short2 short4 ushort2 ushort4 char4 uchar4 half nv_bfloat16 workspace stream
arguments attributes status
"""
"""Types and variables of emitted text."""

MACROS = "errno linux major makedev minor signgam unix DOMAIN OVERFLOW PLOSS SING TLOSS UNDERFLOW"
"""Of other compilers and libraries than those that `macro_names.txt` was made with."""

_CUDA = re.compile(r"(cuda|CUDA)\w*[^_]")
_BUILTINS = {name for b in BUILTINS.values() for name in (b.float32, b.float64)}
RESERVED = frozenset(f"{KEYWORDS} {USED} {MACROS}".split()) | _BUILTINS | HELPERS.keys()


def spell(name: str, taken: Iterable[str] = ()) -> str:
    """An identifier near `name` for the inside of functions, none of `taken`: `int` is `int_`."""
    used = set(taken)
    while _is_reserved(name) or name in used:
        name = _next(name)
    return name


def spell_function(name: str) -> str:
    """An identifier near `name` for a function with external linkage."""
    while _is_reserved(name) or name in _listed("library_names.txt"):
        name = _next(name)
    return name


def _is_reserved(name: str) -> bool:
    listed = name in RESERVED or name in _listed("macro_names.txt")
    return listed or name.startswith("__") or _CUDA.fullmatch(name) is not None


def _next(name: str) -> str:
    return f"{name.strip('_')}_" if name.startswith("__") else f"{name}_"


@cache
def _listed(file: str) -> frozenset[str]:
    lines = (TEMPLATES / file).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


class Names:
    """Hands out distinct identifiers of one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """An identifier near `wanted`: `a`, `a_2`, `a_3`, ...; it is taken from now on."""
        name, number = spell(wanted), 1
        while name in self._taken:
            number += 1
            name = spell(f"{wanted.rstrip('_')}_{number}")
        self._taken.add(name)
        return name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names taken inside are free again afterwards."""
        saved = set(self._taken)
        yield
        self._taken = saved
