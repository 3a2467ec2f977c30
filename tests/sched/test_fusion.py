"""Searches that keep what can be fused of what cannot be fused as a whole."""

from __future__ import annotations

import pytest

from tcc.sched import tree
from tcc.sched.fusion import Fusion, solve
from tcc.sched.islx import ScheduleOptions, set_names
from tcc.sched.schedule import _problem, compute_schedule
from tests.sched.programs import PROGRAMS, model

# Any two of these can be aligned, but not all three.
TWISTED = """def f(float(N, N) X) -> (Y) {
    T(i, j) = X(i, j)
    U(i, j) = T(j, i)
    Y(i, j) = U(i, j) + T(i, j)
}"""


@pytest.mark.parametrize("fusion", [Fusion.MAX, Fusion.PRESERVE3COINCIDENT])
def test_the_first_two_are_fused(fusion: Fusion) -> None:
    """A common loop over i + j would keep one parallel loop, over no single index."""
    found = compute_schedule(*model(TWISTED), fusion).tree
    assert isinstance(found, tree.Sequence)
    assert [f.statements for f in found.children] == [("S0", "S1"), ("S2",)]
    for part in found.children:
        assert isinstance(part.child, tree.Band)
        assert part.child.coincident_count == 2


@pytest.mark.parametrize("name", ["matmul_bias_relu", "softmax", "group_norm"])
def test_every_statement_is_in_one_schedule(name: str) -> None:
    scop, found = model(PROGRAMS[name])
    clusters = [p.statements for p in tree.source_statements(scop)]
    fusion = Fusion.PRESERVE3COINCIDENT
    problem = _problem(scop, found, [clusters], fusion, ScheduleOptions())
    (schedules,) = solve(problem)
    names = [n for s in schedules for n in set_names(s.get_domain())]
    assert sorted(names) == sorted(s.name for s in scop.statements)


def test_values_of_the_options_file() -> None:
    assert {f.value for f in Fusion} == {"max", "preserve3coincident", "min"}
