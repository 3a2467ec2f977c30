"""Suggestions for misspelt names."""

import pytest

from tcc.frontend.suggest import LONGEST, MOST_CANDIDATES, closest, suggestion


@pytest.mark.parametrize(
    ("name", "candidates", "found"),
    [
        ("Wieght", ("Weight", "Bias"), "Weight"),
        ("weight", ("Weight",), "Weight"),
        ("n", ("N", "M"), "N"),
        ("x", ("y", "z"), None),
        ("ab", ("ac",), None),
        ("abc", ("abd",), "abd"),
        ("abcdef", ("abcdxy", "abxxyz"), "abcdxy"),
        ("abc", ("abc",), None),
        ("sqr", ("sin", "sqrt"), "sqrt"),
        ("Bias", (), None),
        ("momentumm", ("momentum", "momentums"), "momentum"),
        ("abcdefghijklmno", ("abcdefghijABCDE", "bacdfeghijlkmn"), "bacdfeghijlkmn"),
        ("abcdefghijklmno", ("vwxyzfghijklmno",), None),
    ],
)
def test_closest(name, candidates, found):
    assert closest(name, candidates) == found
    assert suggestion(name, candidates) == ((f"did you mean `{found}`?",) if found else ())


def test_a_search_is_as_long_however_many_names_there_are():
    """An editor waits for one search for each of 3,000 broken defs."""
    names = iter([f"f{i}" for i in range(10 * MOST_CANDIDATES)])
    assert closest("g12x", names) is None
    assert next(names) == f"f{MOST_CANDIDATES}"


def test_very_long_names_are_not_compared():
    name = "A" * 30_000
    assert closest(name, (name + "B", "A" * 99)) is None
    assert closest("A" * (LONGEST - 1), ("A" * LONGEST,)) == "A" * LONGEST
