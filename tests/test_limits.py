"""Enormous, deep and degenerate programs: a kernel or a diagnostic, in bounded time and memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

CPU_S = 30
MEMORY = 4 << 30
"""Address space, which the libraries' maps are part of."""


def dims(count: int, body: str) -> str:
    sizes = ", ".join(f"N{i}" for i in range(count))
    indices = ", ".join(f"i{i}" for i in range(count))
    return f"def f(float({sizes}) A) -> (B) {{ {body.replace('@', indices)} }}\n"


def statements(count: int) -> str:
    lines = [f"  B(i) = B(i) * 0.5 + {k}.0" for k in range(count)]
    return "\n".join(["def f(float(N) A) -> (B) {", "  B(i) = A(i)", *lines, "}\n"])


def chain(count: int) -> str:
    names = ["A", *(f"T{k}" for k in range(count - 1)), "B"]
    lines = [f"  {b}(i) = {a}(i) + {k}.0" for k, (a, b) in enumerate(pairwise(names))]
    return "\n".join(["def f(float(N) A) -> (B) {", *lines, "}\n"])


def calls(depth: int) -> str:
    """Twice as many statements with each level."""
    text = "def d0(float(N) A) -> (B) { B(i) = A(i) }\n"
    for k in range(1, depth):
        text += (
            f"def d{k}(float(N) A) -> (B) "
            f"{{ X = d{k - 1}(A) Y = d{k - 1}(X) B(i) = X(i) + Y(i) }}\n"
        )
    return text


MATMUL = "def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }\n"
COPY = "def f(float(N, M) A) -> (B) { B(i, j) = A(i, j) }\n"
ACCEPTED = {
    "2^40 elements": (COPY, "--size", "N=1048576", "--size", "M=1048576"),
    "2^40 summands": (
        "def f(float(N, M) A) -> (S) { S +=! A(i, j) }\n",
        *("--size", "N=1048576", "--size", "M=1048576"),
    ),
    "the largest size": ("def f(float(N) A) -> (B) { B(i) = A(i) }\n", "--size", "N=2147483647"),
    "24 dimensions, reduced": (dims(24, "B +=! A(@)"),),
    "32 dimensions": (dims(32, "B(@) = A(@)"),),
    "60 levels of parentheses": (
        f"def f(float(N) A) -> (B) {{ B(i) = {'(' * 60}A(i){')' * 60} }}\n",
    ),
    "100 statements": (statements(100),),
    "chain of 100": (chain(100),),
    "sizes of one": (MATMUL, *("--size", "M=1", "--size", "N=1", "--size", "K=1")),
    "primes": (MATMUL, *("--size", "M=997", "--size", "N=983", "--size", "K=991")),
    "thin": (MATMUL, *("--size", "M=1000003", "--size", "N=7", "--size", "K=1")),
}
LARGE = {
    "64 dimensions": (dims(64, "B(@) = A(@)"),),
    "500 statements": (statements(500),),
    "chain of 500": (chain(500),),
    "1000 statements": (statements(1000),),
    "calls that double": (calls(9), "--entry", "d8"),
}
REJECTED = {
    "a size above 2^31": ("E0621", COPY, "--size", "N=1099511627776"),
    "5000 levels": (
        "E0108",
        f"def f(float(N) A) -> (B) {{ B(i) = {'(' * 5000}A(i){')' * 5000} }}\n",
    ),
    "a sum of 3000": (
        "E0108",
        f"def f(float(N) A) -> (B) {{ B(i) = {' + '.join(['A(i)'] * 3000)} }}\n",
    ),
    "a call of itself": ("E0224", "def f(float(N) A) -> (B) { B = f(A) }\n"),
    "calls in a circle": (
        "E0224",
        "def f(float(N) A) -> (B) { B = g(A) }\ndef g(float(N) A) -> (B) { B = f(A) }\n",
        *("--entry", "f"),
    ),
    "calls without end": ("E0902", calls(25), "--entry", "d24"),
    "names that double": (
        "E0901",
        "def f(float(N) A) -> (B) { B(i) = x40 where x0 = A(i), "
        + ", ".join(f"x{k} = x{k - 1} + x{k - 1}" for k in range(1, 41))
        + " }\n",
    ),
}


PLAN = """
  plan:
    f_kernel:
      parallel: {{m: [block.y, thread.y {0}, inner {1}], n: [block.x, thread.x {0}, inner {1}]}}
      loops: {{k: [tile {2}]}}
      staging: {{A: {3}, B: {3}}}
"""
OPTIONS = {
    "tiles beyond shared memory": (
        "E0524",
        "{tile: [4096, 4096, 4096], staging: {A: shared, B: shared}}",
    ),
    "a budget of one byte": ("", "{max_shared_memory: 1}"),
    "more values than registers": ("E0524", PLAN.format(8, 64, 8, "register")),
    "no registers left for so many threads": ("E0524", PLAN.format(32, 16, 8, "register")),
    "64 registers for 64 values": ("", PLAN.format(32, 8, 8, "register")),
    "more shared memory than there is": ("E0524", PLAN.format(16, 8, 512, "shared")),
    "a plan for other threads": ("E0511", "{threads: [1024, 1024, 64]}"),
    "a grid of all blocks": ("", "{blocks: [2147483647, 65535, 65535]}"),
    "one thread": ("", "{threads: [1], blocks: [1]}"),
    "thousands of copies": ("E0503", "{unroll: 1000000}"),
    "every copy": ("", "{unroll: 4096, tile: [64, 64, 64]}"),
}


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def compile_(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "f.tc").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "tcc", "compile", "f.tc", *words, "-o", "f.cu"],
        cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", [*ACCEPTED, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]
)
def test_a_kernel(tmp_path, name):
    done = compile_(tmp_path, *(ACCEPTED | LARGE)[name])
    assert done.returncode == 0, done.stderr[-2000:]
    assert "__global__" in (tmp_path / "f.cu").read_text()


@pytest.mark.parametrize("name", REJECTED)
def test_a_diagnostic(tmp_path, name):
    code, *arguments = REJECTED[name]
    done = compile_(tmp_path, *arguments)
    assert done.returncode in (1, 2), done.stderr[-2000:]
    assert f"error[{code}]" in done.stderr
    assert "Traceback" not in done.stderr
    assert max(map(len, done.stderr.splitlines())) < 400
    assert not (tmp_path / "f.cu").exists()


@pytest.mark.parametrize("name", OPTIONS)
def test_options_at_the_limits(tmp_path, name):
    """Registers, shared memory, threads, blocks: each a kernel or a diagnostic with both numbers."""
    code, mapping = OPTIONS[name]
    (tmp_path / "f.yaml").write_text(f"mapping: {mapping}")
    sizes = ("--size", "M=1024", "--size", "N=1024", "--size", "K=1024")
    done = compile_(tmp_path, MATMUL, *sizes, "--options", "f.yaml")
    assert "Traceback" not in done.stderr
    if code:
        assert done.returncode == 1
        assert f"error[{code}]" in done.stderr
    else:
        assert done.returncode == 0, done.stderr[-2000:]
        assert "__global__" in (tmp_path / "f.cu").read_text()
