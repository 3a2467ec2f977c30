"""One experiment: a program, options with a plan, sizes, inputs; what goes wrong in it.

An experiment is two files, so that `tcc verify NAME.tc --options NAME.yaml --check` repeats it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from tcc.api import request_of
from tcc.diagnostics import Report
from tcc.driver import Request, compile_program
from tcc.errors import CompileError, InternalError
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.run.verify import verify
from tcc.run.verify_outcome import Kind, Outcome
from tcc.sched import choose
from tcc.sched.nest import Nest
from tcc.source import Source
from tcc.target import Target
from tests.random_plan import random_plan
from tests.random_tc import numbered
from tests.random_work import numbered_work

FOLDER = Path(__file__).parent / "kernels"
NEEDS_SIZES = "E0307"
"""Open sizes whose bounds no launcher check can say."""


@dataclass(frozen=True)
class Experiment:
    """A program, the lines of its plan under `mapping:`, its sizes (none: open), a seed."""

    text: str
    plan: str
    sizes: Mapping[str, int]
    seed: int

    def options(self) -> str:
        """The options file."""
        sizes = ", ".join(f"{name}: {value}" for name, value in self.sizes.items())
        mapping = "".join(f"  {line}\n" for line in self.plan.splitlines())
        return f"# seed: {self.seed}\nsizes: {{{sizes}}}\nmapping:\n{mapping}"

    def save(self, folder: Path, name: str) -> None:
        """Write the two files."""
        (folder / f"{name}.tc").write_text(self.text)
        (folder / f"{name}.yaml").write_text(self.options())


def load(path: Path) -> Experiment:
    """The experiment of `NAME.tc` and the `NAME.yaml` beside it."""
    lines = path.with_suffix(".yaml").read_text().splitlines()
    at = lines.index("mapping:")
    seed = int(lines[0].removeprefix("# seed: "))
    sizes = {n: int(value) for n, value in re.findall(r"(\w+): (\d+)", lines[at - 1])}
    plan = "".join(f"{line[2:]}\n" for line in lines[at + 1 :])
    return Experiment(path.read_text(), plan, sizes, seed)


def drawn(seed: int, statements: int = 5) -> Experiment:
    """The experiment of a seed: a random program, with fixed or open sizes, and a random plan.

    Two of four seeds have programs of hard work.
    """
    program = numbered(seed, statements) if seed % 4 < 2 else numbered_work(seed)
    made = Experiment(program.text, "", program.sizes if seed % 2 else {}, seed)
    try:
        return replace(made, plan=_plan(made))
    except CompileError as rejection:
        if not any(d.code == NEEDS_SIZES for d in rejection.diagnostics):
            return made
        made = replace(made, sizes=program.sizes)
        return replace(made, plan=_plan(made))


def _plan(made: Experiment) -> str:
    found: list[str] = []

    def any_plan(
        nest: Nest, program: tir.Program, _: Options, target: Target, __: Report
    ) -> choose.Chosen:
        plan = random_plan(nest, program, target, random.Random(made.seed))
        found.append(plan.text())
        return choose.Chosen(plan, ())

    with patch("tcc.driver.choose_plan", any_plan):
        compile_program(_request(made), stop_after="plan")
    return found[0]


def fault(made: Experiment, awkward: int) -> str | None:
    """What goes wrong, in a word or two; None when nothing does, at so many awkward sizes."""
    try:
        outcome = verify(
            _request(made),
            device="host", check=True, blocks=None, seed=made.seed, awkward=awkward,
        )  # fmt: skip
    except CompileError as rejection:
        return f"rejected with {rejection.diagnostics[0].code}"
    except InternalError as problem:
        return f"internal: {str(problem).splitlines()[0]}"
    return _fault(outcome)


def _fault(outcome: Outcome) -> str | None:
    failures = [t.failure for t in outcome.trials if t.failure is not None]
    kinds = [f.kind for f in failures if f.kind is not Kind.PROGRAM]
    return str(kinds[0]) if kinds else None


def _request(made: Experiment) -> Request:
    options = options_of_source(Source("plan.yaml", made.options()))
    return request_of(Source("random.tc", made.text), None, {}, options, None)
