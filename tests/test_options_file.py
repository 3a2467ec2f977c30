"""Options files: what they say, what is wrong with them, and that nothing in them crashes."""

import random
import re
import time

import pytest

from tcc.diagnostics import Report
from tcc.options import KernelOptions, MappingOptions, Options, VerifyOptions, given, spell
from tcc.options_file import MAX_CHARACTERS, read_options
from tcc.source import Source
from tests.teaching import assert_teaches

PASTED = re.compile(r"(?:write|for example:) `(?:\w+: )?(.*)`")
"""Helps that say what to write in place of what is wrong."""


def read(text):
    report = Report()
    return read_options(Source("m.yaml", text), report), report.items


def test_a_complete_file():
    options, found = read(
        """\
# everything at once
entry: matmul
target: sm_80
sizes: {M: 1024, N: 7}
preset: naive
mapping:
  outer_schedule_fusion_strategy: max
  tile: [32, 0, 8]
  threads:
    - 32   # x
    - 8
  use_shared_memory: true
  unroll: ~
  vector: 4
  staging: {A: shared, B: "register"}
  kernels: [[A, B], [C]]
  plan:
    matmul_kernel:
      parallel: {m: [block.x, thread.x 16]}
      staging: {A: shared}
      rolled_copies: true
verify:
  seed: 7
  sizes: [{M: 3}]
  inputs: {A: [-1, 1.5e0]}
  relative_tolerance: 1e-3
"""
    )
    assert found == ()
    assert options == Options(
        entry="matmul",
        target="sm_80",
        sizes={"M": 1024, "N": 7},
        preset="naive",
        mapping=MappingOptions(
            outer_schedule_fusion_strategy="max",
            tile=(32, 0, 8),
            threads=(32, 8),
            use_shared_memory=True,
            vector=4,
            staging={"A": "shared", "B": "register"},
            kernels=(("A", "B"), ("C",)),
            plan={
                "matmul_kernel": KernelOptions(
                    parallel={"m": ("block.x", "thread.x 16")},
                    staging={"A": "shared"},
                    rolled_copies=True,
                )
            },
        ),
        verify=VerifyOptions(
            seed=7, sizes=({"M": 3},), inputs={"A": (-1.0, 1.5)}, relative_tolerance=1e-3
        ),
    )


def test_what_is_given_reads_back():
    options, _ = read("sizes: {M: 4}\nmapping: {tile: [4, 8], use_shared_memory: false}\n")
    again, found = read(spell(given(options)))
    assert (again, found) == (options, ())


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "mapping:\n", "mapping: {}\n", "~"])
def test_nothing_given(text):
    assert read(text) == (Options(), ())


def test_places_are_remembered():
    options, _ = read("sizes: {M: 4}\nmapping:\n  tile: [4,\n    8]\n  threads:\n  - 1\n\n# end\n")
    assert options.place("sizes.M").text == "4"
    assert options.place("mapping.tile").text == "[4,\n    8]"
    assert options.place("mapping.threads").text == "- 1"
    assert options.place("mapping.tile[1]").line == 4


@pytest.mark.parametrize(
    ("text", "code", "place", "fragment", "help"),
    [
        ("mapping:\n  tille: [1]", "E0501", (2, 3), "`tille`", "write `tile`"),
        ("mapping:\n  grid: [1]", "E0501", (2, 3), "`grid`", "write `blocks`"),
        ("mapping: {mapToThreads: 1}", "E0501", (1, 11), "", "write `threads`"),
        ("mapping: {useSharedMemory: 1}", "E0501", (1, 11), "", "write `use_shared_memory`"),
        ("tile: [1]", "E0501", (1, 1), "`tile`", "move it below `mapping:`"),
        ("mapping: {target: sm_80}", "E0501", (1, 11), "", "move it to the left margin"),
        ("mapping: {zzz: 1}", "E0501", (1, 11), "`zzz`", None),
        ("- 1", "E0502", (1, 1), "needs a table", None),
        ("mapping: 3", "E0502", (1, 10), "`mapping` needs a table", None),
        ("mapping: {tile: 4}", "E0502", (1, 17), "list", "write `tile: [4]`"),
        ("mapping: {tile: '4,8'}", "E0502", (1, 17), "list", "write `tile: [4, 8]`"),
        ("mapping: {threads: [32:4]}", "E0502", (1, 21), "integer", None),
        ("mapping: {unroll: 010}", "E0502", (1, 19), "integer", "write `10`"),
        ("mapping: {unroll: 1e3}", "E0502", (1, 19), "integer", None),
        ("mapping: {unroll: '8'}", "E0502", (1, 19), "integer", None),
        ("mapping: {tile: [1, ~]}", "E0502", (1, 21), "at every place", None),
        ("mapping: {use_shared_memory: yes}", "E0502", (1, 30), "`true`", "write `true`"),
        ("sizes: {1: 1}", "E0502", (1, 9), "a key needs to be a name", None),
        ("sizes: {[a]: 1}", "E0502", (1, 9), "a key needs to be a name", None),
        ("entry: [a]", "E0502", (1, 8), "def name", None),
        ("entry: ''", "E0502", (1, 8), "def name", None),
        ("preset: [naive]", "E0502", (1, 9), "needs", None),
        ("sizes: {M: 0}", "E0503", (1, 12), "from 1 to 2147483647", None),
        ("sizes: {M: 2147483648}", "E0503", (1, 12), "from 1 to", None),
        (f"sizes: {{M: {'9' * 6000}}}", "E0503", (1, 12), "from 1 to", None),
        ("mapping: {threads: [1, 1, 65]}", "E0503", (1, 27), "from 1 to 64", None),
        ("mapping: {threads: [1, 1, 1, 1]}", "E0503", (1, 20), "1 to 3", None),
        ("mapping: {tile: []}", "E0503", (1, 17), "1 to 64", None),
        ("verify: {relative_tolerance: 1e999}", "E0503", (1, 30), "", None),
        ("verify: {relative_tolerance: -1}", "E0503", (1, 30), "at least 0", None),
        ("entry: a\nentry: b", "E0504", (2, 1), "`entry` is given twice", None),
        ("sizes: {M: 1, M: 1}", "E0504", (1, 15), "`sizes.M` is given twice", None),
        ("mapping: [1, 2", "E0505", (1, 14), "YAML", None),
        ("\tmapping: 1", "E0505", (1, 1), "YAML", None),
        ("entry: \x07", "E0505", (1, 8), "YAML", None),
        ('entry: "\\UFFFFFFFF"', "E0505", (1, 6), "YAML", None),
        ("preset: nave", "E0506", (1, 9), "`nave`", "write `naive`"),
        ("target: sm_35", "E0506", (1, 9), "`sm_35`", None),
        ("mapping: {vector: 3}", "E0506", (1, 19), "`3`", None),
        ("entry: &x a", "E0507", (1, 8), "anchor", "remove it"),
        ("entry: !!python/name:os.system a", "E0507", (1, 8), "tag", "remove it"),
        ("mapping: {<<: {tile: [1]}}", "E0507", (1, 11), "merge key", None),
        ("entry: a\n---\nentry: b", "E0507", (2, 1), "second document", "remove it"),
        ("[" * 5000, "E0508", (1, 18), "nested too deeply", None),
        ("#" * (MAX_CHARACTERS + 1), "E0508", (1, MAX_CHARACTERS + 1), "characters", None),
    ],
)
def test_one_mistake(text, code, place, fragment, help):
    _, found = read(text)
    assert [d.code for d in found] == [code]
    assert (found[0].line, found[0].column) == place
    assert fragment in found[0].message
    if help is not None:
        assert help in found[0].help
    assert_teaches(found[0])
    pasted = PASTED.fullmatch(found[0].help[0])
    if pasted is not None:
        span = found[0].primary.span
        after = read(f"{text[: span.start]}{pasted[1]}{text[span.end :]}")[1]
        assert code not in [d.code for d in after]


def test_independent_mistakes_are_all_reported_and_the_rest_is_kept():
    options, found = read(
        "mapping:\n  tille: [1]\n  unroll: x\n  threads: [8, 4]\nsizes: {M: -1}\n"
    )
    assert [d.code for d in found] == ["E0501", "E0502", "E0503"]
    assert options.mapping.threads == (8, 4)


def test_aliases_do_not_multiply():
    bomb = "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(50))
    _, found = read(bomb)
    assert {d.code for d in found} == {"E0501", "E0507"}


CORPUS = (
    "entry: matmul\ntarget: sm_80\nsizes: {M: 1024, N: 7}\npreset: naive\n",
    "mapping:\n  tile: [32, 0, 8]\n  threads:\n    - 32   # x\n    - 8\n  unroll: ~\n",
    "mapping: {staging: {A: shared, 'B': \"register\"}, kernels: [[A], [C]]}\n---\n",
    "verify:\n  seed: 7\n  sizes: [{M: 3}]\n  relative_tolerance: 1e-3\n  inputs: {A: [-1, 1.5]}\n",
    "a: &x !!int '1'\nb: *x\n<<: {c: |\n  text\n}\n? k\n: >-\n  v\n%YAML 1.2\n",
)
SPLICE = [
    *"[]{}:,-?&*!|>%@`'\"#~\\\n\t \ufeff\x00\xe9\U0001f600\ud800",
    "<<",
    "---",
    "...",
    "!!",
    "%TAG",
    '"\\x',
    "\r\n",
    "0x1",
    "1e400",
    "9" * 30,
]


def mutated(rng):
    text = list(rng.choice(CORPUS))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(4):
            case 0:
                del text[at : at + rng.randint(1, 8)]
            case 1:
                text[at:at] = rng.choice(SPLICE)
            case 2:
                text[at:at] = text[: rng.randint(0, 12)]
            case _:
                other = rng.choice(CORPUS)
                start = rng.randrange(len(other))
                text[at:at] = other[start : start + 12]
    return "".join(text)


@pytest.mark.parametrize("seed", range(4))
def test_fuzz(seed):
    """2,500 mutated files per seed: options or diagnostics inside the file, in bounded time."""
    rng = random.Random(seed)
    for _ in range(2500):
        text = mutated(rng)
        start = time.perf_counter()
        options, found = read(text)
        assert time.perf_counter() - start < 2, text
        assert isinstance(options, Options)
        for diagnostic in found:
            span = diagnostic.primary.span
            assert 0 <= span.start <= span.end <= len(text), (text, diagnostic)
