"""Data classes as bytes and back: what is read is what was written, or nothing."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tcc.affine import Affine, Floor, const, var
from tcc.api import request_of
from tcc.artifact import Artifact, Launch
from tcc.driver import compile_program
from tcc.frontend.tir import Role
from tcc.kept import Kept
from tcc.kept_form import Malformed, from_bytes, to_bytes
from tcc.options import Options
from tcc.source import Source, Span

TEXT = "def halved(float(N, M) A) -> (B) { B(i) += A(2 * i, j) }"
LAUNCH = Launch("k", (var("N"), const(1), const(1)), (32, 1, 1), 0, ("A",))


@pytest.fixture(scope="module")
def kept():
    made = compile_program(request_of(Source("<text>", TEXT), None, {}, Options(), None))
    return Kept(made.artifact, made.reference, made.plan, made.diagnostics, made.notes)


def test_what_is_written_is_read(kept):
    assert kept.diagnostics
    assert from_bytes(to_bytes(kept), Kept) == kept


def test_what_classes_compute_is_left_out():
    span = Span(Source("f.tc", "a\nb"), 2, 3)
    assert span.line == 2, "keeps the starts of the lines"
    found = from_bytes(to_bytes(span), Span)
    assert found == span
    assert vars(found.source) == {"name": "f.tc", "text": "a\nb"}


class Told:
    """Written as a call of a class, whatever its arguments."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def holding_itself() -> Affine:
    """A sum that divides itself: frozen classes do not keep bytes from saying so."""
    inner = Affine()
    object.__setattr__(inner, "terms", ((Floor(inner, 2), 1),))
    return inner


def overriding() -> Launch:
    changed = replace(LAUNCH)
    vars(changed)["kernel"] = SimpleNamespace()
    return changed


@pytest.mark.parametrize(
    "content",
    [
        5,
        None,
        Role.INPUT,
        Told(Launch, ("too", "few")),
        Told(Launch, ("k", None, (1, 1, 1), 0)),
        Told(Role, ("no such role",)),
        Told(getattr, (Role, "no_such_role")),
        overriding(),
        replace(LAUNCH, shared_bytes="16"),
        replace(LAUNCH, shared_bytes=True),
        replace(LAUNCH, block=(32, 1)),
        replace(LAUNCH, arguments=["A"]),
        replace(LAUNCH, grid=(holding_itself(),) * 3),
        Told(Launch, ("k", (Told(Artifact, ("a", "b", None)),) * 3, (1, 1, 1), 0)),
    ],
)
def test_another_form_is_no_entry(content):
    with pytest.raises(Malformed):
        from_bytes(pickle.dumps(content), Launch)


def test_parts_that_occur_again_and_again_are_looked_at_once():
    """Sixty sums of twice the one before are 2^60 sums."""
    doubled = var("N")
    for _ in range(60):
        doubled = Affine(((Floor(doubled, 2), 1), (Floor(doubled, 2), 1)), 1)
    data = to_bytes(replace(LAUNCH, grid=(doubled, doubled, doubled)))
    assert from_bytes(data, Launch).kernel == "k"


def test_damage_with_a_right_checksum_is_no_entry(kept):
    """Whatever bytes there are: a value of the class, or Malformed."""
    data, chance, refused = to_bytes(kept), random.Random(3), 0
    for _ in range(2000):
        damaged = bytearray(data)
        at = chance.randrange(len(data))
        damaged[at : at + chance.randrange(3)] = bytes([chance.randrange(256)])
        try:
            assert isinstance(from_bytes(bytes(damaged), Kept), Kept)
        except Malformed:
            refused += 1
    assert refused > 1500
