"""The scalar types of the language, with what each stage needs to know of them."""

from __future__ import annotations

from enum import Enum

INT_BITS = 32
"""Arithmetic on narrower integers happens in `int`."""


class ScalarType(Enum):
    """One scalar type; the value is its name in the language."""

    BOOL = "bool"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"

    @property
    def kind(self) -> str:
        """One of `bool`, `uint`, `int`, `float`."""
        return self.value.rstrip("0123456789").removeprefix("b" if self.value == "bfloat16" else "")

    @property
    def bits(self) -> int:
        """Width in memory; bool takes a byte."""
        digits = self.value.lstrip("abcdefghijklmnopqrstuvwxyz")
        return int(digits) if digits else 8

    @property
    def bytes(self) -> int:
        """Size in memory, in bytes."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        """True for all four floating-point types."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers; bool is none."""
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        """True for signed integers."""
        return self.kind == "int"

    @property
    def is_word(self) -> bool:
        """True for types of 32 and 64 bits, which every GPU shuffles and exchanges in one step."""
        return self.bits in (32, 64)

    @property
    def is_half(self) -> bool:
        """True for the storage-only types that compute in float32."""
        return self in (ScalarType.FLOAT16, ScalarType.BFLOAT16)

    @property
    def compute(self) -> ScalarType:
        """The type arithmetic happens in: float32 for the half types, itself otherwise."""
        return ScalarType.FLOAT32 if self.is_half else self

    @property
    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type (bool: 0, 1)."""
        if self is ScalarType.BOOL:
            return 0, 1
        if self.is_signed:
            return -(1 << self.bits - 1), (1 << self.bits - 1) - 1
        return 0, (1 << self.bits) - 1


ALIASES: dict[str, ScalarType] = {
    "float": ScalarType.FLOAT32,
    "double": ScalarType.FLOAT64,
    "half": ScalarType.FLOAT16,
    "int": ScalarType.INT32,
    "byte": ScalarType.UINT8,
}
SPELLINGS: dict[str, ScalarType] = {t.value: t for t in ScalarType} | ALIASES
