"""The table of predicted times: made, kept, and the documented one complete."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from bench.predicted import DOCUMENT, SETS, documented, main, measure
from bench.tables import part_of, rows_of

NAMES = [e["name"] for e in yaml.safe_load(SETS.read_text())]
SUM = next(e for e in yaml.safe_load(SETS.read_text()) if e["name"] == "Sum_2D_1D_N_128_K_2304")


def test_a_row_without_a_search():
    row = measure(SUM, "sm_90", 0)
    assert 0.9 < row.default_us < 10
    assert row.published_us is not None
    assert (row.best_us, row.tried) == (None, None)
    assert row.cells()[0] == "sum"
    assert len(row.cells()) == 7


@pytest.mark.slow
def test_a_row_with_a_search():
    row = measure(SUM, "sm_90", 15)
    assert row.best_us is not None
    assert row.best_us <= row.default_us
    assert row.tried >= 1


def test_a_run_is_continued(tmp_path, capsys):
    kept = tmp_path / "rows.json"
    words = ["--time", "0", "--json", str(kept), SUM["name"]]
    assert main(words) == 0
    rows = json.loads(kept.read_text())
    rows[0]["default_us"] = 123.0
    kept.write_text(json.dumps(rows))
    capsys.readouterr()
    assert main(words) == 0
    assert "123 us" in capsys.readouterr().out


def test_rows_of_the_document_are_replaced_one_by_one():
    text = DOCUMENT.read_text("utf-8")
    row = replace(measure(SUM, "sm_90", 0), default_us=123.0)
    caption = part_of(text, "predicted").strip().splitlines()[0]
    old = rows_of(part_of(text, "predicted"))
    new = rows_of(part_of(documented(text, [row], caption, partly=True), "predicted"))
    changed = [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert [new[k] for k in changed] == [row.cells()]
    assert old[changed[0]][:2] == row.cells()[:2]


def test_rows_of_another_search_are_not_mixed(capsys):
    before = DOCUMENT.read_text("utf-8")
    words = ["--arch", "sm_80", "--time", "0", "--write-docs", SUM["name"]]
    assert main(words) == 2
    assert "the other rows are" in capsys.readouterr().err
    assert DOCUMENT.read_text("utf-8") == before


def test_the_documented_table_has_every_set():
    part = DOCUMENT.read_text("utf-8").split("<!-- measured: predicted -->")[1].split("<!-- end")[0]
    rows = [line for line in part.splitlines() if " us |" in line]
    assert len(rows) == len(NAMES)
    assert "none measured" in part
