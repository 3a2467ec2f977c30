"""What a body does not use goes; what runs once stands without its loop."""

from __future__ import annotations

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.simplify import simplify
from tcc.kernel.statements import kernel_lines
from tcc.kernel.substitute import substitute
from tcc.scalar import ScalarType as T

OUT = ir.Buffer("out", ir.Space.GLOBAL, T.FLOAT32, (const(64), const(4)))
ROW, J = var("i"), var("j")


def store(*index: Affine) -> ir.Store:
    return ir.Store(OUT, index, ir.Const(1, T.FLOAT32))


def lines(*body: ir.Statement, aliases: tuple[tuple[str, str], ...] = ()) -> list[str]:
    grid = (const(8), const(1), const(1))
    kernel = ir.Kernel("f", (OUT,), (), grid, (8, 1, 1), aliases, body)
    return [line.strip() for line in kernel_lines(simplify(kernel), {}, set())]


def loop(name: str, low: int, high: int, *body: ir.Statement, step: int = 1) -> ir.For:
    return ir.For(name, const(low), const(high), step, True, body)


def test_unread_names_and_empty_statements_go() -> None:
    assert lines(
        ir.Let("a", ROW),
        ir.Let("b", ROW + 1),
        loop("k", 0, 4, ir.Comment("nothing")),
        ir.If((ROW - 1,), (ir.Let("c", ROW),)),
        store(var("b"), const(0)),
        aliases=(("i", "threadIdx.x"), ("j", "threadIdx.y")),
    ) == ["const int i = threadIdx.x;", "const int b = i + 1;", "out[b * 4] = 1.0f;"]


def test_names_in_conditions_and_bounds_are_read() -> None:
    found = lines(
        ir.Let("a", ROW),
        ir.If((var("a") - 1,), (store(const(0), const(0)),)),
        ir.Let("b", ROW),
        ir.For("k", const(0), var("b"), 1, False, (store(var("k"), const(0)),)),
        aliases=(("i", "threadIdx.x"),),
    )
    assert found[:2] == ["const int i = threadIdx.x;", "const int a = i;"]
    assert "const int b = i;" in found


def test_an_alias_with_one_reader_gets_its_name() -> None:
    aliases = (("b0", "blockIdx.x"), ("t0", "threadIdx.x"))
    used_once = lines(ir.Let("i", var("b0")), store(ROW, var("t0")), aliases=aliases)
    assert used_once[:2] == ["const int i = blockIdx.x;", "const int t0 = threadIdx.x;"]
    used_twice = lines(ir.Let("i", var("b0")), store(ROW, var("b0")), aliases=aliases)
    assert used_twice[:2] == ["const int b0 = blockIdx.x;", "const int i = b0;"]


def test_loops_of_one_iteration() -> None:
    assert lines(loop("i", 3, 4, store(ROW, const(1)))) == ["out[13] = 1.0f;"]
    assert lines(loop("i", 0, 4, store(ROW, const(1)), step=4)) == ["out[1] = 1.0f;"]
    assert len(lines(loop("i", 0, 5, store(ROW, const(1)), step=4))) == 4
    nested = loop("i", 0, 1, loop("j", 2, 3, store(ROW + J, J)))
    assert lines(nested) == ["out[10] = 1.0f;"]


def test_loops_around_declarations_stay() -> None:
    """Their names could be declared again beside them."""
    body = (ir.Let("j", ROW + var("n")), store(J, J))
    assert lines(loop("i", 0, 1, *body))[1] == "for (int i = 0; i < 1; ++i) {"


def test_certain_conditions_go() -> None:
    assert lines(ir.If((const(0), ROW), (store(ROW, const(0)),)))[0] == "if (i >= 0) {"
    assert lines(ir.If((const(2),), (store(const(0), const(0)),))) == ["out[0] = 1.0f;"]
    assert len(lines(ir.If((ROW, ROW), (store(ROW, const(0)),)))) == 3


def test_variables_are_replaced_everywhere() -> None:
    scalar = ir.Buffer("x", ir.Space.PRIVATE, T.FLOAT32, (const(4),))
    body = (
        ir.For("k", ROW, ROW + 2, 1, False, (ir.Let("m", ROW + var("k")),)),
        ir.If((ROW, ir.Binary(">", ir.Int(ROW), ir.Const(0, T.INT32), T.BOOL)), (store(ROW, J),)),
        ir.VectorMove(OUT, (ROW, J), scalar, (ROW,), 4),
        ir.AsyncCopy(scalar, (ROW,), OUT, (ROW, J), 4),
        ir.Store(scalar, (ROW,), ir.Load(OUT, (ROW, ir.Load(OUT, (ROW, J))))),
        ir.Barrier(),
    )
    moved = substitute(body, {"i": const(3)})
    assert "'i'" not in repr(moved)
    assert substitute(moved, {"i": const(4)}) == moved
