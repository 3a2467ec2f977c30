"""Suggestions for misspelt names."""

import pytest

from tcc.frontend.suggest import closest, suggestion


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
    ],
)
def test_closest(name, candidates, found):
    assert closest(name, candidates) == found
    assert suggestion(name, candidates) == ((f"did you mean `{found}`?",) if found else ())
