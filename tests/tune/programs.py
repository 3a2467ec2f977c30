"""Small programs and the parts of a tuning, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tcc.api import request_of
from tcc.driver import Request
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.source import Source
from tcc.tune.kernel_space import KernelSpace
from tcc.tune.space import Candidate, Space
from tcc.tune.starts import Starts

SPECS = Path(__file__).parents[2] / "specs"
MATMUL = "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }\n"
SCALE = "def scale(float(N) X) -> (Y) { Y(i) = 2.0 * X(i) }\n"
ROWS = "def rows(float(N, K) X) -> (M, Y) { M(n) max=! X(n, k)\n Y(n, k) = X(n, k) - M(n) }\n"
SMALL = {"M": 48, "N": 40, "K": 32}


def request(
    text: str = MATMUL, sizes: Mapping[str, int] | None = None, options: str = ""
) -> Request:
    given = options_of_source(Source("o.yaml", options)) if options else Options()
    return request_of(Source("p.tc", text), None, SMALL if sizes is None else sizes, given, None)


def spec(name: str) -> Request:
    text = (SPECS / f"{name}.tc").read_text()
    given = options_of_source(Source("o.yaml", (SPECS / f"{name}.yaml").read_text()))
    return request_of(Source(f"{name}.tc", text), None, {}, given, None)


def space_of(asked: Request) -> tuple[Space, list[Candidate]]:
    """The space of a request, and what a search of it starts from."""
    starts = Starts(asked)
    found = [s.candidate for s in starts.all([])]
    limit = asked.target.max_shared_bytes
    return Space(starts.structures.all, asked.target, limit, found), found


def kernel_space(asked: Request) -> KernelSpace:
    starts = Starts(asked)
    structure = starts.structures.all[0]
    limit = asked.target.max_shared_bytes
    return KernelSpace(structure.nest.kernels[0], structure.program, asked.target, limit)
