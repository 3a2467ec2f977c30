"""Schedule trees to nests: every instance runs once, in the order that the tree says."""

from __future__ import annotations

import pytest

from tcc.affine import Affine, const, var
from tcc.sched import tree
from tcc.sched.dependences import compute_dependences
from tcc.sched.fix import fix_sizes
from tcc.sched.fusion import Fusion
from tcc.sched.loop_form import LoopForm, LoopForms
from tcc.sched.nest import Nest, text
from tcc.sched.place import place
from tcc.sched.schedule import compute_schedule
from tcc.sched.scop import Scop, build_scop
from tcc.sched.structure import fresh, identity, numbered, program_order, structure
from tests.random_tc import numbered as random_program
from tests.sched.brute_force import steps
from tests.sched.programs import GEMM, PARTS, PROGRAMS, SOFTMAX, TRIANGLE, elaborated
from tests.sched.walk_nest import walk

# The ranges of statements that share loops depend on each other's loops.
CROSSED = """
def f(float(N, N) A) -> (T, U) {
    T(i, j) = A(i, j)
    U(i) +=! T(i, i)
    T(i, j) max=! A(l, i) where j in 0:N, l in j:N
    T(i, j) = T(i, j) + A(j, i) where i in 0:N, j in 2:3
}
"""


def nests(text: str) -> tuple[Scop, list[Nest]]:
    """The nests of a program for every way to fuse, in program order, and of one thread."""
    scop = build_scop(elaborated(text))
    found = compute_dependences(scop)
    trees = (compute_schedule(scop, found, f).tree for f in Fusion)
    return scop, [*(structure(scop, t) for t in trees), program_order(scop), identity(scop)]


def check(scop: Scop, nest: Nest, sizes: dict[str, int]) -> None:
    """All instances of the program once; and `place` says when and where they run."""
    visits = list(walk(nest, scop, sizes))
    ran = [(v.statement, v.point) for v in visits]
    assert sorted(ran) == sorted(s for s, _, _ in steps(scop.program, sizes))
    placed = place(nest)
    iterators = {s.name: s.iterators for s in scop.statements}
    times: list[tuple[object, ...]] = []
    for visit in visits:
        at = {**sizes, **dict(zip(iterators[visit.statement], visit.point, strict=True))}
        placement = placed[visit.statement]
        assert (placement.kernel, visit.parallel) == (
            visit.kernel,
            tuple(p.evaluate(at) for p in placement.parallel),
        )
        time = tuple(t.evaluate(at) for t in placement.time)
        times.append((visit.kernel, visit.parallel, time))
    assert times == sorted(times)


@pytest.mark.parametrize("name", [*PROGRAMS, "crossed"])
def test_programs(name: str) -> None:
    scop, found = nests(CROSSED if name == "crossed" else PROGRAMS[name])
    sizes = {s: 2 + k % 2 for k, s in enumerate(scop.program.sizes)}
    for nest in found:
        check(scop, nest, sizes)
        for kernel in nest.kernels:
            known = set(scop.program.sizes)
            for dim in kernel.parallel:
                assert dim.low.variables | dim.high.variables <= known


# Programs with few instances.
SEEDS = [s for s in range(30) if max(random_program(s, 5).sizes.values(), default=0) < 10]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    random = random_program(seed, 5)
    scop, found = nests(random.text)
    for nest in found:
        check(scop, nest, {**dict.fromkeys(scop.program.sizes, 1), **random.sizes})


def test_kernels_have_parallel_dimensions_in_the_order_of_the_left_side() -> None:
    found = nests(GEMM)[1]
    for nest in found[:-1]:
        assert [[d.name for d in k.parallel] for k in nest.kernels] == [["i", "j"]]
    assert found[-1].kernels[0].parallel == ()
    assert text(found[0]).splitlines()[0] == "kernel gemm_kernel"


def test_program_order_has_one_kernel_a_statement() -> None:
    scop = build_scop(elaborated(PARTS))
    nest = program_order(scop)
    assert [k.name for k in nest.kernels] == [f"parts_kernel{n}" for n in range(4)]
    single = numbered("parts", nest.kernels[:1])
    assert single[0].name == "parts_kernel"


def test_scalar_statements_share_a_kernel() -> None:
    scop = build_scop(elaborated("def f(float(N) X) -> (a, b) { a +=! X(n)\n b = a / N }"))
    assert len(program_order(scop).kernels) == 1


def test_sizes_are_put_in_everywhere() -> None:
    scop, found = nests(TRIANGLE)
    for nest in found:
        fixed = fix_sizes(nest, {"N": 5})
        check(scop, fixed, {"N": 5})
        assert "N" not in text(fixed)


def test_fixing_no_size_changes_nothing() -> None:
    found = nests(SOFTMAX)[1]
    assert fix_sizes(found[0], {}) == found[0]


def test_fresh_names() -> None:
    assert fresh("i", frozenset()) == "i"
    assert fresh("i", frozenset(("i", "i_1"))) == "i_2"


def test_dimension_extents() -> None:
    found = nests(GEMM)[1]
    assert [d.extent for d in found[0].kernels[0].parallel] == [var("M"), var("N")]
    assert fix_sizes(found[0], {"M": 3}).kernels[0].parallel[0].extent == const(3)


# -- loops over sums -----------------------------------------------------------------------

ANY = LoopForm(skewed=True)
DIAGONALS = """
def f(float(N, M, K) A) -> (U) {
    T(i, j, k) = A(i, j, k) * 2.0
    U(i, j, k) = T(i + 1, j, k) + T(i, j + 1, k) + T(i, j, k + 1)
}
"""
TRIANGLE_SUMS = """
def f(float(N, N) A) -> (S) {
    T(i, j) = A(i, j) * A(i, j)
    S(k) +=! T(k - j, j) where k in 0:N, j in 0:k + 1
}
"""
TWISTED = """
def f(float(B, N, N) X) -> (Y) {
    T(b, i, j) = X(b, i, j)
    U(b, i, j) = T(b, j, i)
    Y(b, i, j) = U(b, i, j) + T(b, i, j)
}
"""


@pytest.mark.parametrize("forms", [LoopForms(ANY, ANY), LoopForms(LoopForm(), ANY)])
@pytest.mark.parametrize("program", [DIAGONALS, TRIANGLE_SUMS, TWISTED])
def test_skewed_schedules(program: str, forms: LoopForms) -> None:
    scop = build_scop(elaborated(program))
    found = compute_schedule(scop, compute_dependences(scop), Fusion.MAX, forms=forms)
    nest = structure(scop, found.tree)
    assert nest.notes == ()
    check(scop, nest, {s: 3 + k for k, s in enumerate(scop.program.sizes)})
    names = {d.name for kernel in nest.kernels for d in kernel.parallel}
    if forms.outer == ANY:
        assert any("_" in name for name in names)
        assert len(nest.kernels) == 1


def members(*values: Affine) -> tree.Node:
    """Both statements of a program in one band over these values."""
    band = tuple(tree.Member({"S0": v, "S1": v}, coincident=True) for v in values)
    parts = tuple(tree.Filter((s,), tree.Leaf()) for s in ("S0", "S1"))
    return tree.Band(band, True, tree.Sequence(parts))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((var("i") + var("j"), var("i")), ""),
        ((var("j") - var("i"), var("j")), ""),
        ((-var("i") - var("j"), -var("j")), ""),
        ((var("i") + var("j"), var("i") - var("j")), "a loop runs over a multiple of an index"),
        ((var("i") + var("j") * 2, var("j")), "a loop runs over a multiple of an index"),
        ((var("i") + var("j") // 2, var("j")), "a loop runs over a quotient of an index"),
    ],
)
def test_bands_over_sums(values: tuple[Affine, ...], why: str) -> None:
    scop = build_scop(
        elaborated("def f(float(N, M) A) -> (B, C) { B(i, j) = A(i, j) C(i, j) = A(i, j) }")
    )
    nest = structure(scop, members(*values))
    assert nest.notes == ((f"S0, S1: {why}; in program order",) if why else ())
    check(scop, nest, {"N": 4, "M": 3})
