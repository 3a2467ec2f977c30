"""Each way in which isl is known to crash, hang or answer nonsense, and what tcc does about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcc
from tcc.affine import Affine, Product, Var, const, lift, maximum, minimum, var
from tcc.errors import InternalError
from tcc.sched import islx, read_schedule

PACKAGE = Path(tcc.__file__).parent
PARAMETERS = islx.Parameters(("N", "M"))
SPACE = islx.Space(PARAMETERS, "S", ("i", "j"))


def sources() -> list[tuple[str, str]]:
    return [(p.name, p.read_text()) for p in sorted(PACKAGE.rglob("*.py"))]


@pytest.mark.parametrize(
    "call",
    [
        "foreach_",
        "every_descendant",
        "map_descendant_bottom_up",
        "set_at_each_domain",
        "set_before_each_",
        "set_after_each_",
        "get_annotation",
    ],
)
def test_no_python_runs_inside_isl(call: str) -> None:
    """An exception in a callback, or a callback not kept alive, is a segmentation fault."""
    assert [name for name, text in sources() if call in text and name != "islx.py"] == []


@pytest.mark.parametrize("call", [r"isl\.Id\(", r"isl\.Context\(", r"max_operations"])
def test_other_calls_that_mislead(call: str) -> None:
    """An Id of ours is another parameter; two contexts don't mix; operations bound no time."""
    assert [name for name, text in sources() if re.search(call, text)] == []


def test_only_the_scheduler_imports_isl() -> None:
    imports = re.compile(r"^\s*(import|from) islpy", re.MULTILINE)
    importers = {p.parent.name for p in PACKAGE.rglob("*.py") if imports.search(p.read_text())}
    assert importers == {"sched"}


def test_a_parameter_is_the_same_wherever_it_is_made() -> None:
    ours = SPACE.set(["0 <= i < N"]).intersect(isl.Set("[N] -> { S[i, j] : i < N and j > N }"))
    assert ours.dim(isl.dim_type.param) == 2


@pytest.mark.parametrize("word", sorted(islx._RESERVED))
@pytest.mark.parametrize("change", [str.lower, str.upper, str.capitalize])
def test_words_of_isl_are_names(word: str, change: Callable[[str], str]) -> None:
    name = change(word)
    parameters = islx.Parameters((name, "N"))
    space = islx.Space(parameters, "S0", (f"{name}_", "i"))
    found = space.set([f"{space.text(var(name))} <= {space.text(var(name + '_'))}"])
    relation = space.relation(name, [var(name) + var(f"{name}_")])
    assert isl.Set(str(found)).is_equal(found)
    assert isl.Map(str(relation)).is_equal(relation)
    assert parameters.values[islx.spell(name)] == var(name)


def test_spelling_keeps_names_apart() -> None:
    names = ["or", "or_", "or__", "Or", "order", "N", "N_"]
    assert len({islx.spell(n) for n in names}) == len(names)
    assert islx.spell("N") == "N"


def test_options_are_set_completely_before_each_use() -> None:
    """They live in the one context, so a forgotten one would keep an earlier value."""
    setters = {n for n in dir(isl.DEFAULT_CONTEXT) if n.startswith("set_schedule_")}
    assert {f"set_schedule_{f}" for f in islx.ScheduleOptions.__dataclass_fields__} == setters
    islx.ScheduleOptions(max_coefficient=3, serialize_sccs=1).install()
    islx.ScheduleOptions().install()
    assert isl.DEFAULT_CONTEXT.get_schedule_max_coefficient() == -1
    assert isl.DEFAULT_CONTEXT.get_schedule_serialize_sccs() == 0


def test_schedules_travel_as_text() -> None:
    domain = SPACE.set(["0 <= i < N", "0 <= j < M"]).to_union_set()
    schedule = isl.Schedule.from_domain(domain)
    assert str(islx.parse_schedule(str(schedule))) == str(schedule)


def test_a_node_of_an_unknown_type_is_refused() -> None:
    """On the wrong node type isl answers -1 instead of failing."""
    domain = SPACE.set(["0 <= i < N"]).to_union_set()
    root = isl.Schedule.from_domain(domain).get_root()
    assert root.band_n_member() == -1
    marked = root.child(0).insert_mark(isl.Id.read_from_str(isl.DEFAULT_CONTEXT, "m"))
    reader = read_schedule._Reader.__new__(read_schedule._Reader)
    with pytest.raises(InternalError, match="node of type"):
        reader._node(marked, ("S",))


# -- texts and values ----------------------------------------------------------------------


def expressions(names: list[str]) -> st.SearchStrategy[Affine]:
    leaves = st.one_of(st.sampled_from(names).map(var), st.integers(-9, 9).map(const))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(inner, st.integers(-4, 4)).map(lambda p: p[0] * p[1]),
            st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] // p[1]),
            st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] % p[1]),
        ),
        max_leaves=6,
    )


@given(expressions(["i", "j", "N"]), st.integers(-7, 7), st.integers(-7, 7), st.integers(1, 9))
def test_quasi_affine_expressions_survive_isl(form: Affine, i: int, j: int, n: int) -> None:
    back = SPACE.affine(SPACE.vector([form]).as_pw_multi_aff().get_at(0))
    values = {"i": i, "j": j, "N": n}
    assert back.evaluate(values) == form.evaluate(values)


@given(expressions(["i", "N"]), expressions(["j"]), st.integers(-5, 5), st.integers(-5, 5))
def test_minima_and_maxima_mean_the_same_to_isl(a: Affine, b: Affine, i: int, j: int) -> None:
    form = minimum(a, b) + 2 * maximum(b, 3)
    value = form.evaluate({"i": i, "j": j, "N": 4})
    at = SPACE.set([f"i = {i}", f"j = {j}", "N = 4"])
    image = SPACE.vector([form]).intersect_domain(at).range()
    assert image.intersect_params(PARAMETERS.fixed({"N": 4})).is_equal(
        isl.Set(f"[N, M] -> {{ [{value}] : N = 4 }}")
    )


def test_a_schedule_of_several_pieces_is_a_fault() -> None:
    pieces = isl.PwAff("[N, M] -> { S[i, j] -> [(i)] : i > 0; S[i, j] -> [(j)] : i <= 0 }")
    with pytest.raises(InternalError, match="2 pieces"):
        SPACE.affine(pieces)


def test_products_are_parameters_of_their_own() -> None:
    product = Product((Var("M"), Var("N")))
    parameters = islx.Parameters(("M", "N", "product0"), (product,))
    size = Affine(((product, 1),))
    assert list(parameters.values.values()) == [var("M"), var("N"), var("product0"), size]
    assert parameters.text(size + 1) == "product0_ + 1"
    assert parameters.context().is_subset(parameters.set(["product0_ >= M"]))
    fixed = parameters.fixed({"M": 3, "N": 5})
    assert fixed.is_equal(parameters.set(["M = 3", "N = 5", "product0_ = 15"]))
    with pytest.raises(InternalError, match="no parameter"):
        PARAMETERS.text(size)


def test_a_subscript_of_data_reaches_the_whole_dimension() -> None:
    relation = SPACE.relation("A", [var("i"), None], [(lift(0), lift(0)), (lift(2), var("N"))])
    assert relation.is_equal(isl.Map("[N, M] -> { S[i, j] -> A[i, a] : 2 <= a < N }"))


def test_smallest_point_prefers_small_parameters() -> None:
    values = isl.Set("[N, M] -> { S[i] : N + M >= 5 and 0 <= i < N and i >= M and M >= 1 }")
    assert islx.smallest_point(values) == ({"N": 3, "M": 2}, (2,))
    assert islx.smallest_point(isl.Set("[N] -> { : N >= 4 }")) == ({"N": 4}, ())
    assert islx.smallest_point(isl.Set("{ S[i] : false }")) is None
    pairs = isl.Map("[N] -> { S[i, j] -> S[j, i] : 0 <= i < N and 0 <= j < N and i != j }")
    assert islx.smallest_point(pairs.wrap()) == ({"N": 2}, (0, 1, 1, 0))


def test_inequalities() -> None:
    def forms(text: str) -> tuple[Affine, ...]:
        return islx.inequalities(PARAMETERS, isl.Set(f"[N, M] -> {{ : {text} }}"))

    assert forms("N >= 2*M + 1") == (var("N") - 2 * var("M") - 1,)
    assert set(forms("N = M")) == {var("N") - var("M"), var("M") - var("N")}
    (either,) = forms("N >= M + 2 or N <= M - 2")
    assert str(either) == "max(M - N - 2, N - M - 2)"
    assert set(map(str, forms("N mod 2 = 0"))) == {"N % 2", "-(N % 2)"}
    assert forms("N >= M or N < M") == ()
    assert forms("false") == (const(-1),)


@pytest.mark.parametrize(
    "text",
    [
        "N mod 3 = 1 or M <= 4",
        "exists (e : N = 3 e + M and e >= 2)",
        "exists (e : 2 e <= N and 3 e >= M)",
        "N < floor(M / 2) or (M >= 3 and N >= 7)",
    ],
)
def test_inequalities_mean_the_set(text: str) -> None:
    values = isl.Set(f"[N, M] -> {{ : {text} }}")
    forms = islx.inequalities(PARAMETERS, values)
    for n, m in product(range(1, 12), range(1, 12)):
        at = isl.Set(f"[N, M] -> {{ : N = {n} and M = {m} }}")
        holds = all(f.evaluate({"N": n, "M": m}) >= 0 for f in forms)
        assert holds == at.is_subset(values), (n, m)
