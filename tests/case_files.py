"""Acceptance cases: `.tc` files whose header comments say what to expect of them.

# entry: NAME                 the def, where the file has several
# sizes: M=3 N=4              the sizes
# options: YAML               an options file
# data: A 0:9                 integers from 0 to 8; also `A positive`, `A = [1, 2]`
# numpy: C = A @ B            an output as a formula over inputs and in/out tensors
# expect: shape C = 3 4       also `origin C = ...`, `type C = ...`, `inout C`,
                              `temporary T`, `warnings W0203` (none: no warning at all)
# error: E0203 at 2:5         a diagnostic, in order; the program is rejected
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tcc.frontend import tir
from tcc.run.numbers import storage_dtype
from tcc.scalar import ScalarType

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One case file; the lists hold the header lines in order."""

    path: Path
    text: str
    entry: str | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    options: str | None = None
    data: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Path below the folder of cases, without suffix."""
        return self.path.relative_to(FOLDER).with_suffix("").as_posix()


def load(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    header: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, colon, rest = line.removeprefix("# ").partition(": ")
        if line.startswith("# ") and colon and key.isidentifier():
            header.setdefault(key, []).append(rest.strip())
    sizes = (pair.split("=") for line in header.get("sizes", ()) for pair in line.split())
    return Case(
        path,
        text,
        entry=header.get("entry", [None])[0],
        sizes={name: int(number) for name, number in sizes},
        options=header.get("options", [None])[0],
        data=tuple(header.get("data", ())),
        formulas=tuple(header.get("numpy", ())),
        facts=tuple(header.get("expect", ())),
        errors=tuple(header.get("error", ())),
    )


def accepted() -> list[Case]:
    """All cases that must compile."""
    return [c for c in every() if not c.errors]


def rejected() -> list[Case]:
    """All cases with an `error:` line."""
    return [c for c in every() if c.errors]


def every() -> list[Case]:
    """All cases, by path."""
    return [load(p) for p in sorted(FOLDER.rglob("*.tc"))]


def random_array(kind: ScalarType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Small integers, so that sums are exact in any order."""
    if kind is ScalarType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    low = 0 if kind.kind == "uint" else -3
    return rng.integers(low, 4, shape).astype(storage_dtype(kind))


def inputs(program: tir.Program, case: Case, seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays for the inputs and in/out tensors, small integers unless the case says otherwise."""
    rng = np.random.default_rng(seed)
    rules = {line.split()[0]: line.split(maxsplit=1)[1] for line in case.data}
    arrays = {}
    for name in program.inputs + program.inouts:
        tensor = program.tensors[name]
        shape = tuple(e.evaluate(case.sizes) for e in tensor.shape)
        array = _ruled(rules[name], shape, rng) if name in rules else None
        if array is None:
            array = random_array(tensor.type, shape, rng)
        arrays[name] = array.astype(storage_dtype(tensor.type))
    return arrays


def _ruled(rule: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if rule == "positive":
        return rng.integers(1, 9, shape) / 4
    if rule.startswith("="):
        return np.asarray(ast.literal_eval(rule[1:].strip())).reshape(shape)
    low, high = map(int, rule.split(":"))
    return rng.integers(low, high, shape)


def expected(case: Case, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values of the `numpy:` formulas, in float64 or int64."""
    wide = {n: a if a.dtype == np.bool_ else a.astype(_wide(a.dtype)) for n, a in arrays.items()}
    results = {}
    for formula in case.formulas:
        name, text = formula.split(" = ", 1)
        results[name] = np.asarray(eval(text, {"np": np, **wide}))
    return results


def _wide(dtype: np.dtype) -> type:
    return np.int64 if dtype.kind in "iu" else np.float64
