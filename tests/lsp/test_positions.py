"""Positions of editors: there and back, in every encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcc.lsp.positions import Positions

TEXTS = st.text(st.sampled_from("ab\n\r\u00e9\u2028\U0001f600"), max_size=20)


@given(TEXTS, st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
def test_there_and_back(text, encoding, data):
    positions = Positions(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] != "\r\n":  # no position is inside of a line break
        assert positions.offset(*positions.of(offset)) == offset


@pytest.mark.parametrize(
    ("position", "offset"), [((0, 0), 0), ((0, 9), 2), ((1, 1), 5), ((7, 7), 5), ((1, 0), 4)]
)
def test_positions_out_of_the_text_are_at_its_ends(position, offset):
    assert Positions("ab\r\nc").offset(*position) == offset


def test_half_a_character():
    assert Positions("\U0001f600b").offset(0, 1) == 0
    assert Positions("\U0001f600b", "utf-8").offset(0, 4) == 1
