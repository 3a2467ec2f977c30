"""Kernel expressions as C++ text: a printer that knows precedence and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from tcc.affine import Affine, Atom, Extremum, Floor, Interval, Product, Var
from tcc.frontend.builtins import spelling
from tcc.kernel import ir
from tcc.kernel.prove import Scope, interval
from tcc.scalar import ScalarType

C_TYPES: Mapping[ScalarType, str] = {
    ScalarType.BOOL: "bool",
    ScalarType.UINT8: "unsigned char",
    ScalarType.UINT16: "unsigned short",
    ScalarType.UINT32: "unsigned int",
    ScalarType.UINT64: "unsigned long long",
    ScalarType.INT8: "signed char",
    ScalarType.INT16: "short",
    ScalarType.INT32: "int",
    ScalarType.INT64: "long long",
    ScalarType.FLOAT16: "__half",
    ScalarType.BFLOAT16: "__nv_bfloat16",
    ScalarType.FLOAT32: "float",
    ScalarType.FLOAT64: "double",
}
WORD, LONG = 32, 64
"""Bits of int and of long long."""

PRECEDENCE: Mapping[str, int] = {
    "||": 2,
    "&&": 3,
    "==": 4,
    "!=": 4,
    "<": 5,
    "<=": 5,
    ">": 5,
    ">=": 5,
    "+": 6,
    "-": 6,
    "*": 7,
    "/": 7,
    "%": 7,
}
SELECT, UNARY, ATOM = 1, 8, 9
TO_HALF = {
    ScalarType.FLOAT16: "__float2half_rn",
    ScalarType.BFLOAT16: "__float2bfloat16_rn",
}
FROM_HALF = {ScalarType.FLOAT16: "__half2float", ScalarType.BFLOAT16: "__bfloat162float"}
INFINITY = {
    ScalarType.FLOAT32: "__int_as_float(0x7f800000)",
    ScalarType.FLOAT64: "__longlong_as_double(0x7ff0000000000000LL)",
}


class Printer:
    """Prints expressions at one place; `scopes` bound the variables there.

    `helpers` collects the names of the helper functions that the text calls.
    """

    def __init__(self, sizes: Mapping[str, Interval], helpers: set[str]) -> None:
        self.scopes: list[Scope] = []
        self.helpers = helpers
        self._sizes = sizes

    # -- affine ----------------------------------------------------------------------------

    def affine(self, form: Affine) -> str:
        """An affine expression."""
        return self._affine(form)[0]

    def factor(self, form: Affine) -> str:
        """An affine expression as an operand of `*`, `/`, `%` or a cast."""
        return _wrap(self._affine(form), PRECEDENCE["*"] + 1)

    def _affine(self, form: Affine) -> tuple[str, int]:
        terms, constant = self._with_moduli(form)
        parts = [(negative, text) for negative, text in terms]
        if constant or not parts:
            parts.append((constant < 0, str(abs(constant))))
        parts.sort(key=lambda p: p[0])
        negative, text = parts[0]
        if negative:
            text = f"-{text}"
        text += "".join(f" {'-' if n else '+'} {t}" for n, t in parts[1:])
        if len(parts) > 1:
            return text, PRECEDENCE["+"]
        return text, UNARY if negative else (ATOM if _is_atom(text) else PRECEDENCE["*"])

    def _with_moduli(self, form: Affine) -> tuple[list[tuple[bool, str]], int]:
        """The signed terms of a sum; `x - d * (x / d)` prints as `x % d`."""
        terms: list[tuple[bool, str]] = []
        for atom, coefficient in form.terms:
            if not isinstance(atom, Floor) or coefficient % atom.denominator:
                continue
            factor = -coefficient // atom.denominator
            whole = atom.numerator * factor
            mine = dict(form.terms)
            if all(mine.get(a) == c for a, c in whole.terms):
                form = form - whole + Affine(((atom, -coefficient),))
                text = self._divide("%", atom.numerator, atom.denominator)
                terms.append((factor < 0, _times(abs(factor), text)))
        for atom, coefficient in form.terms:
            terms.append((coefficient < 0, _times(abs(coefficient), self._atom(atom))))
        return terms, form.constant

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Var(name):
                return name
            case Floor(numerator, denominator):
                return self._divide("/", numerator, denominator)
            case Extremum(kind, items):
                return self._extremum(f"{kind}imum", [self.affine(i) for i in items])
            case Product(factors):
                return " * ".join(self._atom(f) for f in factors)
            case _:
                assert_never(atom)

    def _extremum(self, function: str, items: list[str]) -> str:
        self.helpers.add(function)
        text = items[0]
        for item in items[1:]:
            text = f"{function}({text}, {item})"
        return text

    def _divide(self, operator: str, numerator: Affine, denominator: int) -> str:
        low = interval(numerator, self.scopes, self._sizes)[0]
        if low is not None and low >= 0:
            return f"({self.factor(numerator)} {operator} {denominator})"
        function = "floor_div" if operator == "/" else "floor_mod"
        self.helpers.add(function)
        return f"{function}({self.affine(numerator)}, {denominator})"

    # -- values ----------------------------------------------------------------------------

    def value(self, expression: ir.Expression) -> str:
        """An expression as a whole statement operand."""
        return self._value(expression)[0]

    def _value(self, expression: ir.Expression) -> tuple[str, int]:
        match expression:
            case ir.Const(value, type):
                return literal(value, type)
            case ir.Int(value):
                return self._affine(value)
            case ir.Load(buffer, index):
                element = self.element(buffer, index)
                return f"__ldg(&{element})" if is_cached(buffer) else element, ATOM
            case ir.Unary(operator, operand, type):
                text = f"{operator}{self._operand(operand, UNARY + 1)}"
                return _narrow(text, UNARY, type)
            case ir.Binary():
                return self._binary(expression)
            case ir.Select(condition, then, otherwise, _):
                parts = [self._operand(e, SELECT + 1) for e in (condition, then, otherwise)]
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", SELECT
            case ir.Call(function, arguments, type):
                return self._call(function, arguments, type), ATOM
            case ir.Cast(operand, type):
                return self._cast(operand, type)
            case ir.Shuffle(operand, mask, width):
                inner = self.value(operand)
                return f"__shfl_xor_sync(0xffffffffu, {inner}, {mask}, {width})", ATOM
            case _:
                assert_never(expression)

    def _operand(self, expression: ir.Expression, least: int) -> str:
        return _wrap(self._value(expression), least)

    def _binary(self, node: ir.Binary) -> tuple[str, int]:
        type = node.left.type
        if node.operator in ("min", "max"):
            return self._minmax(node, type)
        if node.operator in ("/", "%") and type.is_integer:
            return self._integer_division(node, type)
        level = PRECEDENCE[node.operator]
        if node.operator in ("&&", "||"):
            left = self._logical(node.left, node.operator)
            right = self._logical(node.right, node.operator)
        else:
            left = self._operand(node.left, level)
            right = self._operand(node.right, level + 1)
        return _narrow(f"{left} {node.operator} {right}", level, node.type)

    def _logical(self, operand: ir.Expression, operator: str) -> str:
        """Operands of `&&` and `||`, with parentheses where the two mix."""
        mixed = isinstance(operand, ir.Binary) and operand.operator in ("&&", "||")
        if mixed and operand.operator != operator:  # type: ignore[union-attr]
            return f"({self.value(operand)})"
        return self._operand(operand, PRECEDENCE[operator])

    def _minmax(self, node: ir.Binary, type: ScalarType) -> tuple[str, int]:
        left, right = self.value(node.left), self.value(node.right)
        if type.is_float:
            suffix = "f" if type is ScalarType.FLOAT32 else ""
            return f"f{node.operator}{suffix}({left}, {right})", ATOM
        if type is ScalarType.BOOL:
            operator = "&&" if node.operator == "min" else "||"
            return self._binary(ir.Binary(operator, node.left, node.right, type))
        return self._extremum(f"{node.operator}imum", [left, right]), ATOM

    def _integer_division(self, node: ir.Binary, type: ScalarType) -> tuple[str, int]:
        level = PRECEDENCE["/"]
        left, right = node.left, node.right
        if not type.is_signed or (self._natural(left) and self._natural(right)):
            text = f"{self._operand(left, level)} {node.operator} {self._operand(right, level + 1)}"
            return _narrow(text, level, type)
        function = "floor_div" if node.operator == "/" else "floor_mod"
        self.helpers.add(function)
        return f"{function}({self.value(left)}, {self.value(right)})", ATOM

    def _natural(self, expression: ir.Expression) -> bool:
        match expression:
            case ir.Const(value, _):
                return value >= 0
            case ir.Int(value):
                low = interval(value, self.scopes, self._sizes)[0]
                return low is not None and low >= 0
            case ir.Cast(operand, type):
                smaller = type.is_integer and operand.type.bits < type.bits
                unsigned = not operand.type.is_signed and operand.type.is_integer
                return smaller and (unsigned or self._natural(operand))
            case _:
                return False

    def _call(self, function: str, arguments: tuple[ir.Expression, ...], type: ScalarType) -> str:
        values = [self.value(a) for a in arguments]
        if function == "fma":
            return f"{'fmaf' if type is ScalarType.FLOAT32 else 'fma'}({', '.join(values)})"
        if function == "abs" and not type.is_float:
            self.helpers.add("absolute")
            return values[0] if not type.is_signed else f"absolute({values[0]})"
        name = spelling(function, type)
        if name in ("sigmoid", "relu"):
            self.helpers.add(name)
        return f"{name}({', '.join(values)})"

    def _cast(self, operand: ir.Expression, type: ScalarType) -> tuple[str, int]:
        if operand.type is type:
            return self._value(operand)
        if operand.type.is_half:
            inner: tuple[str, int] = (f"{FROM_HALF[operand.type]}({self.value(operand)})", ATOM)
            if type is ScalarType.FLOAT32:
                return inner
        else:
            inner = self._value(operand)
        if type is ScalarType.BOOL:
            return f"{_wrap(inner, PRECEDENCE['!='] + 1)} != 0", PRECEDENCE["!="]
        if type.is_half:
            return self._to_half(inner, operand.type, type), ATOM
        if type.is_integer and operand.type.is_float:
            return _to_integer(inner[0], operand.type, type)
        return f"({C_TYPES[type]}){_wrap(inner, UNARY)}", UNARY

    def _to_half(self, inner: tuple[str, int], source: ScalarType, type: ScalarType) -> str:
        """One rounding from float and double; other types go through float."""
        if source is ScalarType.FLOAT64:
            return (
                f"{TO_HALF[type].replace('__float2', '__double2').removesuffix('_rn')}({inner[0]})"
            )
        single = source in (ScalarType.FLOAT32, *FROM_HALF)
        text = inner[0] if single else f"(float){_wrap(inner, UNARY)}"
        return f"{TO_HALF[type]}({text})"

    # -- memory ----------------------------------------------------------------------------

    def element(self, buffer: ir.Buffer, index: tuple[Affine | ir.Expression, ...]) -> str:
        """An element as an lvalue; global memory is flattened row-major."""
        if buffer.space is not ir.Space.GLOBAL:
            return buffer.name + "".join(f"[{self._index(i)[0]}]" for i in index)
        if not index:
            return f"{buffer.name}[0]"
        return f"{buffer.name}[{self.offset(buffer, index)}]"

    def offset(self, buffer: ir.Buffer, index: tuple[Affine | ir.Expression, ...]) -> str:
        """The row-major offset, in Horner form; 64 bits where the buffer asks for it."""
        text, level = self._index(index[0])
        if buffer.wide:
            text, level = f"(long long){_wrap((text, level), UNARY)}", UNARY
        for extent, position in zip(buffer.shape[1:], index[1:], strict=True):
            row = f"{_wrap((text, level), PRECEDENCE['*'])} * {self.factor(extent)}"
            column, column_level = self._index(position)
            if column == "0":
                text, level = row, PRECEDENCE["*"]
            elif text == "0":
                text, level = column, column_level
            else:
                column = _wrap((column, column_level), PRECEDENCE["+"])
                text, level = f"{row} + {column}", PRECEDENCE["+"]
        return text

    def _index(self, index: Affine | ir.Expression) -> tuple[str, int]:
        if isinstance(index, Affine):
            return self._affine(index)
        if not index.type.is_signed and index.type.bits >= WORD:
            return f"(long long){self._operand(index, UNARY)}", UNARY
        return self._value(index)


def is_cached(buffer: ir.Buffer) -> bool:
    """Whether to read through the read-only data cache, which has no instruction for bool."""
    return buffer.cached and buffer.type is not ScalarType.BOOL


def literal(value: bool | int | Fraction | float, type: ScalarType) -> tuple[str, int]:
    """A constant with its precedence; floats with enough digits to read back exactly."""
    if type is ScalarType.BOOL:
        return ("true" if value else "false"), ATOM
    if type.is_half:
        return f"{TO_HALF[type]}({_float_literal(float(value), ScalarType.FLOAT32)[0]})", ATOM
    if type.is_float:
        return _float_literal(float(value), type)
    number = int(value)
    if number < 0:
        return _negative_literal(number, type)
    suffix = (
        ("" if type.is_signed else "u") if type.bits <= WORD else ("LL", "ULL")[not type.is_signed]
    )
    if type.bits < WORD:
        return f"({C_TYPES[type]}){number}", UNARY
    return f"{number}{suffix}", ATOM


def _negative_literal(number: int, type: ScalarType) -> tuple[str, int]:
    suffix = "LL" if type.bits > WORD else ""
    if number == type.integer_range[0] and type.bits >= WORD:
        return f"(-{-(number + 1)}{suffix} - 1)", ATOM
    text = f"-{-number}{suffix}"
    return (f"({C_TYPES[type]})({text})", UNARY) if type.bits < WORD else (text, UNARY)


def _float_literal(value: float, type: ScalarType) -> tuple[str, int]:
    if value in (float("inf"), float("-inf")):
        sign = "-" if value < 0 else ""
        return sign + INFINITY[type], UNARY if sign else ATOM
    text = repr(abs(value))
    if "." not in text and "e" not in text:
        text += ".0"
    text += "f" if type is not ScalarType.FLOAT64 else ""
    return (f"-{text}", UNARY) if value < 0 else (text, ATOM)


def _to_integer(text: str, source: ScalarType, type: ScalarType) -> tuple[str, int]:
    """Towards zero and saturating, by the intrinsics: a C++ cast leaves large values undefined."""
    name = "double" if source is ScalarType.FLOAT64 else "float"
    wide = "ll" if type.bits == LONG else "int"
    target = wide if type.is_signed or type.bits < WORD else f"u{wide}"
    call = f"__{name}2{target}_rz({text})"
    return (f"({C_TYPES[type]}){call}", UNARY) if type.bits < WORD else (call, ATOM)


def _narrow(text: str, level: int, type: ScalarType) -> tuple[str, int]:
    """Results of small integer types wrap in their own width, not in int."""
    if type.is_integer and type.bits < WORD:
        return f"({C_TYPES[type]})({text})", UNARY
    return text, level


def _wrap(part: tuple[str, int], least: int) -> str:
    text, level = part
    return text if level >= least else f"({text})"


def _times(factor: int, text: str) -> str:
    return text if factor == 1 else f"{factor} * {text}"


def _is_atom(text: str) -> bool:
    return " " not in text or (text.startswith("(") and text.endswith(")") and text.count("(") == 1)
