"""Outputs of commands other than `compile`, which has its own tests in test_cli."""

from __future__ import annotations

import pytest

from tcc.cli import main

COPY = "def copy(float(N) A) -> (B) { B(i) = A(i) }\n"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "copy.tc", "--inputs", "in.npz", "--outputs", "./in.npz"),
        ("run", "copy.tc", "--inputs", "in.npz", "--outputs", "copy.tc"),
        ("explain", "copy.tc", "--html", "./copy.tc"),
    ],
)
def test_an_input_is_not_overwritten(tmp_path, monkeypatch, capfd, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy.tc").write_text(COPY)
    (tmp_path / "in.npz").write_text("arrays")
    assert main(words) == 2
    assert "is an input and would be overwritten" in capfd.readouterr().err
    assert (tmp_path / "copy.tc").read_text() == COPY
    assert (tmp_path / "in.npz").read_text() == "arrays"
