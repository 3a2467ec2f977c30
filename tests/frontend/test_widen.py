"""Index arithmetic that leaves int32 wraps, as the language says, and is no affine form."""

import numpy as np
import pytest

import tcc
from tcc.errors import CompileError
from tcc.frontend.subscripts import affine_form
from tcc.frontend.widen import widen
from tests.agreement import oracle, run_both_orders
from tests.frontend.elaborated import program

WRAPPING = """
def f(float(64) A, int(N) B) -> (Hash, Quotient, Condition, Value, Nested, Extremum, Helper) {
    Hash(i) = A((i * 1103515245) % 64) where i in 0:N
    Quotient(i) = (i * 1000000) / 7 where i in 0:N
    Condition(i) = i * 1000000 < 0 ? A(0) : A(1) where i in 0:N
    Value(i) = N * i * 1000000 where i in 0:N
    Nested(i) = A(i % 4 + (7 - i * 1103515245) % 16) where i in 0:N
    Extremum(i) = A(max(min(i * 1103515245, 63), 0)) where i in 0:N
    Helper(i) = A(max(B(i), (i + 2147483644) % 2147483647) % 64) where i in 0:N
}
"""


def test_results_wrap():
    kernel = tcc.compile(WRAPPING, sizes={"N": 5000})
    data = {"A": np.arange(64, dtype=np.float32), "B": np.arange(5000, dtype=np.int32)}
    want = oracle(kernel.compilation.program, data, {})
    want.assert_agrees(run_both_orders(kernel, data))


def test_programs_in_range_stay():
    found = program("def f(float(N, 64) A) -> (Y) { Y(i) = A(2 * i + 1, (3 * i + N) % 64) }")
    assert widen(found, {"N": 4096}) is found
    assert widen(found, {}) is found
    text = (
        "def f(float(K) A, float(N, M) B) -> (Y) { Y(i) = A((2 * i + 1) / 2) where i in 0:N * M }"
    )
    found = program(text)
    assert widen(found, {}) is found
    assert widen(found, {"N": 1 << 16, "M": 1 << 15}) is not found


def test_a_read_under_a_condition_that_wraps_is_checked_where_it_may_happen():
    text = "def f(float(N) A) -> (Y) { Y(i) = i * 1000000 < 0 ? A(i + N) : 0.0 where i in 0:N }"
    with pytest.raises(CompileError) as found:
        tcc.compile(text, sizes={"N": 5000})
    assert [d.code for d in found.value.diagnostics] == ["E0307"]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("uint32(i) - uint32(1)", "i - 1"),
        ("(uint32(i) - uint32(1)) % uint32(8)", None),
        ("max(uint32(i) - uint32(1), uint32(2))", None),
        ("int64(uint32(i) - uint32(1))", None),
        ("int32(uint32(i) - uint32(1))", "i - 1"),
        ("uint64(i - 1)", "i - 1"),
        ("uint8(i)", None),
    ],
)
def test_unsigned_arithmetic_has_a_form_where_wrapping_does_not_show(text, form):
    right = program(f"def f(float(N) X) -> (Y) {{ Y(i) = {text} where i in 0:N }}").statements[0]
    found = affine_form(right.value)
    assert (None if found is None else str(found)) == form
