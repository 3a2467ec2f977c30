"""What every finding has to say: where, what is there, and what to do about it."""

from __future__ import annotations

from tcc.diagnostics import Diagnostic


def assert_teaches(found: Diagnostic) -> None:
    """It has a label and a help, which have the form that all have."""
    assert found.primary.text, found
    assert found.help, found
    for text in (found.primary.text, *found.help):
        assert text.count("`") % 2 == 0, found
        assert not text.endswith("."), found
        assert text == text.strip(), found
