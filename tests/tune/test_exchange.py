"""Measurements as JSON lines: they come back as they went, and strangers cannot do harm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcc.tune.database import Database
from tcc.tune.exchange import Unreadable, export_lines, import_lines, read_line
from tcc.tune.record import State
from tests.tune.records import RENAMED, done, key, numbered

CUBE = key(M=64, N=64, K=64)
FAILED = done(plan=numbered(2), state=State.CRASHED, reason="SIGSEGV")
FAILED = replace(FAILED, time_us=None, p10_us=None, p90_us=None)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "tunings.db") as opened:
        yield opened


def line(**changes: Any) -> str:
    (text,) = export_lines([(CUBE, done())])
    return json.dumps({**json.loads(text), **changes})


def test_another_machine_gets_the_same(database, tmp_path):
    entries = [(CUBE, done(2.0)), (CUBE, FAILED), (key(target="sm_80"), done(predicted=True))]
    for entry in entries:
        database.add(*entry)
    lines = list(export_lines(database.entries()))
    with Database(tmp_path / "other.db") as other:
        assert import_lines(other, lines).added == 3
        again = import_lines(other, ["", *lines])
        assert (again.added, again.known, again.problems) == (0, 3, ())
        found = list(other.entries())
        best = other.best(key(RENAMED, Z=64, Y=64, X=64))
    assert found == [(k, replace(m, verified=False, origin="imported")) for k, m in entries]
    assert best is not None
    assert "g_kernel" in best.plan


def test_what_is_known_here_stays(database):
    database.add(CUBE, done(5.0))
    assert import_lines(database, [line(time_us=0.001)]).known == 1
    assert database.best(CUBE) == done(5.0)


def test_own_measurements_come_before_imported_ones(database):
    import_lines(database, [line(time_us=0.001)])
    database.add(CUBE, done(5.0, numbered(1)))
    assert database.best(CUBE) == done(5.0, numbered(1))


BAD = {
    "no json": "{",
    "no object": "[1, 2]",
    "deep": "[" * 100_000,
    "long": json.dumps({"tcc_tuning": 1, "program": "x" * 500_000}),
    "another format": line(tcc_tuning=2),
    "a format that is true": line(tcc_tuning=True),
    "no program": line(program=None),
    "an escape sequence": line(program="\x1b[2J"),
    "an escape sequence in the device": line(device="H100\x1b]0;x\x07"),
    "sizes under other names": line(sizes={"M": 3}),
    "a size of 0": line(sizes={"i1": 0}),
    "a size that is a float": line(sizes={"i1": 2.5}),
    "an unknown type": line(dtypes=["float31"]),
    "a type that is a list": line(dtypes=[["float32"]]),
    "an unknown target": line(target="sm_999"),
    "a version with a path": line(emitter="../../x"),
    "names with more than letters": line(names={"i0": "A; rm -rf"}),
    "names that are no texts": line(names={"i0": 3}),
    "no plan": line(plan=None),
    "a plan with a tag": line(plan="mapping: {tile: !!python/object/apply:os.system ['id']}"),
    "a plan with an alias": line(plan="a: &a [1]\nmapping: {tile: *a}"),
    "a plan that is no mapping": line(plan="[1, 2]"),
    "a plan with sizes": line(plan="sizes: {M: 3}\nmapping: {tile: [1]}"),
    "a plan with an entry": line(plan="entry: other"),
    "a negative time": line(time_us=-1.0),
    "a time that is no number": line(time_us="3"),
    "an infinite time": line().replace('"time_us": 1.0', '"time_us": Infinity'),
    "a time beyond floats": line(time_us=10**400),
    "a time that is true": line(time_us=True),
    "no time": line(time_us=None),
    "a time without a kernel": line(state="crashed"),
    "an unknown state": line(state="great"),
    "verified by a word": line(predicted="yes"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named_and_left_out(database, name):
    done_ = import_lines(database, [line(), "", BAD[name], line(device="other")])
    assert (done_.added, [number for number, _ in done_.problems]) == (2, [3])
    assert len(list(database.entries())) == 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(line()))), VALUES)
@settings(max_examples=200, deadline=None)
def test_whatever_a_field_holds_is_read_or_refused(field, value):
    try:
        _, measurement = read_line(line(**{field: value}))
    except Unreadable:
        return
    assert not measurement.verified


@given(st.text())
@settings(max_examples=100, deadline=None)
def test_whatever_a_line_holds_is_refused(text):
    with pytest.raises(Unreadable):
        read_line(text)
