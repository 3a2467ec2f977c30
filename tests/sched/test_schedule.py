"""Schedules of whole programs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from tcc.frontend.specialise import specialise
from tcc.sched import schedule, tree
from tcc.sched.dependences import compute_dependences
from tcc.sched.fusion import Fusion
from tcc.sched.legality import check_tree
from tcc.sched.schedule import compute_schedule
from tcc.sched.scop import build_scop
from tcc.sched.segments import WINDOW
from tests.random_tc import RandomTc, programs
from tests.sched.programs import PROGRAMS, elaborated, model


def found(name: str, fusion: Fusion) -> tree.Node:
    return compute_schedule(*model(PROGRAMS[name]), fusion).tree


def parts(node: tree.Node) -> list[tree.Filter]:
    """What shares outer loops."""
    if isinstance(node, tree.Sequence):
        return list(node.children)
    assert isinstance(node, tree.Band)
    return [tree.Filter(tuple(node.members[0].partial), node)]


def kernels(node: tree.Node) -> list[tuple[str, ...]]:
    return [part.statements for part in parts(node)]


def bands(node: tree.Node) -> Iterator[tree.Band]:
    match node:
        case tree.Leaf():
            return
        case tree.Band(_, _, child):
            yield node
            yield from bands(child)
        case tree.Sequence(children):
            for part in children:
                yield from bands(part.child)


@pytest.mark.parametrize("fusion", Fusion)
@pytest.mark.parametrize("name", PROGRAMS)
def test_schedules_are_legal_and_loop_over_single_indices(name: str, fusion: Fusion) -> None:
    scop, dependences = model(PROGRAMS[name])
    result = compute_schedule(scop, dependences, fusion)
    assert (result.strategy, result.notes) == (fusion.value, ())
    check_tree(dependences, result.tree)
    for band in bands(result.tree):
        for member in band.members:
            for statement, value in member.partial.items():
                iterators = set(scop.by_name[statement].iterators)
                assert len(value.variables & iterators) <= 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_parallel_loops_are_outermost(name: str) -> None:
    """With no fusion every left-hand index is parallel; with it, every group has something."""
    scop, dependences = model(PROGRAMS[name])
    alone = compute_schedule(scop, dependences, Fusion.MIN).tree
    for statement in scop.statements:
        path = [b for b in bands(alone) if statement.name in b.members[0].partial]
        coincident = sum(m.coincident for b in path for m in b.members)
        assert coincident == len(statement.parallel)
    for part in parts(compute_schedule(scop, dependences, Fusion.MAX).tree):
        if any(scop.by_name[s].parallel for s in part.statements):
            assert isinstance(part.child, tree.Band)
            assert part.child.coincident_count > 0


def test_an_epilogue_is_fused() -> None:
    assert tree.text(found("matmul_bias_relu", Fusion.PRESERVE3COINCIDENT)) == (
        "band permutable\n"
        "  coincident S0_init: i, S0: i, S1: i\n"
        "  coincident S0_init: j, S0: j, S1: j\n"
        "  sequence\n"
        "    filter S0_init\n"
        "      leaf\n"
        "    filter S0\n"
        "      band permutable\n"
        "        sequential S0: k\n"
        "        leaf\n"
        "    filter S1\n"
        "      leaf\n"
    )


def test_softmax_in_one_pass_over_rows() -> None:
    assert tree.text(found("softmax", Fusion.MAX)) == (
        "band permutable\n"
        "  coincident S0_init: i, S0: i, S1: i, S2_init: i, S2: i, S3: i\n"
        "  sequence\n"
        "    filter S0_init\n"
        "      leaf\n"
        "    filter S0\n"
        "      band permutable\n"
        "        sequential S0: j\n"
        "        leaf\n"
        "    filter S2_init\n"
        "      leaf\n"
        "    filter S1, S2\n"
        "      band permutable\n"
        "        sequential S1: j, S2: j\n"
        "        sequence\n"
        "          filter S1\n"
        "            leaf\n"
        "          filter S2\n"
        "            leaf\n"
        "    filter S3\n"
        "      band permutable\n"
        "        coincident S3: j\n"
        "        leaf\n"
    )


@pytest.mark.parametrize(
    ("name", "fusion", "groups"),
    [
        ("softmax", Fusion.PRESERVE3COINCIDENT, ["S0_init S0", "S1", "S2_init S2", "S3"]),
        ("softmax", Fusion.MIN, ["S0_init S0", "S1", "S2_init S2", "S3"]),
        ("softmax", Fusion.MAX, ["S0_init S0 S1 S2_init S2 S3"]),
        ("matmul_bias_relu", Fusion.MIN, ["S0_init S0", "S1"]),
        ("stencils", Fusion.MAX, ["S0", "S1"]),
        ("mlp", Fusion.PRESERVE3COINCIDENT, ["S0 S1 S2", "S3 S4 S5", "S6 S7 S8", "S9 S10 S11"]),
        ("lstm", Fusion.PRESERVE3COINCIDENT, [" ".join(f"S{k}" for k in range(14))]),
        ("mlp", Fusion.MAX, [" ".join(f"S{k}" for k in range(12))]),
    ],
)
def test_groups(name: str, fusion: Fusion, groups: list[str]) -> None:
    assert [" ".join(g) for g in kernels(found(name, fusion))] == groups


def test_preserve_three_gives_up_a_fourth() -> None:
    """Four parallel loops each, three in common: fused by three."""
    result = compute_schedule(
        *model(
            """def f(float(A, B, C, D) X, float(D, E) Y, float(C, F) Z) -> (O) {
                T(a, b, c, e) +=! X(a, b, c, d) * Y(d, e)
                O(a, b, e, f) +=! T(a, b, c, e) * Z(c, f)
            }"""
        ),
        Fusion.PRESERVE3COINCIDENT,
    )
    assert isinstance(result.tree, tree.Band)
    assert len(result.tree.members) == 3


def test_a_transposed_use_is_aligned() -> None:
    result = compute_schedule(
        *model(
            """def f(float(N, M) X) -> (Y) {
                T(i, j) = 2.0 * X(i, j)
                Y(j, i) = T(i, j) + T(i, j)
            }"""
        ),
        Fusion.PRESERVE3COINCIDENT,
    )
    assert isinstance(result.tree, tree.Band)
    for member in result.tree.members:
        assert member.partial["S0"] == member.partial["S1"]


def test_a_strided_use_is_not_fused() -> None:
    """Fused, the second statement would run on every other iteration only."""
    result = compute_schedule(
        *model(
            """def f(float(N) X) -> (Y) {
                T(i) = 2.0 * X(i)
                Y(i) = T(2 * i) where i in 0:N / 2
            }"""
        ),
        Fusion.MAX,
    )
    assert kernels(result.tree) == [("S0",), ("S1",)]


def test_a_hang_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    scop, dependences = model(PROGRAMS["softmax"])
    answers: list[object] = []

    def no_answer(problem: object, deadline_s: float) -> None:
        answers.append((problem, deadline_s))

    monkeypatch.setattr(schedule, "solve_within", no_answer)
    result = compute_schedule(scop, dependences, Fusion.MAX, deadline_s=1.5)
    assert len(answers) == 2
    assert result.strategy == "program order"
    assert result.tree == tree.program_order(scop)
    assert result.notes == (
        "no schedule by strategy `max` within 1.5 s",
        "no schedule by strategy `max, bounded coefficients` within 1.5 s",
        "the statements run one after the other, in program order",
    )


@pytest.mark.parametrize("fusion", Fusion)
def test_fixed_sizes_are_no_harder(fusion: Fusion) -> None:
    """With proximity, isl needs minutes for this program with its sizes put in."""
    sizes = {"B": 128, "N0": 512, "N1": 1024, "N2": 1024, "N3": 512, "N4": 128}
    program = elaborated(PROGRAMS["mlp"])
    scop = build_scop(specialise(program, sizes))
    result = compute_schedule(scop, compute_dependences(scop), fusion)
    assert (result.strategy, result.notes) == (fusion.value, ())


def test_sibling_reductions_share_their_loop() -> None:
    """The four gates of an LSTM cell read one input; the squares and the values one image."""
    lstm = tree.text(found("lstm", Fusion.PRESERVE3COINCIDENT))
    assert "sequential S1: k, S4: k, S7: k, S10: k" in lstm
    assert "sequential S2: k, S5: k, S8: k, S11: k" in lstm
    norm = tree.text(found("group_norm", Fusion.MAX))
    for index in "chw":
        assert f"sequential S0: {index}, S1: {index}" in norm


def test_long_programs_are_scheduled_in_windows() -> None:
    lines = [f"T{k + 1}(i) = T{k}(i) + 1.0" for k in range(3 * WINDOW // 2)]
    text = "def f(float(N) T0) -> (Y) {" + "\n".join(lines) + f"\n Y(i) = T{len(lines)}(i) }}"
    result = compute_schedule(*model(text), Fusion.PRESERVE3COINCIDENT)
    assert [len(k) for k in kernels(result.tree)] == [WINDOW, len(lines) + 1 - WINDOW]
    assert result.notes == (f"long program: scheduled in parts of {WINDOW} statements",)


def test_schedules_do_not_hang_on_the_hash_seed() -> None:
    script = (
        "from tests.sched.programs import PROGRAMS, model\n"
        "from tcc.sched.fusion import Fusion\n"
        "from tcc.sched import schedule, tree\n"
        "for n in ('group_norm', 'lstm', 'softmax'):\n"
        "    found = schedule.compute_schedule(*model(PROGRAMS[n]), Fusion.MAX)\n"
        "    print(tree.text(found.tree))\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs(program: RandomTc) -> None:
    scop, dependences = model(program.text)
    for fusion in Fusion:
        result = compute_schedule(scop, dependences, fusion)
        check_tree(dependences, result.tree)
