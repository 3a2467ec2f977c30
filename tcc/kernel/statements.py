"""Kernel statements as indented C++ lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tcc.affine import Affine, Interval, const
from tcc.kernel import ir
from tcc.kernel.prove import Scope
from tcc.kernel.size_limits import SizeLimits
from tcc.kernel.spelling import C_TYPES
from tcc.kernel.text import Printer, is_cached
from tcc.scalar import ScalarType

VECTORS: Mapping[tuple[ScalarType, int], str] = {
    (ScalarType.FLOAT32, 4): "float4",
    (ScalarType.FLOAT32, 2): "float2",
    (ScalarType.FLOAT64, 2): "double2",
    (ScalarType.INT64, 2): "longlong2",
    (ScalarType.UINT64, 2): "ulonglong2",
    (ScalarType.INT32, 4): "int4",
    (ScalarType.INT32, 2): "int2",
    (ScalarType.UINT32, 4): "uint4",
    (ScalarType.UINT32, 2): "uint2",
    (ScalarType.INT16, 4): "short4",
    (ScalarType.INT16, 2): "short2",
    (ScalarType.UINT16, 4): "ushort4",
    (ScalarType.UINT16, 2): "ushort2",
    (ScalarType.FLOAT16, 4): "ushort4",
    (ScalarType.FLOAT16, 2): "ushort2",
    (ScalarType.BFLOAT16, 4): "ushort4",
    (ScalarType.BFLOAT16, 2): "ushort2",
    (ScalarType.INT8, 4): "char4",
    (ScalarType.UINT8, 4): "uchar4",
}
"""The type that moves so many elements at once; values of half precision move as their bits."""


def kernel_lines(
    kernel: ir.Kernel,
    sizes: Mapping[str, Interval],
    helpers: set[str],
    limits: SizeLimits | None = None,
) -> list[str]:
    """The body of a kernel, aliases first; `helpers` collects the functions it calls."""
    printer = Printer(sizes, helpers, limits)
    writer = _Writer(printer)
    for buffer in kernel.buffers:
        if buffer.name in kernel.aligned:
            type = f"{'const ' if buffer.readonly else ''}{C_TYPES[buffer.type]}*"
            aligned = f"__builtin_assume_aligned({buffer.name}, {ir.ALIGNED_BYTES})"
            writer.lines.append(f"  {buffer.name} = static_cast<{type}>({aligned});")
    for (name, source), extent in zip(kernel.aliases, _alias_extents(kernel), strict=True):
        writer.lines.append(f"  const int {name} = {source};")
        printer.scopes.append(Scope(name, Affine(), extent))
    writer.block(kernel.body, "  ")
    return writer.lines


def _alias_extents(kernel: ir.Kernel) -> list[Affine]:
    extents: list[Affine] = []
    for _, source in kernel.aliases:
        axis = "xyz".index(source[-1])
        blocks = source.startswith("blockIdx")
        extents.append(kernel.grid[axis] if blocks else Affine((), kernel.block[axis]))
    return extents


def _scope(var: str, value: Affine | ir.Expression, printer: Printer) -> Scope:
    """What is known of a `Let` variable."""
    if isinstance(value, Affine):
        return Scope(var, value, value + 1)
    low, high = printer.range_of(value)
    return Scope(var, const(low), const(high + 1))


class _Writer:
    def __init__(self, printer: Printer) -> None:
        self.lines: list[str] = []
        self._printer = printer

    def block(self, statements: tuple[ir.Statement, ...], indent: str) -> None:
        """The statements of one C++ block."""
        depth = len(self._printer.scopes)
        left = list(statements)
        while left:
            first = left.pop(0)
            match first, left[:1]:
                case ir.Declare(buffer), [ir.Store(target, (), value)] if target == buffer:
                    left.pop(0)
                    text = declaration(buffer).removesuffix(";")
                    self.lines.append(f"{indent}{text} = {self._printer.value(value)};")
                case _:
                    self._statement(first, indent)
        del self._printer.scopes[depth:]

    def _statement(self, statement: ir.Statement, indent: str) -> None:  # noqa: C901 - one case a node
        p = self._printer
        match statement:
            case ir.Comment(text):
                self.lines.append(f"{indent}// {text}")
            case ir.Let():
                self._let(statement, indent)
            case ir.Declare(buffer):
                self.lines.append(indent + declaration(buffer))
            case ir.Store(buffer, index, value):
                self.lines.append(f"{indent}{p.element(buffer, index)} = {p.value(value)};")
            case ir.Atomic():
                self.lines.append(f"{indent}{p.atomic(statement)};")
            case ir.For():
                self._loop(statement, indent)
            case ir.If():
                self._if(statement, indent)
            case ir.Barrier(warp):
                self.lines.append(f"{indent}{'__syncwarp' if warp else '__syncthreads'}();")
            case ir.VectorMove():
                self._vector(statement, indent)
            case ir.AsyncCopy():
                self._async(statement, indent)
            case ir.AsyncCommit():
                self.lines.append(f"{indent}__pipeline_commit();")
            case ir.AsyncWait(pending):
                self.lines.append(f"{indent}__pipeline_wait_prior({pending});")
            case _:
                assert_never(statement)

    def _let(self, let: ir.Let, indent: str) -> None:
        p, value = self._printer, let.value
        text = p.affine(value) if isinstance(value, Affine) else p.value(value)
        type = self._declared(let.var, long=isinstance(value, Affine) and p.leaves_int(value))
        self.lines.append(f"{indent}const {type} {let.var} = {text};")
        p.scopes.append(_scope(let.var, value, p))

    def _declared(self, name: str, *, long: bool) -> str:
        """The type of a variable."""
        known = self._printer.long_variables
        if long:
            known.add(name)
        else:
            known.discard(name)
        return "long long" if long else "int"

    def _loop(self, loop: ir.For, indent: str) -> None:
        p = self._printer
        step = f"++{loop.var}" if loop.step == 1 else f"{loop.var} += {loop.step}"
        if loop.unroll:
            self.lines.append(f"{indent}#pragma unroll")
        low, high = p.affine(loop.low), p.affine(loop.high)
        type = self._declared(loop.var, long=p.leaves_int(loop.high + (loop.step - 1)))
        head = f"{type} {loop.var} = {low}; {loop.var} < {high}; {step}"
        self.lines.append(f"{indent}for ({head}) {{")
        p.scopes.append(Scope(loop.var, loop.low, loop.high))
        self.block(loop.body, indent + "  ")
        p.scopes.pop()
        self.lines.append(f"{indent}}}")

    def _if(self, node: ir.If, indent: str) -> None:
        tests = self._printer.conjunction(node.conditions)
        self.lines.append(f"{indent}if ({tests}) {{")
        self.block(node.body, indent + "  ")
        if node.otherwise:
            self.lines.append(f"{indent}}} else {{")
            self.block(node.otherwise, indent + "  ")
        self.lines.append(f"{indent}}}")

    def _vector(self, move: ir.VectorMove, indent: str) -> None:
        type = VECTORS[move.target.type, move.width]
        target = self._wide(move.target, move.target_index, type, constant=False)
        source = self._wide(move.source, move.source_index, type, constant=True)
        self.lines.append(f"{indent}{target} = {source};")

    def _wide(
        self,
        buffer: ir.Buffer,
        index: tuple[Affine | ir.Expression, ...],
        type: str,
        *,
        constant: bool,
    ) -> str:
        const = "const " if constant else ""
        place = f"reinterpret_cast<{const}{type}*>(&{self._printer.element(buffer, index)})"
        return f"__ldg({place})" if constant and is_cached(buffer) else f"*{place}"

    def _async(self, copy: ir.AsyncCopy, indent: str) -> None:
        p = self._printer
        target = p.element(copy.target, copy.target_index)
        source = p.element(copy.source, copy.source_index)
        size = copy.width * copy.target.type.bytes
        self.lines.append(f"{indent}__pipeline_memcpy_async(&{target}, &{source}, {size});")


def declaration(buffer: ir.Buffer) -> str:
    """A shared or private array."""
    extents = "".join(f"[{e.value}]" for e in buffer.shape)
    if buffer.space is ir.Space.SHARED:
        prefix = "__shared__ __align__(16) "
    else:
        size = ir.elements(buffer) * buffer.type.bytes
        unit = next((a for a in (16, 8, 4) if buffer.shape and size % a == 0), 0)
        prefix = f"__align__({unit}) " if unit > buffer.type.bytes else ""
    return f"{prefix}{C_TYPES[buffer.type]} {buffer.name}{extents};"
