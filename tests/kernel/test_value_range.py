"""Ranges of integer expressions contain every value; overflow is never missed."""

from __future__ import annotations

import numpy as np

from tcc.affine import Affine, const
from tcc.kernel import ir
from tcc.kernel.prove import Scope, interval
from tcc.kernel.value_range import overflows, value_range
from tcc.scalar import ScalarType as T
from tests.kernel.random_ir import ARITHMETIC, INTEGERS, POINTS, Meaning, RandomIr, buffer, contents

SCOPES = (Scope("i", const(0), const(3)), Scope("j", const(-3), const(4)))
ARRAYS = {buffer(t).name: contents(t) for t in T if not t.is_half}


def bounds(form: Affine) -> tuple[int | None, int | None]:
    return interval(form, SCOPES, {})


def test_random_expressions() -> None:
    made = RandomIr(5)
    narrow = 0
    for _ in range(1500):
        expression = made.value(made.random.choice(INTEGERS), 3)
        low, high = value_range(expression, bounds)
        narrow += (low, high) != expression.type.integer_range
        for i, j in POINTS:
            meaning = Meaning({"i": i, "j": j}, ARRAYS)
            try:
                with np.errstate(all="ignore"):
                    assert low <= meaning.of(expression) <= high
                    check_overflow(expression, meaning)
            except ZeroDivisionError:
                break
    assert narrow > 200


def check_overflow(expression: ir.Expression, meaning: Meaning) -> None:
    if isinstance(expression, ir.Binary) and expression.operator in ("+", "-", "*"):
        left, right = meaning.of(expression.left), meaning.of(expression.right)
        exact = ARITHMETIC[expression.operator](left, right)
        if exact != meaning.of(expression):
            assert overflows(expression, bounds)


def test_open_forms_stay_in_their_type() -> None:
    least, largest = T.INT32.integer_range
    assert value_range(ir.Int(const(0)), bounds) == (0, 0)
    unknown = ir.Int(const(0) + 1)
    assert value_range(unknown, lambda _: (None, 7)) == (least, 7)
    assert value_range(unknown, lambda _: (-1, 2**40)) == (-1, largest)
