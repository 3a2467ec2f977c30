"""Whatever a stranger hands to tcc: a result or diagnostics, in bounded time, nothing else.

    pytest tests/fuzz -m slow --hypothesis-seed 7 --hypothesis-profile long

The seed repeats a run; without one each explores anew. The profile `long` tries twenty times as
many examples.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tcc.cli import COMMANDS
from tcc.tune.database import Database
from tcc.tune.exchange import export_lines, import_lines
from tests.fuzz import inputs
from tests.fuzz.called import Call, check
from tests.tune.records import MATMUL, done, key, numbered

pytestmark = pytest.mark.slow
GOOD = b"def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }\n"


def examples(share: float) -> settings:
    """A share of the examples that the profile asks for."""
    return settings(
        max_examples=max(1, int(settings.default.max_examples * share)),
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )


def run(call: Call, kind: str) -> int:
    with tempfile.TemporaryDirectory(prefix="tcc-fuzz-") as name:
        return check(call, Path(name), kind)


# -- programs ------------------------------------------------------------------------------

PROGRAM_BYTES = st.one_of(
    inputs.TC.map(lambda t: t.encode("utf-8", "surrogatepass")), inputs.as_bytes(inputs.TC)
)
COMPILE = ("compile", "f.tc", "-o", "f.cu", "--header", "f.h", "--manifest", "f.json",
           "--depfile", "f.d", "--reference")  # fmt: skip
COMPILED = frozenset(("f.cu", "f.h", "f.json", "f.d", "f.reference.cu"))


@examples(10)
@given(PROGRAM_BYTES, st.sampled_from(("text", "short", "json")))
def test_programs_are_checked(data: bytes, form: str) -> None:
    run(Call(("check", "f.tc", "--message-format", form), {"f.tc": data}), "check")


@examples(2)
@given(
    PROGRAM_BYTES, st.lists(st.sampled_from(("N=1", "M=7", "K=0", "P=33", "N=1048576")), max_size=3)
)
def test_programs_are_compiled(data: bytes, sizes: list[str]) -> None:
    words = [word for size in sizes for word in ("--size", size)]
    run(Call((*COMPILE, *words), {"f.tc": data}, COMPILED), "compile")


@examples(4)
@given(PROGRAM_BYTES)
def test_programs_are_formatted(data: bytes) -> None:
    run(Call(("fmt", "f.tc"), {"f.tc": data}), "fmt")


# -- options -------------------------------------------------------------------------------


@examples(3)
@given(
    st.one_of(
        inputs.YAML.map(lambda t: t.encode("utf-8", "surrogatepass")), inputs.as_bytes(inputs.YAML)
    )
)
def test_options(data: bytes) -> None:
    words = (*COMPILE, "--options", "f.yaml")
    run(Call(words, {"f.tc": GOOD, "f.yaml": data}, COMPILED), "options")


# -- results of a search -------------------------------------------------------------------


EXPORTED = tuple(
    export_lines(
        [
            (key(M=64, N=64, K=64), done(2.5, numbered(15))),
            (key(target="sm_80"), done(9.0, numbered(1), predicted=True)),
        ]
    )
)
TUNED = (
    "compile",
    "f.tc",
    "--tuned",
    "--size",
    "M=64",
    "--size",
    "N=64",
    "--size",
    "K=64",
    "-o",
    "f.cu",
)


@examples(3)
@given(inputs.json_lines(EXPORTED))
def test_imported_results(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory(prefix="tcc-fuzz-") as name:
        folder = Path(name)
        check(Call(("cache", "import", "x.jsonl"), {"x.jsonl": data}), folder, "import")
        for words in (("cache", "list"), ("cache", "export"), TUNED):
            check(Call(words, {"f.tc": MATMUL.encode()}, COMPILED), folder, "imported")


def _database() -> bytes:
    with tempfile.TemporaryDirectory(prefix="tcc-fuzz-") as name:
        path = Path(name) / "tunings.db"
        with Database(path) as database:
            import_lines(database, EXPORTED)
        return path.read_bytes()


READ = (("cache", "list"), ("cache", "export"), TUNED, ("cache", "prune"))
CACHE = "cache/tunings.db"


@examples(2)
@given(inputs.anywhere(_database()))
def test_damaged_databases(data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="tcc-fuzz-") as name:
        check(Call(("cache", "list"), {CACHE: data}), Path(name), "database")
    run(Call(TUNED, {"f.tc": MATMUL.encode(), CACHE: data}, COMPILED), "database")


@examples(1)
@given(inputs.ROWS)
def test_databases_of_strangers(changes: list[tuple[tuple[str, str], object]]) -> None:
    with tempfile.TemporaryDirectory(prefix="tcc-fuzz-") as name:
        path = Path(name) / "tunings.db"
        path.write_bytes(_database())
        with closing(sqlite3.connect(path)) as connection:
            for (table, column), value in changes:
                with suppress(sqlite3.IntegrityError):
                    connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
            connection.commit()
        data = path.read_bytes()
    for words in READ:
        run(Call(words, {"f.tc": MATMUL.encode(), CACHE: data}, COMPILED), "rows")


# -- arrays --------------------------------------------------------------------------------


@examples(1)
@given(inputs.ARRAYS)
def test_arrays(data: bytes) -> None:
    """What holds the right array runs; the program is the same, so that it is built once."""
    program = b"def f(float(N, M) A) -> (B) { B(i, j) = A(i, j) }\n"
    words = ("run", "f.tc", "--inputs", "in.npz", "--outputs", "out.npz")
    with tempfile.TemporaryDirectory(prefix="tcc-fuzz-") as name:
        files = {"f.tc": program, "in.npz": data}
        check(Call(words, files, frozenset(("out.npz",))), Path(name), "arrays")


# -- the command line ----------------------------------------------------------------------

NAMES = [c.name or "" for c in COMMANDS if c.name not in ("lsp", "tune")]
FLAGS = sorted({o for c in COMMANDS for p in c.params for o in p.opts if o.startswith("-")})
ARGUMENTS = st.one_of(
    st.sampled_from(("f.tc", "f.yaml", "no.tc", ".", "f.cu", "E0401", "gemm", "sm_80", "host",
                     "N=4", "M=-1", "=", "K=", "schedule", "cuda", "all", "--", "-")),
    st.sampled_from(FLAGS),
    st.builds(lambda flag, value: f"{flag}={value}", st.sampled_from(FLAGS), st.text(max_size=5)),
    st.sampled_from([o for o in inputs.ODD if "\0" not in o and "/" not in o and "\ud800" not in o]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0/"), max_size=5),
)  # fmt: skip


@examples(10)
@given(st.sampled_from(NAMES), st.lists(ARGUMENTS, max_size=5))
def test_command_lines(name: str, words: list[str]) -> None:
    """Files are written only where a word is that name; nothing runs on a GPU or for long."""
    named = frozenset(w.split("=", 1)[-1] for w in words)
    run(Call((name, *words), {"f.tc": GOOD, "f.yaml": b"sizes: {M: 4}\n"}, named), "command")
