"""Compiles with plans of the tuning database: the best of the key, else of the nearest sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tcc.driver import Request
from tcc.errors import CompileError, InternalError, ToolchainError
from tcc.inputs import options_of_source
from tcc.options import spell
from tcc.source import Source
from tcc.tune.database import Database, default_path
from tcc.tune.key import key_of
from tcc.tune.record import Key, Measurement
from tcc.tune.structure import demanded

T = TypeVar("T")
ATTEMPTS = 3
"""Tuned plans that are tried before the default one."""


@dataclass(frozen=True)
class Attempt:
    """A request with a plan from the database, and what to say when it is used."""

    request: Request
    note: str


def compile_tuned(
    request: Request, compile: Callable[[Request], T], path: Path | None = None
) -> tuple[Request, T, tuple[str, ...]]:
    """Compile with the best plan that fits; with notes on which that is, and which do not fit.

    A tuned plan takes the place of the `mapping` and the `preset` of the options, but for what
    these demand of every plan, such as `check_bounds`. Without one that fits the request is
    compiled as it is. CompileError as of `compile`.
    """
    notes: list[str] = []
    for attempt in _attempts(request, path or default_path(), notes):
        try:
            made = compile(attempt.request)
        except (CompileError, InternalError) as problem:
            notes.append(f"{attempt.note} does not fit: {_reason(problem)}")
            continue
        return attempt.request, made, (*notes, f"{attempt.note} is used")
    made = compile(request)
    return request, made, (*notes, "no plan of the tuning database is used")


def _attempts(request: Request, path: Path, notes: list[str]) -> Iterator[Attempt]:
    key = key_of(request)
    if key is None or not path.exists():
        return
    try:
        with Database(path) as database:
            found = database.by_distance(key)
            notes += database.notes
    except ToolchainError as problem:
        notes.append(str(problem).partition("\n")[0])
        return
    for other, measurement in found[:ATTEMPTS]:
        what = _described(key, other, measurement)
        try:
            yield Attempt(_with_plan(request, measurement.plan), what)
        except CompileError as problem:
            notes.append(f"{what} is no options file: {_reason(problem)}")


def _with_plan(request: Request, plan: str) -> Request:
    tuned = options_of_source(Source("<tuned plan>", plan))
    options = replace(
        request.options,
        mapping=demanded(tuned.mapping, request.options),
        preset=tuned.preset,
        spans=tuned.spans,
        names=tuned.names,
    )
    return replace(request, options=options)


def _described(key: Key, other: Key, measurement: Measurement) -> str:
    """`the tuned plan for {M: 64} (predicted 3.2 us, tcc 0.1.0)`."""
    sizes = {key.names.get(name, name): value for name, value in other.sizes}
    what = "predicted" if measurement.predicted else "measured"
    facts = [f"{what} {measurement.time_us:.4g} us on {measurement.device}"]
    if not measurement.verified:
        facts.append("not verified here")
    if other.emitter != key.emitter:
        facts.append(f"by tcc {other.emitter}")
    where = f" for {spell(sizes)}" if sizes else ""
    return f"the tuned plan{where} ({', '.join(facts)})"


def _reason(problem: CompileError | InternalError) -> str:
    if isinstance(problem, CompileError):
        return problem.diagnostics[0].message
    return str(problem)
