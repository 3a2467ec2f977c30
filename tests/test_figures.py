"""The drawings of the documents are what the code draws."""

from __future__ import annotations

import pytest

from tests.figures import FIGURES, FOLDER


@pytest.mark.parametrize("name", FIGURES)
def test_a_drawing_is_up_to_date(name):
    assert (FOLDER / f"{name}.svg").read_text("utf-8") == FIGURES[name](), "run `make docs`"
