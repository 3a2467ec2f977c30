"""Kernel expressions as C++ text: a printer that knows precedence and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tcc.affine import Affine, const
from tcc.frontend.builtins import spelling
from tcc.kernel import ir
from tcc.kernel.addresses import Index, merge_rows
from tcc.kernel.affine_text import AffinePrinter
from tcc.kernel.helpers import HELPERS
from tcc.kernel.prove import interval
from tcc.kernel.spelling import (
    ATOM,
    C_TYPES,
    FROM_HALF,
    PRECEDENCE,
    PRODUCT,
    SELECT,
    SUM,
    TO_HALF,
    UNARY,
    Part,
    literal,
    narrow,
    wrap,
)
from tcc.kernel.value_range import overflows, value_range
from tcc.scalar import INT_BITS, ScalarType

UNSIGNED = {ScalarType.INT32: ScalarType.UINT32, ScalarType.INT64: ScalarType.UINT64}
ATOMICS = {"*": "atomic_multiply", "min": "atomic_minimum", "max": "atomic_maximum"}


class Printer(AffinePrinter):
    """Prints expressions at one place."""

    def value(self, expression: ir.Expression) -> str:
        """An expression as a whole statement operand."""
        return self._value(expression)[0]

    def conjunction(self, conditions: Sequence[Index]) -> str:
        """Affine conditions (`>= 0`) and bool expressions, all of which must hold."""
        parts = [self.condition(c) if isinstance(c, Affine) else self._value(c) for c in conditions]
        if len(parts) == 1:
            return parts[0][0]
        return " && ".join(wrap(p, PRECEDENCE["&&"] + 1) for p in parts)

    def atomic(self, update: ir.Atomic) -> str:
        """A call that combines a value into an element of global memory."""
        type = update.buffer.type
        place, value = f"&{self.element(update.buffer, update.index)}", self.value(update.value)
        operator = update.operator
        if type in UNSIGNED and operator in "+*":  # the same bits, and they wrap
            word = C_TYPES[UNSIGNED[type]]
            place, value = f"reinterpret_cast<{word}*>({place})", f"({word})({value})"
        if operator == "+":
            return f"atomicAdd({place}, {value})"
        if operator != "*" and type.is_integer:
            return f"atomic{operator.capitalize()}({place}, {value})"
        self.helpers |= {"Word", ATOMICS[operator]}
        return f"{ATOMICS[operator]}({place}, {value})"

    def _value(self, expression: ir.Expression) -> Part:  # noqa: C901 - one case a node
        match expression:
            case ir.Const(value, type):
                return literal(value, type)
            case ir.Int(value):
                part = self.affine_part(value)
                # Helper functions take operands of one type.
                return (f"(int){wrap(part, UNARY)}", UNARY) if self.is_long(value) else part
            case ir.Load(buffer, index):
                element = self.element(buffer, index)
                return f"__ldg(&{element})" if is_cached(buffer) else element, ATOM
            case ir.Unary():
                return self._unary(expression)
            case ir.Binary():
                return self._binary(expression)
            case ir.Select(condition, then, otherwise, _):
                parts = [self._operand(e, SELECT + 1) for e in (condition, then, otherwise)]
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", SELECT
            case ir.Call(function, arguments, type):
                return self._call(function, arguments, type)
            case ir.Cast(operand, type):
                return self._cast(operand, type)
            case ir.Checked(operand, extent, what):
                self.helpers.add("inside")
                return f'inside({self.value(operand)}, {self.affine(extent)}, "{what}")', ATOM
            case ir.Shuffle(operand, mask, width):
                inner = self.value(operand)
                return f"__shfl_xor_sync(0xffffffffu, {inner}, {mask}, {width})", ATOM
            case _:
                assert_never(expression)

    def _operand(self, expression: ir.Expression, least: int) -> str:
        return wrap(self._value(expression), least)

    # -- operators -------------------------------------------------------------------------

    def _unary(self, node: ir.Unary) -> Part:
        if node.operator == "-" and self._wraps(node):
            return self._in_unsigned(node)
        part = f"{node.operator}{self._operand(node.operand, UNARY + 1)}", UNARY
        return narrow(part, node.type)

    def _binary(self, node: ir.Binary) -> Part:
        match node.operator:
            case "min" | "max":
                return self._minmax(node)
            case "/" | "%" if node.left.type.is_integer:
                return self._integer_division(node)
            case "+" | "-" | "*" if self._wraps(node):
                return self._in_unsigned(node)
            case "&&" | "||":
                left, right = (self._logical(o, node.operator) for o in (node.left, node.right))
            case "+" | "-" | "*" | "/" | "%":
                left = self._operand(node.left, PRECEDENCE[node.operator])
                right = self._operand(node.right, PRECEDENCE[node.operator] + 1)
            case _:
                if isinstance(node.left, ir.Int) and node.operator == ">=" and _is_zero(node.right):
                    return self.condition(node.left.value)
                left, right = self._operand(node.left, SUM), self._operand(node.right, SUM)
        part = f"{left} {node.operator} {right}", PRECEDENCE[node.operator]
        return narrow(part, node.type)

    def _logical(self, operand: ir.Expression, operator: str) -> str:
        """Operands of `&&` and `||`, with parentheses where the two mix."""
        if isinstance(operand, ir.Binary) and operand.operator in {"&&", "||"} - {operator}:
            return f"({self.value(operand)})"
        return self._operand(operand, PRECEDENCE[operator])

    def _minmax(self, node: ir.Binary) -> Part:
        left, right = self.value(node.left), self.value(node.right)
        if node.type.is_float:
            suffix = "f" if node.type is ScalarType.FLOAT32 else ""
            return f"f{node.operator}{suffix}({left}, {right})", ATOM
        if node.type is ScalarType.BOOL:
            operator = "&&" if node.operator == "min" else "||"
            return self._binary(ir.Binary(operator, node.left, node.right, node.type))
        return self.minmax(node.operator, [left, right])

    def _integer_division(self, node: ir.Binary) -> Part:
        left, right = node.left, node.right
        if self._is_natural(left) and self._is_natural(right):
            operands = self._operand(left, PRODUCT), self._operand(right, PRODUCT + 1)
            return narrow((f" {node.operator} ".join(operands), PRODUCT), node.type)
        function = "floor_div" if node.operator == "/" else "floor_mod"
        self.helpers.add(function)
        return f"{function}({self.value(left)}, {self.value(right)})", ATOM

    def range_of(self, expression: ir.Expression) -> tuple[int, int]:
        """The smallest and the largest value of an integer expression here."""
        return value_range(expression, self._interval)

    def _is_natural(self, expression: ir.Expression) -> bool:
        return self.range_of(expression)[0] >= 0

    def _interval(self, form: Affine) -> tuple[int | None, int | None]:
        return interval(form, self.scopes, self._sizes)

    # -- wrap-around -----------------------------------------------------------------------

    def _wraps(self, node: ir.Binary | ir.Unary) -> bool:
        """Whether the node needs unsigned arithmetic to wrap: C++ has no signed overflow."""
        type = node.type
        if not type.is_integer or not overflows(node, self._interval):
            return False
        promoted = type is ScalarType.UINT16 and node.operator == "*"
        return promoted or (type.is_signed and type.bits >= INT_BITS)

    def _in_unsigned(self, node: ir.Binary | ir.Unary) -> Part:
        return f"({C_TYPES[node.type]}){wrap(self._modular(node), UNARY)}", UNARY

    def _modular(self, node: ir.Binary | ir.Unary) -> Part:
        """The node computed in unsigned arithmetic; its left operand makes it so."""
        if isinstance(node, ir.Unary):
            zero = "0ULL" if node.type.bits > INT_BITS else "0u"
            return f"{zero} - {self._modular_operand(node.operand, SUM + 1)}", SUM
        level = PRECEDENCE[node.operator]
        right = self._modular_operand(node.right, level + 1)
        if self._is_modular(node.left):
            return f"{self._modular_operand(node.left, level)} {node.operator} {right}", level
        unsigned = "unsigned long long" if node.type.bits > INT_BITS else "unsigned int"
        left = f"({unsigned}){self._operand(node.left, UNARY)}"
        return f"{left} {node.operator} {right}", level

    def _modular_operand(self, operand: ir.Expression, least: int) -> str:
        if isinstance(operand, ir.Binary | ir.Unary) and self._is_modular(operand):
            return wrap(self._modular(operand), least)
        return self._operand(operand, least)

    def _is_modular(self, operand: ir.Expression) -> bool:
        match operand:
            case ir.Binary("+" | "-" | "*") | ir.Unary("-"):
                return self._wraps(operand)
            case _:
                return False

    # -- calls and casts -------------------------------------------------------------------

    def _call(self, function: str, arguments: tuple[ir.Expression, ...], type: ScalarType) -> Part:
        if function == "fma":
            name = "fmaf" if type is ScalarType.FLOAT32 else "fma"
        else:
            name = spelling(function, type)
        if name in HELPERS:
            self.helpers.add(name)
        return f"{name}({', '.join(self.value(a) for a in arguments)})", ATOM

    def _cast(self, operand: ir.Expression, type: ScalarType) -> Part:
        if operand.type is type:
            return self._value(operand)
        inner = self._value(operand)
        if operand.type.is_half:
            inner = f"{FROM_HALF[operand.type]}({inner[0]})", ATOM
            if type is ScalarType.FLOAT32:
                return inner
        if type is ScalarType.BOOL:
            return f"{wrap(inner, SUM)} != 0", PRECEDENCE["!="]
        if type.is_half:
            return _to_half(inner, operand.type, type), ATOM
        if type.is_integer and operand.type.is_float:
            return self._to_integer(inner[0], operand.type, type)
        return f"({C_TYPES[type]}){wrap(inner, UNARY)}", UNARY

    def _to_integer(self, text: str, source: ScalarType, type: ScalarType) -> Part:
        """Towards zero and saturating, by the intrinsics: C++ leaves large values undefined."""
        name = "double" if source is ScalarType.FLOAT64 else "float"
        wide = "ll" if type.bits > INT_BITS else "int"
        small = type.bits < INT_BITS
        target = wide if type.is_signed or small else f"u{wide}"
        value = f"__{name}2{target}_rz({text})"
        if small:
            self.helpers |= {"minimum", "maximum"}
            low, high = type.integer_range
            value = f"minimum(maximum({value}, {low}), {high})"
        return narrow((value, ATOM), type)

    # -- memory ----------------------------------------------------------------------------

    def element(self, buffer: ir.Buffer, index: tuple[Index, ...]) -> str:
        """An element as an lvalue; global memory is flattened row-major."""
        if buffer.space is not ir.Space.GLOBAL:
            return buffer.name + "".join(f"[{self._index(i)[0]}]" for i in index)
        if not index:
            return f"{buffer.name}[0]"
        return f"{buffer.name}[{self.offset(buffer, index)}]"

    def offset(self, buffer: ir.Buffer, index: tuple[Index, ...]) -> str:
        """The row-major offset, in Horner form; 64 bits where the buffer asks for it."""
        start, rest = _first_row(*merge_rows(buffer.shape, index))
        text, level = self._index(start)
        if buffer.wide and rest and self._is_row(start, rest[0][0]):
            (extent, position), *rest = rest
            self.helpers.add("row_start")
            text, level = f"row_start({text}, {self.affine(extent)})", ATOM
            text, level = self._plus((text, level), position)
        elif buffer.wide and (rest or not self._is_wide_enough(start)):
            text, level = f"(long long){wrap((text, level), UNARY)}", UNARY
        for extent, position in rest:
            row = f"{wrap((text, level), UNARY)} * {self.factor(extent)}", PRODUCT
            text, level = self._plus(row, position)
        return text

    def _is_wide_enough(self, start: Index) -> bool:
        """Whether an offset is a constant, or in long long already."""
        return isinstance(start, Affine) and (start.is_constant or self.leaves_int(start))

    def _is_row(self, row: Index, extent: Affine) -> bool:
        """Whether the start of a row is a product of two ints that are not negative."""
        forms = (row, extent)
        if isinstance(row, Affine) and self.leaves_int(row):
            return False
        lows = [self.lowest(f) if isinstance(f, Affine) else None for f in forms]
        return all(low is not None and low >= 0 for low in lows)

    def _plus(self, row: Part, position: Index) -> Part:
        column = self._index(position)
        return row if column[0] == "0" else (f"{row[0]} + {wrap(column, SUM)}", SUM)

    def _index(self, index: Index) -> Part:
        if isinstance(index, Affine):
            return self.affine_part(index)
        if not index.type.is_signed and index.type.bits >= INT_BITS:
            return f"(long long){self._operand(index, UNARY)}", UNARY
        return self._subscript(index)

    def _subscript(self, expression: ir.Expression) -> Part:
        """A signed subscript: its outermost sums and products are elements, and do not wrap."""
        match expression:
            case ir.Int(value):
                return self.affine_part(value)
            case ir.Binary("+" | "-" | "*" as operator, left, right, type) if type.bits >= INT_BITS:
                level = PRECEDENCE[operator]
                parts = self._subscript(left), self._subscript(right)
                return f"{wrap(parts[0], level)} {operator} {wrap(parts[1], level + 1)}", level
            case _:
                return self._value(expression)


def _first_row(
    shape: tuple[Affine, ...], index: tuple[Index, ...]
) -> tuple[Index, list[tuple[Affine, Index]]]:
    """Constant subscripts at the front as one number, with the first one that is not.

    What follows comes with its extents.
    """
    pairs = list(zip(shape, index, strict=True))
    start: Affine = const(0)
    for number, (extent, position) in enumerate(pairs):
        row = start * extent
        if isinstance(position, Affine) and row.is_constant:
            start = row + position
            if not start.is_constant:
                return start, pairs[number + 1 :]
        elif row == const(0):
            return position, pairs[number + 1 :]
        else:
            return start, pairs[number:]
    return start, []


def is_cached(buffer: ir.Buffer) -> bool:
    """Whether to read through the read-only data cache, which has no instruction for bool."""
    return buffer.cached and buffer.type is not ScalarType.BOOL


def _is_zero(expression: ir.Expression) -> bool:
    return isinstance(expression, ir.Const) and expression.value == 0


def _to_half(inner: Part, source: ScalarType, type: ScalarType) -> str:
    """One rounding from float and double; other types go through float."""
    if source is ScalarType.FLOAT64:
        function = TO_HALF[type].replace("__float2", "__double2").removesuffix("_rn")
        return f"{function}({inner[0]})"
    single = source in (ScalarType.FLOAT32, *FROM_HALF)
    text = inner[0] if single else f"(float){wrap(inner, UNARY)}"
    return f"{TO_HALF[type]}({text})"
