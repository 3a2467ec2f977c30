"""Long reductions in parts: the same results, whatever the lengths and the operators."""

from __future__ import annotations

import pytest

from tcc.affine import const
from tcc.api import request_of
from tcc.frontend import tir
from tcc.frontend.specialise import specialise
from tcc.options import MappingOptions, Options
from tcc.run.host import HostDevice
from tcc.run.verify import verify
from tcc.sched.split import split_reductions
from tcc.source import Source
from tcc.target import DEFAULT_TARGET, TARGETS
from tests.kernel.running import check, compiled, data
from tests.sched.programs import GEMM, elaborated

TARGET = TARGETS[DEFAULT_TARGET]
TOTAL = "def f(float(N) X) -> (S) { S +=! X(n) }"


def split(text: str, sizes: dict[str, int], parts: int | None = None) -> tir.Program:
    program = elaborated(text, sizes)
    return split_reductions(program, sizes, TARGET, parts)


OPERATORS = ("+=!", "+=", "*=!", "*=", "min=!", "min=", "max=!", "max=")
TYPES = ("bool", "uint8", "float16", "float64")
ATOMIC_TYPES = ("float32", "float64", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize("length", [1, 7, 12])
def test_operators(length: int) -> None:
    """Parts that do not divide the length, and targets that have a value before."""
    names = [f"S{k}" for k in range(len(OPERATORS))]
    lines = [f"    {n} {o} X(n)" for n, o in zip(names, OPERATORS, strict=True)]
    text = "\n".join([f"def f(int32(N) X) -> ({', '.join(names)}) {{", *lines, "}"])
    check(text, {"N": length}, split=3)


@pytest.mark.parametrize("fixed", [True, False])
def test_types(fixed: bool) -> None:
    inputs = ", ".join(f"{t}(M, N) {t}_in" for t in TYPES)
    outputs = ", ".join(f"{t}_out" for t in TYPES)
    lines = [f"    {t}_out(i) max=! {t}_in(i, n)" for t in TYPES]
    text = "\n".join([f"def f({inputs}) -> ({outputs}) {{", *lines, "}"])
    check(text, {"M": 3, "N": 37}, fixed=fixed, split=4)


@pytest.mark.parametrize("fixed", [True, False])
def test_several_indices_with_lower_bounds(fixed: bool) -> None:
    text = """
    def f(float(M, N, K) X) -> (S) {
        S(i) +=! X(i, n, k) * (n > k ? 2.0 : 1.0) where i in 1:M, n in 2:N, k in 1:K
    }
    """
    check(text, {"M": 4, "N": 19, "K": 11}, fixed=fixed, split=3)


def test_names_that_are_taken() -> None:
    text = """
    def f(float(part, N) S_parts) -> (S) { S(part_) +=! S_parts(part_, n) }
    """
    check(text, {"part": 3, "N": 20}, split=2)


@pytest.mark.parametrize("ranges", ["r in 0:20, q in r:r + 2", "q in 0:3, r in q:q + 20"])
def test_ranges_inside_others_stay_whole(ranges: str) -> None:
    """Their extents are constant, and cutting one index would still move the other."""
    text = f"def f(float(N) X) -> (S) {{ S +=! X(r + q) where {ranges} }}"
    program = elaborated(text, {"N": 64})
    assert split_reductions(program, {"N": 64}, TARGET, 2) is program
    check(text, {"N": 64}, split=2)


def test_long_sums_are_split_and_short_ones_are_not() -> None:
    assert len(split(TOTAL, {"N": 2**24}).statements) == 2
    assert len(split(TOTAL, {"N": 1000}).statements) == 1
    assert len(split(TOTAL, {"N": 2**24}, parts=1).statements) == 1
    many = "def f(float(M, N) X) -> (S) { S(i) +=! X(i, n) }"
    assert len(split(many, {"M": 4096, "N": 2**20}).statements) == 1


def test_parts_cover_the_reduction_once() -> None:
    """Without a guard where the length of a part divides; the parts start from the identity."""
    program = specialise(split(TOTAL, {"N": 2**24}), {"N": 2**24})
    first, second = program.statements
    part, inner = first.indices[0], first.reductions[0]
    lengths = [first.ranges[i].extent for i in (part, inner)]
    assert lengths[0] * lengths[1] == const(2**24)
    assert isinstance(first.value, tir.Read)
    assert first.initialise
    assert second.initialise
    assert second.ranges[second.reductions[0]] == first.ranges[part]
    assert program.tensors[first.target].role is tir.Role.TEMPORARY


@pytest.mark.parametrize(
    "mapping",
    [
        {"tile": [32, 32, 8], "threads": [16, 16]},
        {"threads": [16, 16]},
        {"blocks": [4, 4]},
        {"registers": [4, 4]},
    ],
)
def test_loops_that_the_options_describe_stay_as_they_are(mapping: dict[str, list[int]]) -> None:
    """Another loop would shift what they mean; a given number of parts is wanted all the same."""
    sizes = {"M": 64, "N": 64}
    assert len(compiled(GEMM, sizes).launches) == 2
    assert len(compiled(GEMM, sizes, **mapping).launches) == 1
    assert len(compiled(GEMM, sizes, **mapping, split=4).launches) == 2


@pytest.mark.parametrize(
    ("kind", "fixed"), [*((kind, True) for kind in ATOMIC_TYPES), ("float32", False)]
)
def test_blocks_add_to_one_result(kind: str, fixed: bool) -> None:
    """Parts that do not divide the length; targets that have a value before, and others."""
    operators = ("+=!", "*=", "min=!", "max=")
    names = [f"S{k}" for k in range(len(operators))]
    lines = [f"    {n}(i) {o} X(i, n)" for n, o in zip(names, operators, strict=True)]
    text = "\n".join([f"def f({kind}(2, N) X) -> ({', '.join(names)}) {{", *lines, "}"])
    sizes = {"N": 11 if fixed else 20000}
    kernel = check(text, sizes, fixed=fixed, most=1, split=3, deterministic=False)
    assert kernel.artifact.interface.unordered == tuple(names)
    assert "workspace" not in kernel.cuda_source
    program = kernel.compilation.program
    assert program is not None
    given = {} if fixed else sizes
    run = HostDevice(check=True).check(kernel.artifact, data(program, sizes, 1), given)
    assert not run.findings


def test_blocks_add_tiles_and_others_read_the_sum() -> None:
    text = """
    def f(float(M, K) A, float(K, N) B, float(M, N) D) -> (C, E, F) {
        C(m, n) +=! A(m, k) * B(k, n)
        E(m, n) = fmax(C(m, n), 0) + D(m, n)
        F +=! E(m, n)
        C(m, n) += D(m, n) * A(m, k)
    }
    """
    kernel = check(text, {"M": 33, "N": 34, "K": 70}, split=4, deterministic=False)
    assert kernel.artifact.interface.unordered == ("C", "F")
    assert "atomicAdd(&C[" in kernel.cuda_source


def test_sums_that_no_atomic_operation_makes_have_a_second_step() -> None:
    text = "def f(float16(N) X, bool(N) Y) -> (S, T) { S +=! X(n)\n T max=! Y(n) }"
    kernel = check(text, {"N": 30}, split=3, deterministic=False)
    assert kernel.artifact.interface.unordered == ()
    assert any("`deterministic: false` has no effect" in n for n in kernel.compilation.notes)


def test_the_order_is_fixed_unless_asked_otherwise() -> None:
    kernel = compiled(TOTAL, {"N": 30}, split=3)
    assert kernel.artifact.interface.unordered == ()
    assert "atomic" not in kernel.cuda_source


def test_verify_allows_any_order_of_addition() -> None:
    """Rounding differs between the orders of the threads; blocks cannot be sampled."""
    options = Options(mapping=MappingOptions(split=7, deterministic=False))
    request = request_of(Source("f.tc", TOTAL), None, {"N": 5000}, options, None)
    outcome = verify(request, device="host", check=True, blocks=2, seed=1, awkward=0)
    assert outcome.ok, outcome.text()
    assert outcome.trials[0].blocks is None
