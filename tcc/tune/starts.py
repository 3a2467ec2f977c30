"""Where a search begins: the default plan, the user's options, presets, what the database has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tcc.diagnostics import Report
from tcc.driver import Request
from tcc.errors import CompileError, InternalError
from tcc.inputs import options_of_source
from tcc.options import PRESETS, MappingOptions, Options
from tcc.sched.choose import choose_plan
from tcc.sched.derive import ranked
from tcc.sched.plan import Plan
from tcc.sched.wishes import none
from tcc.source import Source
from tcc.tune.space import Candidate
from tcc.tune.structure import Structures, demanded, kept, structural

DERIVED = 4
"""Plans of the default's own family that are tried beside it."""
LEFT_OUT = ("unmapped", "single_thread")
"""Presets that nobody wants as a result."""


@dataclass(frozen=True)
class Start:
    """A candidate to begin with, and where it comes from."""

    candidate: Candidate
    origin: str


class Starts:
    """Finds candidates in options, and adds the structures that they need."""

    def __init__(self, request: Request) -> None:
        self._request = request
        bare = replace(request.options, preset=None, mapping=kept(request.options))
        self.structures = Structures(request)
        self._index = self.structures.add(structural(bare))

    @property
    def default(self) -> Start:
        """What the compiler chooses without any options."""
        return Start(Candidate(self._index, self.structures.all[self._index].default), "default")

    def all(self, texts: Sequence[tuple[str, str]]) -> list[Start]:
        """The default first; then what options, presets and `texts` of options files give.

        `texts` come with their origin. What does not fit the program or the target is left out.
        """
        found = [self.default, *self._given(), *self._derived()]
        for name in PRESETS:
            if name not in LEFT_OUT:
                asked = Options(preset=name, mapping=kept(self._request.options))
                found += self._found(asked, f"preset {name}")
        for text, origin in texts:
            candidate = self.of_text(text)
            found += [] if candidate is None else [Start(candidate, origin)]
        self.structures.explore()
        for index, structure in enumerate(self.structures.all):
            found.append(Start(Candidate(index, structure.default), "default of a structure"))
        once: dict[Candidate, Start] = {}
        for start in found:
            once.setdefault(start.candidate, start)
        return list(once.values())

    def of_text(self, text: str) -> Candidate | None:
        """The candidate that an options file makes, under the demands of the request.

        None where it makes none.
        """
        try:
            found = options_of_source(Source("<candidate>", text))
            mapping = demanded(found.mapping, self._request.options)
            return self._candidate(replace(found, mapping=mapping))
        except CompileError:
            return None

    def _given(self) -> Iterator[Start]:
        options = self._request.options
        if options.preset is not None or options.mapping != MappingOptions():
            yield from self._found(options, "options")

    def _derived(self) -> Iterator[Start]:
        """The best few plans of the default's family, where there is one kernel."""
        structure = self.structures.all[self._index]
        if len(structure.nest.kernels) != 1:
            return
        target = self._request.target
        (kernel,) = structure.nest.kernels
        plans = ranked(kernel, structure.program, target, none(target))
        for _, found in zip(range(DERIVED), plans, strict=False):
            yield Start(Candidate(self._index, Plan((found.plan,))), "derived")

    def _found(self, options: Options, origin: str) -> Iterator[Start]:
        try:
            yield Start(self._candidate(options), origin)
        except (CompileError, InternalError):
            return

    def _candidate(self, options: Options) -> Candidate:
        """The plan of options. CompileError when they do not fit the program or the target."""
        index = self.structures.add(structural(options))
        structure, report = self.structures.all[index], Report()
        chosen = choose_plan(
            structure.nest, structure.program, options, self._request.target, report
        )
        if report.errors:
            raise CompileError(report.items)
        return Candidate(index, chosen.plan)
