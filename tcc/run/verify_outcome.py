"""The outcome of a verification, as data, as a table, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import isfinite

from tcc.run.verify_compare import Comparison


class Kind(StrEnum):
    """What went wrong in a trial."""

    WRONG = "wrong"
    CRASH = "crash"
    HANG = "hang"
    PROGRAM = "program"
    """The program itself reads outside a tensor, with these data: no kernel can be right."""


@dataclass(frozen=True)
class Failure:
    """Why one trial failed: `summary` in one line, facts in `details`."""

    summary: str
    details: tuple[str, ...] = ()
    kind: Kind = Kind.WRONG


@dataclass(frozen=True)
class Trial:
    """Both kernels at one assignment of the sizes. `why` is `given`, `options` or `awkward`.

    `kernels` counts launches; `blocks` is how many blocks of the last launch ran, None: all.
    """

    sizes: Mapping[str, int]
    why: str
    kernels: int
    comparisons: tuple[Comparison, ...] = ()
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    blocks: int | None = None

    @property
    def ok(self) -> bool:
        """Whether the kernels agree."""
        return self.failure is None

    @property
    def is_undefined(self) -> bool:
        """Whether the program has no meaning on these data."""
        return self.failure is not None and self.failure.kind is Kind.PROGRAM


@dataclass(frozen=True)
class Skip:
    """An assignment of the sizes at which nothing ran."""

    sizes: Mapping[str, int]
    why: str
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What a verification found."""

    program: str
    device: str
    seed: int
    trials: tuple[Trial, ...]
    skips: tuple[Skip, ...] = ()
    stopped: bool = False

    @property
    def ok(self) -> bool:
        """Whether there was a trial, the kernels agreed in all, and that says something."""
        return bool(self.trials) and all(t.ok for t in self.trials) and not self.blind

    @property
    def blind(self) -> tuple[str, ...]:
        """The outputs of which no trial compared a number: the reference has NaN everywhere."""
        found = [c for t in self.trials if t.ok for c in t.comparisons if c.compared]
        seen = {c.tensor for c in found if c.nans < c.compared}
        return tuple(dict.fromkeys(c.tensor for c in found if c.tensor not in seen))

    def text(self) -> str:
        """A table with a line for each trial, then what went wrong; ends in a newline."""
        lines = [f"verify {self.program} on {self.device}, seed {self.seed}", ""]
        lines += _table([_row(t) for t in self.trials])
        lines += [f"  note: {n}" for n in dict.fromkeys(n for t in self.trials for n in t.notes)]
        lines += [f"  note: {_sizes(s.sizes)} is left out: {s.reason}" for s in self.skips]
        for trial in self.trials:
            lines += _explained(trial, self.seed)
        lines += ["", self._verdict()]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """The same as one JSON object; ends in a newline."""
        data = {
            "ok": self.ok,
            "program": self.program,
            "device": self.device,
            "seed": self.seed,
            "stopped": self.stopped,
            "blind": self.blind,
            "trials": [{"ok": t.ok, **asdict(t)} for t in self.trials],
            "skips": [asdict(s) for s in self.skips],
        }
        return json.dumps(_finite(data), indent=2, allow_nan=False) + "\n"

    def _verdict(self) -> str:
        failed = [t for t in self.trials if not t.ok]
        if not self.trials:
            return "failed: no assignment of the sizes could be run"
        total = _count(len(self.trials), "assignment")
        if failed:
            rest = "; the rest was not tried" if self.stopped else ""
            return f"failed: the kernels disagree in {len(failed)} of {total} of the sizes{rest}"
        if self.blind:
            names = " and ".join(f"`{n}`" for n in self.blind)
            return f"failed: nothing is known of {names}: no number to compare with"
        return f"ok: the kernels agree in {total} of the sizes"


_HEAD = ("sizes", "kernels", "output", "largest error", "tolerance", "")


def _row(trial: Trial) -> tuple[str, ...]:
    kernels = str(trial.kernels)
    if trial.blocks is not None:
        kernels += f" ({_count(trial.blocks, 'block')})"
    verdict = "ok" if trial.ok else "FAILED"
    if not trial.comparisons:
        return (_sizes(trial.sizes), kernels, "", "", "", verdict)
    worst = max(trial.comparisons, key=_badness)
    error, tolerance = (_number(x) for x in (worst.largest, worst.tolerance))
    return (_sizes(trial.sizes), kernels, worst.tensor, error, tolerance, verdict)


def _badness(comparison: Comparison) -> tuple[bool, float, float]:
    """Wrong ones first, then by the share of the tolerance that is used up."""
    largest = comparison.largest if isfinite(comparison.largest) else 0.0
    share = largest / comparison.tolerance if comparison.tolerance else largest
    return not comparison.ok, share, comparison.tolerance


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    rows = [_HEAD, *rows]
    widths = [max(len(r[k]) for r in rows) for k in range(len(_HEAD))]
    lines = ("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in rows)
    return [f"  {line}".rstrip() for line in lines]


def _explained(trial: Trial, seed: int) -> list[str]:
    if trial.failure is None:
        return []
    place = f"at {_sizes(trial.sizes)}, seed {seed}"
    return ["", trial.failure.summary, f"  {place}", *(f"  {d}" for d in trial.failure.details)]


def _sizes(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{n}={v}" for n, v in sizes.items()) or "fixed sizes"


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _finite(data: object) -> object:
    """JSON has no NaN and no infinities: null."""
    match data:
        case float():
            return data if isfinite(data) else None
        case dict():
            return {k: _finite(v) for k, v in data.items()}
        case list() | tuple():
            return [_finite(v) for v in data]
        case _:
            return data
