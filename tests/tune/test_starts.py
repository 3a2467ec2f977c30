"""Plans that a search starts from keep what the user demands of every plan."""

from __future__ import annotations

from tcc.tune.starts import Starts
from tests.tune.records import request

GATHER = "def f(float(N, D) A, int(M) I) -> (B) { B(m, d) = A(I(m), d) }"


def test_a_plan_of_the_database_is_taken_under_the_demands_of_the_request() -> None:
    starts = Starts(request(GATHER, "mapping: {check_bounds: true, max_shared_memory: 16384}"))
    found = starts.of_text("mapping: {check_bounds: false, max_shared_memory: 49152}")
    assert found is not None
    mapping = starts.structures.all[found.structure].mapping
    assert (mapping.check_bounds, mapping.max_shared_memory) == (True, 16384)
    assert len(starts.structures.all) == 1
