"""Keys of requests, and plans under canonical names."""

from __future__ import annotations

import pytest

from tcc import __version__
from tcc.api import request_of
from tcc.driver import compile_program
from tcc.errors import CompileError
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.source import Source
from tcc.tune.key import from_canonical, key_of, mapping_text, to_canonical
from tests.tune.records import MATMUL, RENAMED, key, request

TWO = """
def scale(float(N) A) -> (B) { B(i) = 2.0 * A(i) }
def twice(float(M) X) -> (Z) { Y = scale(X)
    Z(j) = Y(j) + X(j) }
"""


def of(text, entry=None, **sizes):
    return key_of(request_of(Source("<test>", text), entry, sizes, Options(), None))


def test_what_a_key_has():
    found = key(M=3, K=5)
    assert found.spelled_sizes == {"M": 3, "K": 5}
    assert found.dtypes == ("float32", "float32")
    assert (found.target, found.emitter, found.entry) == ("sm_90", __version__, "mm")
    assert found.digest == key(K=5, M=3).digest != key(M=3, K=6).digest
    assert len(found.digest) == 8


def test_renamed_programs_share_their_key():
    assert key(M=3, K=5) == key(RENAMED, Z=3, X=5)
    assert hash(key(M=3)) == hash(key(RENAMED, Z=3))
    assert key(M=3).digest == key(RENAMED, Z=3).digest
    assert key(M=3) != key(RENAMED, X=3)


def test_the_entry_and_what_it_calls_make_the_key():
    called = of(TWO, "twice", M=7)
    assert of(TWO, M=7) == called, "the only def that no other one calls"
    assert of(TWO.replace("scale(X)", "X").replace("Y(j)", "X(j)")) is None, "one of two is meant"
    assert called.spelled_sizes == {"M": 7}
    assert called != of(TWO.replace("2.0", "3.0"), "twice", M=7)
    alone = of(TWO, "scale")
    assert alone == of(TWO.split("def twice", maxsplit=1)[0])
    assert of(TWO, "missing") is None
    with pytest.raises(CompileError):
        of("def (")


def test_names_of_calls_do_not_count():
    other = TWO.replace("scale", "g").replace("twice", "h").replace("Y", "T").replace("M", "L")
    assert of(TWO, "twice", M=7) == of(other, "h", L=7)


PLAN = """
preset: mlp
mapping:
  tile: [4, 8]
  staging: {A: shared, B: global}
  kernels: [[C]]
  plan:
    mm_kernel0:
      parallel: {m: [block.y, thread.y 16], n_2: [block.x]}
      loops: {k: [tile 8]}
      staging: {B: shared}
      pipeline: 2
"""


def test_plans_there_and_back():
    here, there = key(MATMUL), key(RENAMED)
    canonical = to_canonical(PLAN, here)
    assert to_canonical(from_canonical(canonical, here), here) == canonical
    other = options_of_source(Source("<test>", from_canonical(canonical, there)))
    mine = options_of_source(Source("<test>", PLAN))
    assert other.preset == mine.preset
    assert other.mapping.tile == mine.mapping.tile
    assert other.mapping.staging == {"Q": "shared", "R": "global"}
    assert other.mapping.kernels == (("S",),)
    (kernel,) = other.mapping.plan
    assert kernel == "g_kernel0"
    found = other.mapping.plan[kernel]
    assert list(found.parallel) == ["i", "n_2"], "names that are no names of the program stay"
    assert list(found.loops) == ["r"]
    assert found.staging == {"R": "shared"}


def test_a_def_may_have_the_name_of_a_tensor():
    text = MATMUL.replace("mm", "A_").replace("(C)", "(mm)").replace("C(m", "mm(m")
    plan = PLAN.replace("mm_kernel0", "A__kernel0").replace("[[C]]", "[[mm]]")
    found = from_canonical(to_canonical(plan, key(text)), key(RENAMED))
    assert "g_kernel0" in found
    assert '"S"' in found


def test_plans_that_the_compiler_prints_are_read_again():
    made = compile_program(request(MATMUL, M=64, N=64, K=64))
    text = "mapping:\n" + "".join(f"  {line}\n" for line in made.plan.text().splitlines())
    stored = from_canonical(to_canonical(text, key(MATMUL)), key(MATMUL))
    again = compile_program(request(MATMUL, stored, M=64, N=64, K=64))
    assert again.plan == made.plan
    renamed = from_canonical(to_canonical(text, key(MATMUL)), key(RENAMED))
    other = compile_program(request(RENAMED, renamed, Z=64, Y=64, X=64))
    assert other.artifact.cuda_source.count("__syncthreads") == (
        made.artifact.cuda_source.count("__syncthreads")
    )


def test_text_of_a_mapping():
    assert mapping_text({"tile": [1, 2], "staging": {}, "plan": {"k": {"row": ["keep"]}}}) == (
        'mapping:\n  tile: [1, 2]\n  staging: {}\n  plan:\n    k:\n      row: ["keep"]\n'
    )
