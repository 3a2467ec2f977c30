"""What stays in registers for the whole kernel, and what goes to memory when."""

from __future__ import annotations

import pytest

from tcc.kernel.context import Context
from tcc.kernel.lower import kernel_users
from tcc.kernel.promote import Promotion, promotions
from tests.kernel.mapped import Mapped
from tests.kernel.running import check


def promoted(body: str, inputs: str = "float(N, M) A", outputs: str = "O") -> dict[str, Promotion]:
    """The promotions of a program that is one kernel, by tensor."""
    mapped = Mapped(f"def f({inputs}) -> ({outputs}) {{ {body} }}", {"N": 6, "M": 5})
    context = Context(mapped.scop, mapped.program)
    (kernel,) = mapped.nest.kernels
    users = kernel_users(context, mapped.nest)
    found = promotions(context, kernel, users, keep_stored=False)
    return {p.tensor: p for p in found}


def test_accumulators_stay_and_are_stored_once() -> None:
    found = promoted("O(i) +=! A(i, k)")
    assert list(found) == ["O"]
    assert (found["O"].load, found["O"].store) == (False, True)


def test_a_value_of_the_caller_is_loaded() -> None:
    assert promoted("O(i) += A(i, k)")["O"].load


def test_temporaries_are_not_stored() -> None:
    found = promoted("T(i) +=! A(i, k)\n O(i) = T(i) * T(i)")
    assert (found["T"].load, found["T"].store) == (False, False)
    assert "O" not in found, "written once and never read"


def test_a_temporary_that_is_read_before_it_is_written_again() -> None:
    found = promoted("T(i) +=! A(i, k)\n S(i) = T(i)\n T(i) max= A(i, k)\n O(i) = T(i) + S(i)")
    assert (found["T"].load, found["S"].store) == (False, False)


@pytest.mark.parametrize(
    "body",
    [
        "O(i, j) = A(i, j)\n O(i, j) = O(i, j) + 1.0 where i in 1:3, j in 0:M",
        "O(i, j) = A(i, j)\n O(i, j) = O(i, j) + 1.0 where i in 0:N, j in 2:M",
    ],
)
def test_changes_of_a_part_stay_in_registers(body: str) -> None:
    """The first statement sets all that the others touch."""
    found = promoted(body)["O"]
    assert (found.same, found.load, found.store) == (False, False, True)
    assert found.writer.statement == "S0"


def test_tensors_of_the_caller_changed_in_different_ranges_live_in_memory() -> None:
    body = "O(i, j) += A(i, j) where i in 0:N\n O(i, j) += 1.0 where i in 1:N, j in 0:M"
    assert "O" not in promoted(body)


def test_half_sums_stay_where_nobody_must_see_them_rounded() -> None:
    inputs = "float16(N, M) A"
    assert "O" in promoted("O(i) +=! A(i, k)", inputs)
    found = promoted("T(i) +=! A(i, k)\n O(i) = T(i)", inputs, "T, O")
    assert "T" not in found


def test_a_new_start_of_a_part_leaves_the_rest() -> None:
    """Registers are set without a guard only where every statement has the same range."""
    text = """
    def f(float(N, M) A) -> (O) {
        O(i, j) = A(i, j)
        O(i, j) +=! A(i, k) where i in 0:N, j in 1:3
        O(i, j) = O(i, j) + 1.0 where i in 1:N, j in 0:2
    }
    """
    check(text, {"N": 5, "M": 4}, outer_schedule_fusion_strategy="max")
    check(text, {"N": 5, "M": 4}, outer_schedule_fusion_strategy="max", registers=[2, 2])
