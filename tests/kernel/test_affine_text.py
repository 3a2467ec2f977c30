"""Affine expressions as C++: the same value in C's arithmetic, few parentheses."""

from __future__ import annotations

import random
import re

import pytest

from tcc.affine import Affine, const, maximum, minimum, var
from tcc.kernel.affine_text import AffinePrinter
from tcc.kernel.prove import Scope
from tests.kernel.random_ir import POINTS, RandomIr

ROW, J, N, M = map(var, "ijNM")


def printer() -> AffinePrinter:
    result = AffinePrinter({"N": (1, 100)}, set())
    result.scopes += [Scope("i", const(0), const(3)), Scope("j", const(-3), const(4))]
    return result


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (const(0), "0"),
        (const(-6), "-6"),
        (ROW - 1, "i - 1"),
        (1 - ROW, "1 - i"),
        (-ROW, "-i"),
        (ROW * -4, "-4 * i"),
        (-ROW - J, "-i - j"),
        (ROW * 2 + J * 3 - 5, "2 * i + 3 * j - 5"),
        (ROW // 4, "i / 4"),
        (ROW % 4, "i % 4"),
        ((ROW + 1) % 2 + N, "N + (i + 1) % 2"),
        (ROW // 4 * 3, "3 * (i / 4)"),
        (-(ROW // 2), "-(i / 2)"),
        (J // 4, "floor_div(j, 4)"),
        (J % 4 - 1, "floor_mod(j, 4) - 1"),
        ((N + 7) // 8, "(N + 7) / 8"),
        ((ROW + N) // 8 % 4, "((N + i) / 8) % 4"),
        (N * M * 2, "2 * M * N"),
        (N * M * -1, "-(M * N)"),
        (minimum(N, M) + 1, "minimum(M, N) + 1"),
        (maximum(ROW, J, 3), "maximum(maximum(i, j), 3)"),
    ],
)
def test_text(form: Affine, text: str) -> None:
    found = printer().affine(form)
    terms = sorted(re.split(r" \+ ", found))
    assert terms == sorted(re.split(r" \+ ", text))


def test_helpers_are_noted() -> None:
    shared = printer()
    shared.affine(J // 4 + minimum(ROW, J))
    assert shared.helpers == {"floor_div", "minimum"}


def test_factors() -> None:
    assert printer().factor(ROW + 1) == "(i + 1)"
    assert printer().factor(ROW * 2) == "(2 * i)"
    assert printer().factor(N) == "N"


def test_text_has_the_value_of_the_form() -> None:
    """C's division is that of naturals here; everything else is the same in Python."""
    names = {
        "floor_div": lambda a, b: a // b,
        "floor_mod": lambda a, b: a % b,
        "minimum": min,
        "maximum": max,
    }
    made = RandomIr(3)
    for _ in range(300):
        form = made.affine(random.Random(0).randint(1, 3))
        code = compile(printer().affine(form).replace("/", "//"), "form", "eval")
        for i, j in POINTS:
            assert eval(code, names, {"i": i, "j": j}) == form.evaluate({"i": i, "j": j})
